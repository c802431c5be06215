"""Paraphrases: those that a prompt set of `source: generate` still lacks are requested, checked and frozen.

Inputs: the file of the prompt set
Outputs: frozen/{prompt set}.yaml next to it (under `engine: planted` results/{study}/paraphrases/{prompt set}.yaml)

Commit a frozen file. While it exists, no paraphraser is asked again, whatever else changes.
"""


def define_paraphrases(prompt_set):
    """Define `generate_paraphrases_{prompt_set}`: each has its own file and environment."""

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
            request=get_paraphrase_request(prompt_set),
        shell:
            "{params.python} -m cinorms.prompts.paraphrase.generate --request {params.request:q} --out {output.frozen:q} --log {log:q}"


for prompt_set in AWAITED:
    define_paraphrases(prompt_set)
