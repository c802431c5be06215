"""Prompts: the variants of an arm (templates x orders), and a sample of rendered prompts for people.

Inputs: resources/prompts/{prompt set}.yaml, vignettes
Outputs: results/{study}/prompts/{arm}.parquet, results/{study}/prompts/{arm}.preview.csv
"""


rule list_variants:
    input:
        prompt_set=get_prompts_file,
    output:
        variants="results/{study}/prompts/{arm}.parquet",
    log:
        "logs/{study}/list_variants/{arm}.log",
    conda:
        "../../envs/core.yaml"
    params:
        counts=get_variant_counts,
        code=code_digest("prompts", "prompt_sets", "tables"),
    script:
        "../scripts/list_variants.py"


rule preview_prompts:
    input:
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        preview="results/{study}/prompts/{arm}.preview.csv",
    log:
        "logs/{study}/preview_prompts/{arm}.log",
    conda:
        "../../envs/core.yaml"
    params:
        arm=get_arm,
        scale=get_scale,
        seed=STUDY.seed,
        code=code_digest("prompts", "orders", "draws"),
    script:
        "../scripts/preview_prompts.py"
