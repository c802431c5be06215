"""Answers: the level of the scale is read out of every response.

Inputs: responses (all shards of a model in an arm), vignettes, prompts, the study's overrides.csv where it names one, and the
        codes of replies that no rule can read where it has a coder
Outputs: results/{study}/answers/{arm}/{model}.parquet,
         results/{study}/answers/{arm}/{model}.review.csv (texts that no exact rule read, most frequent first)
"""


rule read_answers:
    input:
        responses=get_responses,
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
        overrides=get_overrides,
        codes=CODES,
    output:
        answers="results/{study}/answers/{arm}/{model}.parquet",
        review="results/{study}/answers/{arm}/{model}.review.csv",
    log:
        "logs/{study}/read_answers/{arm}/{model}.log",
    benchmark:
        "logs/{study}/read_answers/{arm}/{model}.benchmark.tsv"
    wildcard_constraints:
        arm="|".join(STUDY.arms_from("model", "raw_csv")) or "(?!)",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        scale=get_scale,
        asked=get_asked_spec,
        code=code_of("read_answers"),
    script:
        "../scripts/read_answers.py"
