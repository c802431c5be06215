"""Prompts: paraphrases where they are to be made, the variants of an arm (templates x orders), and a sample of rendered prompts for people.

Inputs: resources/prompts/{prompt set}.yaml, vignettes
Outputs: resources/prompts/frozen/{prompt set}.yaml (under `engine: planted` results/{study}/paraphrases/{prompt set}.yaml),
         results/{study}/prompts/{arm}.parquet, results/{study}/prompts/{arm}.preview.csv,
         results/{study}/prompts/{arm}.planned.parquet (for `make plan`, of an arm whose paraphrases are still to be made)

A frozen file is to be committed. While it is there no rule makes it: whatever else changes, nobody is asked again.
"""


rule generate_paraphrases:
    input:
        declared=get_declared_prompts,
    output:
        frozen=f"{STUDY.paraphrases}/{{prompt_set}}.yaml",
    log:
        f"logs/{STUDY.name}/generate_paraphrases/{{prompt_set}}.log",
    conda:
        get_paraphrase_env
    resources:
        mem_mb=16000,
        runtime=120,
    params:
        python=get_paraphrase_python,
        request=get_paraphrase_request,
    shell:
        "{params.python:q} -m cinorms.prompts.paraphrase.generate --request {params.request:q} --out {output.frozen:q} --log {log:q}"


rule list_variants:
    input:
        prompt_set=get_prompts_file,
    output:
        variants="results/{study}/prompts/{arm}{planned}.parquet",
    log:
        "logs/{study}/list_variants/{arm}{planned}.log",
    wildcard_constraints:
        planned=r"(\.planned)?",
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
    conda:
        "../../envs/core.yaml"
    params:
        arm=get_arm,
        scale=get_scale,
        seed=STUDY.seed,
        code=code_of("preview_prompts"),
    script:
        "../scripts/preview_prompts.py"
