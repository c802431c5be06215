"""Engines: the rules that follow from a declaration, one for each engine and each prompt set that is generated.

An engine (`cinorms/inference/engines`) declares what its jobs need and how its models are asked; `ask_{engine}` and
`fetch_checkpoint_{engine}` follow from that. `spec` is one value with everything that can change a response and nothing
else: changing anything else asks no model again. Jobs that need the same engine load it once (`cinorms/rules/crews.py`).

Commit a frozen prompt set. While it exists, no paraphraser is asked again, whatever else changes.
"""


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


LOCK = INSIDE.placed("results/{wildcards.study}/.checkpoints/{wildcards.model}.json")


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
            "{params.python} -m cinorms.inference.checkpoints --model {wildcards.model:q} --source {params.checkpoint[source]:q}"
            f" --revision={{params.checkpoint[revision]:q}} --lora={{params.checkpoint[lora]:q}} --lock {LOCK}"
            " --out {output.record:q} --log {log:q}"


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
        priority: CREWS.priority
        conda:
            get_env(kind.environment)
        threads: kind.needs.threads
        resources:
            **CREWS.needs(kind),
        params:
            **({"tuning": unrecorded(VALUES.tuning)} if kind.journalled else {}),
            python=get_python_in(kind.virtual_environment),
            spec=of(VALUES.spec),
        shell:
            get_ask_command(kind)


for kind in engine_kinds():
    if not kind.people:
        define_ask(kind)


def define_paraphrases(prompt_set):
    """Define `generate_paraphrases_{prompt_set}`: each has its own file and environment."""
    paraphraser = AWAITED[prompt_set]["paraphraser"]
    environment = paraphraser_environment(paraphraser["engine"])
    entry = STUDY.registry.get(paraphraser["name"])

    def get_request(wildcards):
        # A function, because Snakemake fills in the braces of a text.
        return json.dumps(AWAITED[prompt_set])

    rule:
        name:
            f"generate_paraphrases_{prompt_set}"
        input:
            declared=VALUES.declared_prompts(prompt_set),
        output:
            frozen=local(STUDY.prompts_file(prompt_set)),
        log:
            f"logs/{STUDY.name}/generate_paraphrases/{prompt_set}.log",
        conda:
            get_env(environment.environment)
        resources:
            **({"gpu": entry.gpus} if entry and entry.gpus else {}),
            mem_mb=16000,
            runtime=120,
        params:
            python=get_python_in(environment.virtual_environment),
            request=get_request,
        shell:
            "{params.python} -m cinorms.prompts.paraphrase.generate --request {params.request:q} --out {output.frozen:q} --log {log:q}"


for prompt_set in AWAITED:
    define_paraphrases(prompt_set)
