"""Asking: one job asks one shard of a model in an arm. Jobs that need the same engine load it once (hooks.smk).

Inputs: vignettes, prompts
Outputs: results/{study}/responses/{arm}/{model}/{shard}.parquet

An engine (`cinorms/inference/engines`) declares what its jobs need and how its models are asked; `ask_{engine}` follows
from that. `spec` is one value with everything that can change a response and nothing else: changing anything else asks
no model again.
"""


def define_ask(kind):
    """Define `ask_{engine}`.

    This is a function, because Snakemake evaluates the command of a job when it runs: in a plain loop all jobs would get
    the command of the last engine.
    """

    rule:
        name:
            f"ask_{kind.name}"
        input:
            **get_checkpoint_input(kind),
            vignettes=get_vignettes,
            variants="results/{study}/prompts/{arm}.parquet",
        output:
            responses="results/{study}/responses/{arm}/{model}/{shard}.parquet",
        log:
            f"logs/{{study}}/ask_{kind.name}/{{arm}}/{{model}}/{{shard}}.log",
        benchmark:
            f"logs/{{study}}/ask_{kind.name}/{{arm}}/{{model}}/{{shard}}.benchmark.tsv"
        wildcard_constraints:
            arm=ASKED_ARMS,
            model=get_pattern(asked_by(kind)),
        conda:
            get_env(kind.environment)
        threads: kind.needs.threads
        resources:
            **get_needs(kind, get_model_settings, has_crew=True),
        params:
            **get_tuning_param(kind),
            python=get_python_in(kind.virtual_environment),
            spec=get_spec,
        shell:
            get_ask_command(kind)


for kind in engine_kinds():
    if not kind.people:
        define_ask(kind)
