"""Human: an arm of people takes its answers from the file of a survey.

Inputs: vignettes, and the survey (resources/ratings) with the file that it names: the user's own, or one fetched once
Outputs: results/{study}/answers/{arm}/{model}.parquet and results/{study}/prompts/{arm}.parquet (a variant for each
         rater) of arms with `source: human`

Running numbers replace what tells people apart, before anything is written.
"""

RATED_ARMS = "|".join(STUDY.arms_from("human")) or "(?!)"


rule import_ratings:
    input:
        unpack(get_survey_files),
        vignettes=get_vignettes,
    output:
        answers="results/{study}/answers/{arm}/{model}.parquet",
    log:
        "logs/{study}/import_ratings/{arm}/{model}.log",
    benchmark:
        "logs/{study}/import_ratings/{arm}/{model}.benchmark.tsv"
    wildcard_constraints:
        arm=RATED_ARMS,
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        asked=get_question,
        code=code_of("import_ratings"),
    script:
        "../scripts/import_ratings.py"


rule list_raters:
    input:
        answers=get_rated,
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
        asked=get_question,
        code=code_of("list_raters"),
    script:
        "../scripts/list_raters.py"
