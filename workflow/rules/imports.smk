"""Imports: an arm with existing answers or responses takes them from their files instead of asking models.

Running numbers replace what tells people apart, before anything is written.
"""


rule import_published:
    input:
        unpack(of(VALUES.release_files)),
        vignettes=of(VALUES.vignettes),
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        # One job for all models of an arm: they are in one file, which takes longer to read than to convert.
        answers=[
            f"results/{{study}}/answers/{{arm}}/{model}.parquet"
            for model in STUDY.published_models()
        ],
    log:
        "logs/{study}/import_published/{arm}.log",
    wildcard_constraints:
        arm=pattern(STUDY.arms_from("published")),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        arm=of(VALUES.arm),
        models=STUDY.published_models(),
        scale=of(VALUES.scale),
        code=code_of("import_published"),
    script:
        "../scripts/import_published.py"


rule import_raw_csv:
    input:
        raw=of(VALUES.raw_file),
        vignettes=of(VALUES.vignettes),
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        responses="results/{study}/responses/{arm}/{model}.parquet",
    log:
        "logs/{study}/import_raw_csv/{arm}/{model}.log",
    wildcard_constraints:
        arm=pattern(STUDY.arms_from("raw_csv")),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        code=code_of("import_raw_csv"),
    script:
        "../scripts/import_raw_csv.py"


RATED_ARMS = pattern(STUDY.arms_from("human"))


rule import_ratings:
    input:
        unpack(of(VALUES.survey_files)),
        vignettes=of(VALUES.vignettes),
    output:
        answers="results/{study}/answers/{arm}/{model}.parquet",
    log:
        "logs/{study}/import_ratings/{arm}/{model}.log",
    wildcard_constraints:
        arm=RATED_ARMS,
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=of(VALUES.rated),
        code=code_of("import_ratings"),
    script:
        "../scripts/import_ratings.py"


rule list_raters:
    input:
        answers=of(VALUES.answers),
    output:
        variants="results/{study}/prompts/{arm}.parquet",
    log:
        "logs/{study}/list_raters/{arm}.log",
    wildcard_constraints:
        arm=RATED_ARMS,
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=of(VALUES.rated),
        code=code_of("list_raters"),
    script:
        "../scripts/list_raters.py"


rule import_responses:
    input:
        files=of(VALUES.response_files),
        vignettes=of(VALUES.vignettes),
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        responses="results/{study}/responses/{arm}/{model}.parquet",
        unmatched="results/{study}/responses/{arm}/{model}.unmatched.csv",
    log:
        "logs/{study}/import_responses/{arm}/{model}.log",
    wildcard_constraints:
        arm=pattern(STUDY.arms_from("responses")),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        arm=of(VALUES.arm),
        request=of(VALUES.request),
        key_variables=unrecorded(VALUES.key_variables),
        code=code_of("import_responses", *format_modules().values()),
    script:
        "../scripts/import_responses.py"


rule export_prompts:
    input:
        vignettes=of(VALUES.vignettes),
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        folder=directory("results/{study}/exported/{format}/{arm}"),
    log:
        "logs/{study}/export_prompts/{format}/{arm}.log",
    wildcard_constraints:
        arm=pattern(EXPORTED_ARMS),
        format=pattern(format_modules()),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        requests=of(VALUES.arm_requests),
        code=code_of("export_prompts", *format_modules().values()),
    script:
        "../scripts/export_prompts.py"
