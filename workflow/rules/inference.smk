"""Inference: the steps beside the jobs that ask (engines.smk): responses, what was planted, provenance, commits.

The store (results/.replies, which all studies share) is declared by no rule: Snakemake must not remove what was paid for.
`collect_responses` takes an arm's replies from it. That a model was asked is `ancient` there: another arm asks the model
again, and only its own responses are new.
"""


rule collect_responses:
    input:
        unpack(of(VALUES.fetched)),
        asked=ancient(of(VALUES.receipts)),
        vignettes=of(VALUES.vignettes),
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        responses="results/{study}/responses/{arm}/{model}.parquet",
        facts="results/{study}/responses/{arm}/{model}.json",
    log:
        "logs/{study}/collect_responses/{arm}/{model}.log",
    wildcard_constraints:
        arm=ASKED_ARMS,
        model=pattern(VALUES.models_asked()),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        store=unrecorded(VALUES.store),
        request=of(VALUES.request),
        code=code_of("collect_responses"),
    script:
        "../scripts/collect_responses.py"


rule ask_planted:
    input:
        vignettes=of(VALUES.vignettes),
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        responses="results/{study}/responses/{arm}/{model}.parquet",
    log:
        "logs/{study}/ask_planted/{arm}/{model}.log",
    wildcard_constraints:
        arm=ASKED_ARMS,
        model=pattern(STUDY.planted()),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        request=of(VALUES.request),
        code=code_of("ask_planted"),
    script:
        "../scripts/ask_planted.py"


rule describe_planted:
    input:
        vignettes=of(VALUES.vignettes),
    output:
        planted="results/{study}/planted/{arm}/{model}.parquet",
        coefficients="results/{study}/planted/{arm}/{model}.json",
    log:
        "logs/{study}/describe_planted/{arm}/{model}.log",
    wildcard_constraints:
        arm=ASKED_ARMS,
        model=pattern(STUDY.planted()),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        request=of(VALUES.request),
        code=code_of("describe_planted"),
    script:
        "../scripts/describe_planted.py"


rule gather_provenance:
    input:
        responses=of(VALUES.asked),
        facts=VALUES.reply_facts(),
        coded=VALUES.coder_replies(),
        received=[path for *_, path in VALUES.responses_from("responses")],
    output:
        provenance="results/{study}/provenance.json",
    log:
        "logs/{study}/gather_provenance.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=of(VALUES.provenance),
        coded=of(VALUES.coder_provenance),
        received=of(VALUES.received_from),
        code=code_of("gather_provenance"),
    script:
        "../scripts/gather_provenance.py"


rule fetch:
    input:
        [f"{RESULTS}/checkpoints/{model}.json" for model in VALUES.checkpoints()],
    log:
        f"logs/{STUDY.name}/fetch.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        locks=of(VALUES.revision_locks),
        code=code_of("fetch"),
    script:
        "../scripts/fetch.py"
