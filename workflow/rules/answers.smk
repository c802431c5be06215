"""Answers: the level of the scale is read out of every response; a person codes a sample, a model may code the rest.

to_code.csv, the sheet for the person, is declared by no rule: Snakemake would remove a person's work before it runs a
job again. A person checks a sample of the coder's codes before they count. Only a study with `answers: {coder: ...}` or
`answers: {sample: ...}` has these files.
"""


rule list_unread:
    input:
        of(VALUES.coded_inputs),
        overrides=OVERRIDES,
    output:
        unread="results/{study}/coding/{scale}/unread.parquet",
        prompts="results/{study}/coding/{scale}/prompts.parquet",
        readings="results/{study}/coding/{scale}/readings.parquet",
    log:
        "logs/{study}/list_unread/{scale}.log",
    wildcard_constraints:
        scale=pattern(VALUES.coded_scales),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        files=of(VALUES.coded_places),
        scale=of(VALUES.coded_scale),
        levels=VALUES.levels,
        code=code_of("list_unread"),
    script:
        "../scripts/list_unread.py"


CODER_KIND = VALUES.coder_kind

if CODER_KIND and CODER_KIND.planted:

    use rule ask_planted as ask_coder with:
        input:
            vignettes="results/{study}/coding/{scale}/unread.parquet",
            variants="results/{study}/coding/{scale}/prompts.parquet",
        output:
            responses="results/{study}/coding/{scale}/replies.parquet",
        log:
            "logs/{study}/ask_coder/{scale}.log",
        wildcard_constraints:
            scale=pattern(VALUES.coded_scales),
        params:
            request=of(VALUES.coder_request),
            code=code_of("ask_planted"),

elif CODER_KIND:

    rule ask_coder:
        input:
            **VALUES.coder_checkpoints(),
            vignettes=collect(
                f"{VALUES.coding}/{{scale}}/unread.parquet", scale=VALUES.coded_scales
            ),
            variants=collect(
                f"{VALUES.coding}/{{scale}}/prompts.parquet", scale=VALUES.coded_scales
            ),
        output:
            asked="results/{study}/coding/asked.json",
        log:
            "logs/{study}/ask_coder.log",
        conda:
            get_env(CODER_KIND.environment)
        threads: CODER_KIND.needs.threads
        resources:
            **resources_of(STUDY, CODER_KIND, STUDY.coder),
        params:
            runtime=unrecorded(VALUES.coder_runtime),
            python=get_python_in(CODER_KIND.virtual_environment),
            requests=json.dumps(list(VALUES.coder_requests().items()), sort_keys=True),
        shell:
            get_ask_command(CODER_KIND)

    use rule collect_responses as collect_codes with:
        input:
            **VALUES.fetched(STUDY.coder),
            asked=ancient("results/{study}/coding/asked.json"),
            vignettes="results/{study}/coding/{scale}/unread.parquet",
            variants="results/{study}/coding/{scale}/prompts.parquet",
        output:
            responses="results/{study}/coding/{scale}/replies.parquet",
            facts="results/{study}/coding/{scale}/replies.json",
        log:
            "logs/{study}/collect_codes/{scale}.log",
        wildcard_constraints:
            scale=pattern(VALUES.coded_scales),
        params:
            store=unrecorded(VALUES.store),
            request=of(VALUES.coder_request),
            code=code_of("collect_responses"),


rule judge_coder:
    input:
        unread=collect(
            f"{VALUES.coding}/{{scale}}/unread.parquet", scale=VALUES.coded_scales
        ),
        prompts=collect(
            f"{VALUES.coding}/{{scale}}/prompts.parquet", scale=VALUES.coded_scales
        ),
        readings=collect(
            f"{VALUES.coding}/{{scale}}/readings.parquet", scale=VALUES.coded_scales
        ),
        replies=VALUES.coder_replies(),
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
        requests=of(VALUES.coder_requests),
        coder=STUDY.coder,
        scales=VALUES.scales_to_code(),
        sample=STUDY.hand_sample,
        tried=STUDY.settings.answers.tried,
        needed=STUDY.settings.answers.agreement,
        seed=STUDY.seed,
        sheet=INSIDE.placed(f"{VALUES.coding}/to_code.csv"),
        code=code_of("judge_coder"),
    script:
        "../scripts/judge_coder.py"


rule read_answers:
    input:
        responses=of(VALUES.responses),
        vignettes=of(VALUES.vignettes),
        variants="results/{study}/prompts/{arm}.parquet",
        overrides=OVERRIDES,
        codes=CODES,
    output:
        answers="results/{study}/answers/{arm}/{model}.parquet",
        review="results/{study}/answers/{arm}/{model}.review.csv",
    log:
        "logs/{study}/read_answers/{arm}/{model}.log",
    wildcard_constraints:
        arm=pattern(STUDY.arms_from(*READ_HERE)),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        scale=of(VALUES.scale),
        levels=VALUES.levels,
        asked=of(VALUES.asked_request),
        code=code_of("read_answers"),
    script:
        "../scripts/read_answers.py"


rule check_overrides:
    input:
        responses=[path for *_, path in VALUES.responses_from(*READ_HERE)],
        overrides=OVERRIDES,
    output:
        settled="results/{study}/answers/overrides.csv",
    log:
        "logs/{study}/check_overrides.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        places=[[arm, model] for arm, model, _ in VALUES.responses_from(*READ_HERE)],
        levels=VALUES.levels,
        code=code_of("check_overrides"),
    script:
        "../scripts/check_overrides.py"
