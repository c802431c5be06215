"""Responses: from the replies in the store, a file per arm and model; planted respondents answer here."""


rule fetch:
    input:
        [f"{RESULTS}/checkpoints/{model}.json" for model in LOADED],
    log:
        f"logs/{STUDY.name}/fetch.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        locks=lambda wildcards: revision_locks(STUDY, LOADED),
        code=code_of("fetch"),
    script:
        "../scripts/fetch.py"


rule collect_responses:
    input:
        unpack(get_checkpoint),
        asked=get_receipts,
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        responses="results/{study}/responses/{arm}/{model}.parquet",
        metadata="results/{study}/responses/{arm}/{model}.json",
    log:
        "logs/{study}/collect_responses/{arm}/{model}.log",
    wildcard_constraints:
        arm=pattern(ASKED),
        model=pattern(IN_STORE),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        request=get_request,
        code=code_of("collect_responses"),
    script:
        "../scripts/collect_responses.py"


rule ask_planted:
    input:
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        responses="results/{study}/responses/{arm}/{model}.parquet",
        planted="results/{study}/planted/{arm}/{model}.parquet",
        coefficients="results/{study}/planted/{arm}/{model}.json",
    log:
        "logs/{study}/ask_planted/{arm}/{model}.log",
    wildcard_constraints:
        arm=pattern(ASKED),
        model=pattern(STUDY.planted()),
    conda:
        "../../envs/core.yaml"
    resources:
        **PLANTED_NEEDS,
    params:
        request=get_request,
        code=code_of("ask_planted"),
    script:
        "../scripts/ask_planted.py"
