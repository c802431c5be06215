"""Analysis: one tidy table for each entry of the study's `analyses`.

Inputs: answers or norms of the entry's arms and models; as its kind needs, vignettes, prompts, what was planted
Outputs: results/{study}/tables/{analysis}.{parquet,csv,tex}
"""


rule make_table:
    input:
        unpack(get_analysis_inputs),
    output:
        parquet="results/{study}/tables/{analysis}.parquet",
        csv=report(
            "results/{study}/tables/{analysis}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{analysis}"},
        ),
        latex="results/{study}/tables/{analysis}.tex",
    log:
        "logs/{study}/make_table/{analysis}.log",
    benchmark:
        "logs/{study}/make_table/{analysis}.benchmark.tsv"
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        entry=get_analysis,
        code=get_analysis_code,
    script:
        "../scripts/make_table.py"
