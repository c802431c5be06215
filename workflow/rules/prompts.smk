"""Prompts: a dataset becomes flows, a prompt set the variants of an arm; and a sample of rendered prompts for people.

Inputs: resources/vignettes/{dataset}.yaml, and for `source: csv` and `confaide` the files it names: the user's own as they are,
        those with an address fetched once; the file of each prompt set
Outputs: results/{study}/vignettes/{dataset}.parquet, results/{study}/vignettes/{dataset}.csv (the same for people),
         results/{study}/prompts/{arm}.parquet, results/{study}/prompts/{arm}.preview.csv,
         results/{study}/prompts/{arm}.planned.parquet (for `make plan`, of an arm whose paraphrases do not exist yet)
"""


rule expand_vignettes:
    input:
        unpack(of(VALUES.dataset_files)),
    output:
        vignettes="results/{study}/vignettes/{dataset}.parquet",
        csv="results/{study}/vignettes/{dataset}.csv",
    log:
        "logs/{study}/expand_vignettes/{dataset}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        null_principle=of(STUDY.null_principle),
        code=code_of("expand_vignettes"),
    script:
        "../scripts/expand_vignettes.py"


rule list_variants:
    input:
        prompt_set=of(VALUES.templates),
    output:
        variants="results/{study}/prompts/{arm}{planned}.parquet",
    log:
        "logs/{study}/list_variants/{arm}{planned}.log",
    wildcard_constraints:
        arm=WORDED_ARMS,
        planned=r"(\.planned)?",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        counts=of(VALUES.variant_counts),
        code=code_of("list_variants"),
    script:
        "../scripts/list_variants.py"


rule preview_prompts:
    input:
        vignettes=of(VALUES.vignettes),
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        preview="results/{study}/prompts/{arm}.preview.csv",
    log:
        "logs/{study}/preview_prompts/{arm}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        arm=of(VALUES.arm),
        scale=of(VALUES.scale),
        seed=STUDY.seed,
        code=code_of("preview_prompts"),
    script:
        "../scripts/preview_prompts.py"
