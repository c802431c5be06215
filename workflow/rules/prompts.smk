"""Prompts: paraphrases where they are to be made, the variants of an arm (templates x orders), and a sample of rendered prompts for people.

Inputs: resources/prompts/{prompt set}.yaml, vignettes
Outputs: frozen/{prompt set}.yaml beside the file of a prompt set that is to be made (under `engine: planted` results/{study}/paraphrases/{prompt set}.yaml),
         results/{study}/prompts/{arm}.parquet, results/{study}/prompts/{arm}.preview.csv,
         results/{study}/prompts/{arm}.planned.parquet (for `make plan`, of an arm whose paraphrases are still to be made)

A frozen file is to be committed. While it is there no rule makes it: whatever else changes, nobody is asked again.
"""


def define_paraphrases(prompt_set):
    """Define `generate_paraphrases_{prompt_set}`: each is kept beside its own prompt set, and asked in its environment."""

    rule:
        name:
            f"generate_paraphrases_{prompt_set}"
        input:
            declared=get_declared(prompt_set),
        output:
            frozen=local(STUDY.prompts_file(prompt_set)),
        log:
            f"logs/{STUDY.name}/generate_paraphrases/{prompt_set}.log",
        conda:
            get_env(get_paraphraser_environment(prompt_set).environment)
        resources:
            mem_mb=16000,
            runtime=120,
        params:
            python=get_python_in(
                get_paraphraser_environment(prompt_set).virtual_environment
            ),
            request=json.dumps(AWAITED[prompt_set]),
        shell:
            "{params.python} -m cinorms.prompts.paraphrase.generate --request {params.request:q} --out {output.frozen:q} --log {log:q}"


for prompt_set in AWAITED:
    define_paraphrases(prompt_set)


rule list_variants:
    input:
        prompt_set=get_prompts_file,
    output:
        variants="results/{study}/prompts/{arm}{planned}.parquet",
    log:
        "logs/{study}/list_variants/{arm}{planned}.log",
    wildcard_constraints:
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
