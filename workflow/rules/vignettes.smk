"""Vignettes: a dataset becomes one row per flow.

Inputs: resources/vignettes/{dataset}.yaml, and for `source: csv` and `confaide` the files it names: the user's own as they are,
        those with an address fetched once.
Outputs: results/{study}/vignettes/{dataset}.parquet
"""


rule expand_vignettes:
    input:
        unpack(get_dataset_files),
    output:
        vignettes="results/{study}/vignettes/{dataset}.parquet",
    log:
        "logs/{study}/expand_vignettes/{dataset}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        null_principle=get_null_principle,
        code=code_of("expand_vignettes"),
    script:
        "../scripts/expand_vignettes.py"
