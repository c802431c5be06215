"""Norms: the multi-prompt assessment keeps what a model says consistently about a flow.

Inputs: answers
Outputs: results/{study}/norms/{arm}/{model}.parquet
"""


rule assess_norms:
    input:
        answers="results/{study}/answers/{arm}/{model}.parquet",
    output:
        norms="results/{study}/norms/{arm}/{model}.parquet",
    log:
        "logs/{study}/assess_norms/{arm}/{model}.log",
    benchmark:
        "logs/{study}/assess_norms/{arm}/{model}.benchmark.tsv"
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        consensus=STUDY.settings.norms.consensus,
        code=code_of("assess_norms"),
    script:
        "../scripts/assess_norms.py"
