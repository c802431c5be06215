"""Answers: the level of the scale is read out of every response.

Inputs: responses (all shards of a model in an arm)
Outputs: results/{study}/answers/{arm}/{model}.parquet
"""


rule read_answers:
    input:
        responses=get_responses,
    output:
        answers="results/{study}/answers/{arm}/{model}.parquet",
    log:
        "logs/{study}/read_answers/{arm}/{model}.log",
    benchmark:
        "logs/{study}/read_answers/{arm}/{model}.benchmark.tsv"
    conda:
        "../../envs/core.yaml"
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        scale=get_scale,
        code=code_digest("answers", "reading", "scales", "tables"),
    script:
        "../scripts/read_answers.py"
