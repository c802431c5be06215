"""Imports: an arm with existing answers or responses takes them from their files instead of asking models.

Running numbers replace what tells people apart, before anything is written.
"""


rule import_published:
    input:
        unpack(get_release_files),
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        # One job for all models of an arm: they are in one file, which takes longer to read than to convert.
        answers=[f"results/{{study}}/answers/{{arm}}/{model}.parquet" for model in STUDY.published_models()],
    log:
        "logs/{study}/import_published/{arm}.log",
    wildcard_constraints:
        arm=pattern(STUDY.arms_from("published")),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        arm=lambda wildcards: STUDY.arms[wildcards.arm].plain(),
        models=STUDY.published_models(),
        scale=get_scale,
        code=code_of("import_published"),
    script:
        "../scripts/import_published.py"


rule import_raw_csv:
    input:
        raw=lambda wildcards: local(STUDY.collected_files(wildcards.arm, wildcards.model)),
        vignettes=get_vignettes,
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


rule import_ratings:
    input:
        unpack(lambda wildcards: STUDY.survey(wildcards.arm).inputs()),
        vignettes=get_vignettes,
    output:
        answers="results/{study}/answers/{arm}/{model}.parquet",
    log:
        "logs/{study}/import_ratings/{arm}/{model}.log",
    wildcard_constraints:
        arm=pattern(STUDY.arms_from("human")),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=lambda wildcards: STUDY.rated(wildcards.arm),
        code=code_of("import_ratings"),
    script:
        "../scripts/import_ratings.py"


rule list_raters:
    input:
        answers=lambda wildcards: in_arms("answers", [wildcards.arm]),
    output:
        variants="results/{study}/prompts/{arm}.parquet",
    log:
        "logs/{study}/list_raters/{arm}.log",
    wildcard_constraints:
        arm=pattern(STUDY.arms_from("human")),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=lambda wildcards: STUDY.rated(wildcards.arm),
        code=code_of("list_raters"),
    script:
        "../scripts/list_raters.py"


rule import_responses:
    input:
        files=get_collected_files,
        vignettes=get_vignettes,
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
        arm=lambda wildcards: STUDY.arms[wildcards.arm].plain(),
        request=get_request,
        # Their values must appear in nothing that is kept.
        key_variables=lambda wildcards, output: STUDY.key_variables(),
        code=code_of("import_responses", "cinorms.exchange.formats"),
    script:
        "../scripts/import_responses.py"
