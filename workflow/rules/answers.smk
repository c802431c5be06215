"""Answers: the level of the scale is read out of every response; a person codes a sample, a model may code the rest.

to_code.csv, the sheet for the person, is declared by no rule: Snakemake would remove a person's work before it runs a
job again. A person checks a sample of the coder's codes before they count. Only a study with `answers: {coder: ...}` or
`answers: {sample: ...}` has these files.
"""


rule list_unread:
    input:
        unpack(get_coded_files),
        overrides=OVERRIDES,
    output:
        unread="results/{study}/coding/{scale}/unread.parquet",
        prompts="results/{study}/coding/{scale}/prompts.parquet",
        readings="results/{study}/coding/{scale}/readings.parquet",
    log:
        "logs/{study}/list_unread/{scale}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        models=lambda wildcards: [model for _, model in CODED_SCALES[wildcards.scale]],
        scale=lambda wildcards: STUDY.named_scale(wildcards.scale).plain,
        levels=STUDY.levels(),
        code=code_of("list_unread"),
    script:
        "../scripts/list_unread.py"


if CODER_ENTRY and CODER_ENTRY.planted:

    use rule ask_planted as ask_coder with:
        input:
            vignettes="results/{study}/coding/{scale}/unread.parquet",
            variants="results/{study}/coding/{scale}/prompts.parquet",
        output:
            responses="results/{study}/coding/{scale}/replies.parquet",
        log:
            "logs/{study}/ask_coder/{scale}.log",
        resources:
            **PLANTED_NEEDS,
        params:
            request=get_coder_request,
            code=code_of("ask_planted"),

elif CODER_ENTRY:

    rule ask_coder:
        input:
            checkpoints=[f"{RESULTS}/checkpoints/{STUDY.coder}.json"] * len(CODED_SCALES) * (STUDY.coder in LOADED),
            vignettes=[f"{RESULTS}/coding/{scale}/unread.parquet" for scale in CODED_SCALES],
            variants=[f"{RESULTS}/coding/{scale}/prompts.parquet" for scale in CODED_SCALES],
        output:
            asked="results/{study}/coding/asked.json",
        log:
            "logs/{study}/ask_coder.log",
        conda:
            f"../../envs/{CODER_ENTRY.asks.environment}.yaml"
        threads: CODER_ENTRY.asks.needs.threads
        resources:
            **resources_of(STUDY, CODER_ENTRY.asks, STUDY.coder),
        params:
            runtime=get_runtime,
            python=get_python_in(CODER_ENTRY.asks.virtual_environment),
            requests=lambda wildcards: json.dumps(list(get_coder_requests(wildcards).items()), sort_keys=True),
            failed=get_failed,
        shell:
            get_ask_command(CODER_ENTRY.asks)

    use rule collect_responses as collect_codes with:
        input:
            unpack(get_checkpoint),
            asked="results/{study}/coding/asked.json",
            vignettes="results/{study}/coding/{scale}/unread.parquet",
            variants="results/{study}/coding/{scale}/prompts.parquet",
        output:
            responses="results/{study}/coding/{scale}/replies.parquet",
            metadata="results/{study}/coding/{scale}/replies.json",
        log:
            "logs/{study}/collect_codes/{scale}.log",
        params:
            request=get_coder_request,
            code=code_of("collect_responses"),


rule judge_coder:
    input:
        unread=[f"{RESULTS}/coding/{scale}/unread.parquet" for scale in CODED_SCALES],
        prompts=[f"{RESULTS}/coding/{scale}/prompts.parquet" for scale in CODED_SCALES],
        readings=[f"{RESULTS}/coding/{scale}/readings.parquet" for scale in CODED_SCALES],
        replies=CODER_REPLIES,
        coded=CODED,
    output:
        codes="results/{study}/coding/codes.parquet",
        agreement="results/{study}/coding/agreement.csv",
    log:
        "logs/{study}/judge_coder.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        requests=get_coder_requests,
        coder=STUDY.coder,
        scales=lambda wildcards: {scale: STUDY.named_scale(scale).plain for scale in CODED_SCALES},
        sample=STUDY.hand_sample,
        tried=STUDY.settings.answers.tried,
        needed=STUDY.settings.answers.agreement,
        seed=STUDY.seed,
        code=code_of("judge_coder"),
    script:
        "../scripts/judge_coder.py"


rule read_answers:
    input:
        responses="results/{study}/responses/{arm}/{model}.parquet",
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
        overrides=OVERRIDES,
        codes=CODES,
    output:
        answers="results/{study}/answers/{arm}/{model}.parquet",
        review="results/{study}/answers/{arm}/{model}.review.csv",
    log:
        "logs/{study}/read_answers/{arm}/{model}.log",
    wildcard_constraints:
        arm=pattern(READ),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        scale=get_scale,
        levels=STUDY.levels(),
        # Responses from a file are not checked against a request.
        asked=lambda wildcards: get_request(wildcards) if wildcards.arm in ASKED else None,
        code=code_of("read_answers"),
    script:
        "../scripts/read_answers.py"


rule check_overrides:
    input:
        responses=in_arms("responses", READ),
        overrides=OVERRIDES,
    output:
        settled="results/{study}/answers/overrides.csv",
    log:
        "logs/{study}/check_overrides.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        pairs=lambda wildcards: STUDY.pairs(*READ_HERE),
        levels=STUDY.levels(),
        code=code_of("check_overrides"),
    script:
        "../scripts/check_overrides.py"


rule gather_provenance:
    input:
        responses=in_arms("responses", ASKED),
        metadata=in_arms("responses", ASKED, IN_STORE, "json"),
        coded=CODER_REPLIES,
        coded_metadata=[
            f"{RESULTS}/coding/{scale}/replies.json" for scale in CODED_SCALES if CODER_ENTRY and CODER_ENTRY.asks
        ],
        received=in_arms("responses", STUDY.arms_from("responses")),
    output:
        provenance="results/{study}/provenance.json",
    log:
        "logs/{study}/gather_provenance.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=lambda wildcards: STUDY.pairs("model"),
        planted=STUDY.planted(),
        coder=STUDY.coder,
        scales=list(CODED_SCALES),
        received=lambda wildcards: STUDY.pairs("responses"),
        code=code_of("gather_provenance"),
    script:
        "../scripts/gather_provenance.py"
