"""Asking: one job asks one shard of a model in an arm; before it checkpoints are fetched, after it the provenance gathered.

Inputs: vignettes, prompts; what a checkpoint is made from, where it is not on the hub
Outputs: results/{study}/checkpoints/{model}.json (which checkpoint a model is),
         results/{study}/responses/{arm}/{model}/{shard}.parquet,
         results/{study}/planted/{arm}/{model}.{parquet,json} (what was planted, for planted models),
         results/{study}/provenance.json (what every response was made with)

An engine (`cinorms/inference/engines`) declares what its jobs need and how its models are asked; `ask_{engine}` and
`fetch_checkpoint_{engine}` follow from that. `spec` is one value with everything that can change a response and nothing
else: changing anything else asks no model again. Jobs that need the same engine load it once (crews.smk).

The journal (results/.journal, which all studies share) is declared by no rule: Snakemake must not remove what was paid for.
"""


def get_settings(wildcards):
    """Return the settings of a model's entry in the registry."""
    return STUDY.registry_entry(wildcards.model).settings


def get_ask_command(kind):
    """Return the command that asks a shard. Another text would ask every model again: Snakemake compares it."""
    # The checkpoint is here already: compute nodes often have no internet.
    offline = "HF_HUB_OFFLINE=1 " if kind.checkpoint else ""
    tuning = " --tuning {params.tuning:q}" if kind.journalled else ""
    fetched = " --checkpoint {input.checkpoint:q}" if kind.checkpoint else ""
    return (
        f"{offline}{{params.python}} -m cinorms.ask --spec {{params.spec:q}}{tuning}{fetched}"
        " --vignettes {input.vignettes:q} --variants {input.variants:q} --out {output.responses:q} --log {log:q}"
    )


def get_fetch_command():
    """Return the command that fetches a checkpoint."""
    lock = INSIDE.placed(
        "results/{wildcards.study}/.checkpoints/{wildcards.model}.json"
    )
    return (
        "{params.python} -m cinorms.inference.checkpoints --model {wildcards.model:q} --source {params.checkpoint[source]:q}"
        f" --revision={{params.checkpoint[revision]:q}} --lock {lock}"
        " --out {output.record:q} --log {log:q}"
    )


def define_fetch(kind):
    """Define `fetch_checkpoint_{engine}`: the environment of an engine fetches what it loads."""

    rule:
        name:
            f"fetch_checkpoint_{kind.name}"
        input:
            made=of(VALUES.checkpoint_files),
        output:
            record="results/{study}/checkpoints/{model}.json",
        log:
            "logs/{study}/fetch_checkpoint/{model}.log",
        wildcard_constraints:
            model=pattern(VALUES.checkpoints(kind)),
        localrule: True
        conda:
            get_env(kind.environment)
        params:
            python=get_python_in(kind.virtual_environment),
            checkpoint=of(VALUES.checkpoint_source),
        shell:
            get_fetch_command()


for kind in engine_kinds():
    if kind.checkpoint:
        define_fetch(kind)


def define_ask(kind):
    """Define `ask_{engine}`.

    This is a function, because Snakemake evaluates the command of a job when it runs: in a plain loop all jobs would get
    the command of the last engine.
    """

    rule:
        name:
            f"ask_{kind.name}"
        input:
            **VALUES.checkpoint(kind, "{model}"),
            vignettes=of(VALUES.vignettes),
            variants="results/{study}/prompts/{arm}.parquet",
        output:
            responses="results/{study}/responses/{arm}/{model}/{shard}.parquet",
        log:
            f"logs/{{study}}/ask_{kind.name}/{{arm}}/{{model}}/{{shard}}.log",
        benchmark:
            f"logs/{{study}}/ask_{kind.name}/{{arm}}/{{model}}/{{shard}}.benchmark.tsv"
        wildcard_constraints:
            arm=ASKED_ARMS,
            model=pattern(VALUES.engine_models(kind)),
        conda:
            get_env(kind.environment)
        threads: kind.needs.threads
        resources:
            **get_needs(kind, get_settings, has_crew=True),
        params:
            **({"tuning": unrecorded(VALUES.tuning)} if kind.journalled else {}),
            python=get_python_in(kind.virtual_environment),
            spec=of(VALUES.spec),
        shell:
            get_ask_command(kind)


for kind in engine_kinds():
    if not kind.people:
        define_ask(kind)


rule describe_planted:
    input:
        vignettes=of(VALUES.vignettes),
    output:
        planted="results/{study}/planted/{arm}/{model}.parquet",
        coefficients="results/{study}/planted/{arm}/{model}.json",
    log:
        "logs/{study}/describe_planted/{arm}/{model}.log",
    wildcard_constraints:
        arm=ASKED_ARMS,
        model=pattern(STUDY.planted()),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        spec=of(VALUES.whole_spec),
        code=code_of("describe_planted"),
    script:
        "../scripts/describe_planted.py"


rule gather_provenance:
    input:
        responses=of(VALUES.asked),
        coded=VALUES.coder_replies(),
        received=of(VALUES.received),
    output:
        provenance="results/{study}/provenance.json",
    log:
        "logs/{study}/gather_provenance.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        asked=of(VALUES.provenance),
        coded=of(VALUES.coder_provenance),
        received=of(VALUES.received_from),
        spending=VALUES.spending,
        code=code_of("gather_provenance"),
    script:
        "../scripts/gather_provenance.py"
