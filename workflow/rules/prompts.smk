"""Prompts: a dataset becomes flows, a prompt set the variants of an arm; and a sample of rendered prompts for people.

Commit a frozen prompt set. While it exists, no paraphraser is asked again, whatever else changes.
"""


rule expand_vignettes:
    input:
        unpack(lambda wildcards: STUDY.dataset(wildcards.dataset).inputs()),
    output:
        vignettes="results/{study}/vignettes/{dataset}.parquet",
        csv="results/{study}/vignettes/{dataset}.csv",
    log:
        "logs/{study}/expand_vignettes/{dataset}.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        code=code_of("expand_vignettes"),
    script:
        "../scripts/expand_vignettes.py"


rule list_variants:
    input:
        prompt_set=get_templates,
    output:
        variants="results/{study}/prompts/{arm}{planned}.parquet",
    log:
        "logs/{study}/list_variants/{arm}{planned}.log",
    wildcard_constraints:
        arm=pattern(STUDY.worded_arms()),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        counts=lambda wildcards: {
            "templates": STUDY.templates(wildcards.arm),
            "orders": STUDY.arms[wildcards.arm].orders.count,
        },
        layout=lambda wildcards: STUDY.arms[wildcards.arm].layout,
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
        arm=lambda wildcards: STUDY.arms[wildcards.arm].plain(),
        scale=get_scale,
        seed=STUDY.seed,
        code=code_of("preview_prompts"),
    script:
        "../scripts/preview_prompts.py"


rule export_prompts:
    input:
        vignettes=get_vignettes,
        variants="results/{study}/prompts/{arm}.parquet",
    output:
        folder=directory("results/{study}/exported/{format}/{arm}"),
    log:
        "logs/{study}/export_prompts/{format}/{arm}.log",
    wildcard_constraints:
        arm=pattern(EXPORTED),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        requests=lambda wildcards: [
            requests.request_of(STUDY, wildcards.arm, model).plain() for model in STUDY.models(wildcards.arm)
        ],
        code=code_of("export_prompts", "cinorms.exchange.formats"),
    script:
        "../scripts/export_prompts.py"
