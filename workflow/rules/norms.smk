"""Norms: the multi-prompt assessment keeps what a model says consistently about a flow.

Inputs: answers; for the table of all norms also vignettes and prompts
Outputs: results/{study}/norms/{arm}/{model}.parquet,
         results/{study}/norms.{parquet,csv} (every flow of every arm and model, factors in words)
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
        scale=get_scale,
        code=code_of("assess_norms"),
    script:
        "../scripts/assess_norms.py"


rule list_norms:
    input:
        unpack(get_norms_inputs),
    output:
        parquet="results/{study}/norms.parquet",
        csv="results/{study}/norms.csv",
    log:
        "logs/{study}/list_norms.log",
    benchmark:
        "logs/{study}/list_norms.benchmark.tsv"
    localrule: True
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        entry=get_norms_entry,
        code=code_of("list_norms", "cinorms.analyses.flow_norms"),
    script:
        "../scripts/list_norms.py"
