"""Prompts: the variants of an arm (templates x orders), and a sample of rendered prompts for people.

Inputs: the file with the templates of the arm's prompt set, vignettes
Outputs: results/{study}/prompts/{arm}.parquet, results/{study}/prompts/{arm}.preview.csv,
         results/{study}/prompts/{arm}.planned.parquet (for `make plan`, of an arm whose paraphrases do not exist yet)
"""


rule list_variants:
    input:
        prompt_set=get_prompts_file,
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
        counts=get_variant_counts,
        code=code_of("list_variants"),
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
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        arm=get_arm,
        scale=get_scale,
        seed=STUDY.seed,
        code=code_of("preview_prompts"),
    script:
        "../scripts/preview_prompts.py"
