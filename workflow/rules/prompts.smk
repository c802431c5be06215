"""Prompts: a dataset becomes flows, a prompt set the variants of an arm; and a sample of rendered prompts for people."""


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
