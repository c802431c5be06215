"""Answers: the level of the scale is read out of every response.

Inputs: responses (all shards of a model in an arm), vignettes, prompts, the study's overrides.csv where it names one, and the
        codes of replies that no rule can read where it has a coder
Outputs: results/{study}/answers/{arm}/{model}.parquet,
         results/{study}/repeats/{arm}/{model}.parquet (of arms that are asked again: what the further askings gave),
         results/{study}/answers/{arm}/{model}.review.csv (texts that no exact rule read, most frequent first),
         results/{study}/answers/overrides.csv (how many responses each override settles; none is an error)
"""


rule read_answers:
    input:
        responses=get_responses,
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
        overrides=OVERRIDES,
        codes=CODES,
    output:
        answers="results/{study}/answers/{arm}/{model}.parquet",
        review="results/{study}/answers/{arm}/{model}.review.csv",
    log:
        "logs/{study}/read_answers/{arm}/{model}.log",
    benchmark:
        "logs/{study}/read_answers/{arm}/{model}.benchmark.tsv"
    wildcard_constraints:
        arm="|".join(STUDY.arms_from(*READ_HERE)) or "(?!)",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        scale=get_scale,
        levels=LEVELS_OF_STUDY,
        asked=get_asked_spec,
        code=code_of("read_answers"),
    script:
        "../scripts/read_answers.py"


rule read_repeats:
    input:
        first=get_responses,
        repeats=get_repeated_responses,
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
        overrides=OVERRIDES,
        codes=CODES,
    output:
        repeats="results/{study}/repeats/{arm}/{model}.parquet",
    log:
        "logs/{study}/read_repeats/{arm}/{model}.log",
    benchmark:
        "logs/{study}/read_repeats/{arm}/{model}.benchmark.tsv"
    wildcard_constraints:
        arm="|".join(STUDY.repeated_arms()) or "(?!)",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=3000,
        runtime=20,
    params:
        scale=get_scale,
        levels=LEVELS_OF_STUDY,
        asked=get_whole_spec,
        code=code_of("read_repeats"),
    script:
        "../scripts/read_repeats.py"


rule check_overrides:
    input:
        responses=get_all_responses(),
        overrides=OVERRIDES,
    output:
        settled="results/{study}/answers/overrides.csv",
    log:
        "logs/{study}/check_overrides.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        levels=LEVELS_OF_STUDY,
        code=code_of("check_overrides"),
    script:
        "../scripts/check_overrides.py"
