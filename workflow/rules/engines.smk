# Engines: the rules that follow from a declaration, one for each engine and each prompt set that is generated.
#
# An engine (`cinorms/inference/engines`) declares what its jobs need and how its models are asked. A job starts its engine
# once and asks all arms of a model, or its part of them. What it asks and how that is sampled is one parameter,
# `requests`: changing anything else asks no model again. The store (results/.replies, which all studies share) is declared
# by no rule: Snakemake must not remove what was paid for.


def get_ask_command(kind):
    """Return the command that asks. Another text would ask every model again: Snakemake compares it."""
    # The checkpoint is here already: compute nodes often have no internet.
    offline = "HF_HUB_OFFLINE=1 " if kind.checkpoint else ""
    fetched = " --checkpoints {input.checkpoints:q}" if kind.checkpoint else ""
    return (
        f"{offline}{{params.python}} -m cinorms.inference.ask --requests {{params.requests:q}} --runtime {{params.runtime:q}}"
        f"{fetched} --vignettes {{input.vignettes:q}} --variants {{input.variants:q}} --out {{output.asked:q}} --log {{log:q}}"
    )


def define_ask(kind):
    """Define `ask_{engine}`.

    This is a function, because Snakemake evaluates the command of a job when it runs: in a plain loop all jobs would get
    the command of the last engine.
    """

    rule:
        name:
            f"ask_{kind.name}"
        input:
            unpack(get_ask_inputs),
        output:
            asked="results/{study}/asked/{model}/{shard}.json",
        log:
            f"logs/{{study}}/ask_{kind.name}/{{model}}/{{shard}}.log",
        benchmark:
            f"logs/{{study}}/ask_{kind.name}/{{model}}/{{shard}}.benchmark.tsv"
        wildcard_constraints:
            # Models that load the same are asked by the jobs of the first of them.
            model=pattern(
                model
                for model in IN_STORE
                if STUDY.registry_entry(model).kind is kind and requests.job_of(STUDY, model) == model
            ),
        # Where jobs wait for a GPU, the longest begins first, and none is left for the end.
        priority: lambda wildcards: requests.asking_minutes(STUDY, wildcards.model, 1)
        conda:
            f"../../envs/{kind.environment}.yaml"
        threads: kind.needs.threads
        resources:
            **resources_of(STUDY, kind),
        params:
            runtime=get_runtime,
            python=get_python_in(kind.virtual_environment),
            requests=lambda wildcards: json.dumps(requests.requests_of(STUDY, wildcards.model), sort_keys=True),
            failed=get_failed,
        shell:
            get_ask_command(kind)


def define_fetch(kind):
    """Define `fetch_checkpoint_{engine}`: the environment of an engine fetches what it loads."""

    rule:
        name:
            f"fetch_checkpoint_{kind.name}"
        input:
            wheels=get_wheels,
        output:
            record="results/{study}/checkpoints/{model}.json",
        log:
            "logs/{study}/fetch_checkpoint/{model}.log",
        wildcard_constraints:
            model=pattern(model for model in LOADED if STUDY.registry_entry(model).kind is kind),
        localrule: True
        conda:
            f"../../envs/{kind.environment}.yaml"
        params:
            python=get_python_in(kind.virtual_environment),
            checkpoint=lambda wildcards: STUDY.registry_entry(wildcards.model).weights,
        shell:
            "{params.python} -m cinorms.inference.checkpoints --model {wildcards.model:q} --source {params.checkpoint[source]:q}"
            " --revision={params.checkpoint[revision]:q} --lora={params.checkpoint[lora]:q} --out {output.record:q} --log {log:q}"


def define_paraphrases(prompt_set):
    """Define `generate_paraphrases_{prompt_set}`: each has its own file and environment."""
    environment = requests.paraphraser_environment(AWAITED[prompt_set]["paraphraser"]["engine"])
    model = (AWAITED[prompt_set]["asked"] or {}).get("model")

    rule:
        name:
            f"generate_paraphrases_{prompt_set}"
        input:
            declared=get_declared_prompts(prompt_set),
            checkpoints=[f"{RESULTS}/checkpoints/{model}.json"] * (model in LOADED),
        output:
            frozen=local(STUDY.prompts_file(prompt_set)),
        log:
            f"logs/{STUDY.name}/generate_paraphrases/{prompt_set}.log",
        conda:
            f"../../envs/{environment.environment}.yaml"
        threads: environment.needs.threads if model else 1
        resources:
            **(resources_of(STUDY, environment, model) if model else {"mem_mb": 16000, "runtime": 120}),
        params:
            python=get_python_in(environment.virtual_environment),
            # A function, because Snakemake fills in the braces of a text.
            request=lambda wildcards: json.dumps(AWAITED[prompt_set]),
            runtime=lambda wildcards, output: json.dumps(requests.paraphrase_runtime(STUDY, prompt_set)),
        shell:
            "HF_HUB_OFFLINE=1 {params.python} -m cinorms.inference.paraphraser --request {params.request:q} --runtime {params.runtime:q}"
            " --checkpoints {input.checkpoints:q} --out {output.frozen:q} --log {log:q}"
            if model
            else "{params.python} -m cinorms.prompts.paraphrase.generate --request {params.request:q} --out {output.frozen:q} --log {log:q}"


for kind in engine_kinds():
    define_ask(kind)
    if kind.checkpoint:
        define_fetch(kind)

for prompt_set in AWAITED:
    define_paraphrases(prompt_set)
