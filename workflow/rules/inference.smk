"""Inference: the steps beside the jobs that ask (engines.smk): commits that were fetched, what was planted, provenance.

The store (results/.replies, which all studies share) is declared by no rule: Snakemake must not remove what was paid for.
"""


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
