# Input and parameter functions of the rules, in the order of the stages: what needs the study and the wildcards.


def get_models_of(engine):
    """Return the pattern of the models that `engine` asks (one that nothing matches where it asks none)."""
    names = [
        m for m in STUDY.all_models() if STUDY.registry_entry(m)["engine"] == engine
    ]
    return "|".join(map(re.escape, names)) or "(?!)"


def get_dataset_file(wildcards):
    """Return the YAML file of a dataset."""
    return str(ROOT.names("vignettes")[wildcards.dataset])


def get_null_principle(wildcards):
    """Tell whether a dataset has its flows without transmission principle in this study."""
    return STUDY.null_principle(wildcards.dataset)


def get_prompts_file(wildcards):
    """Return the file that holds the templates of an arm; for the plan, the one that declares them."""
    if wildcards.planned:
        return get_declared_prompts(wildcards)
    return STUDY.prompts_file(STUDY.arms[wildcards.arm]["prompts"])


def get_declared_prompts(wildcards):
    """Return the YAML file that declares an arm's prompt set, or the prompt set itself."""
    name = (
        STUDY.arms[wildcards.arm]["prompts"]
        if hasattr(wildcards, "arm")
        else wildcards.prompt_set
    )
    return str(ROOT.names("prompts")[name])


def get_paraphrase_request(wildcards):
    """Return what a paraphraser is to be asked, as one value."""
    return json.dumps(AWAITED[wildcards.prompt_set])


def get_paraphrase_env(wildcards):
    """Return the environment that a paraphraser needs."""
    engine = AWAITED[wildcards.prompt_set]["paraphraser"]["engine"]
    name = {"planted": "core", "pegasus": "paraphrase"}.get(engine, engine)
    return str(ROOT.folder / "envs" / f"{name}.yaml")


def get_paraphrase_python(wildcards):
    """Return the Python of a paraphraser: conda's, else that of `.venv-paraphrase` for pegasus, else this one."""
    if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
        return "python"
    pegasus = ROOT.folder / ".venv-paraphrase" / "bin" / "python"
    is_pegasus = AWAITED[wildcards.prompt_set]["paraphraser"]["engine"] == "pegasus"
    return str(pegasus) if is_pegasus and pegasus.exists() else sys.executable


def get_planned_variants(arm):
    """Return the variants of an arm for the plan, which asks no paraphraser either."""
    awaited = STUDY.arms[arm]["prompts"] in AWAITED
    return (
        f"{RESULTS}/prompts/{arm}.planned.parquet"
        if awaited
        else f"{RESULTS}/prompts/{arm}.parquet"
    )


def get_pilot_answers():
    """Return the answers of the pilot to what this study asks, by arm and model; None without a pilot."""
    pilot = STUDY.settings["plan"]["pilot"]
    pairs = [(ask["arm"], ask["model"]) for ask in STUDY.asked()] if pilot else []
    found = [
        (pair, f"results/{pilot}/answers/{pair[0]}/{pair[1]}.parquet") for pair in pairs
    ]
    return (
        [(pair, path) for pair, path in found if Path(path).exists()] if pilot else None
    )


def get_variant_counts(wildcards):
    """Return the numbers of templates and orders of an arm."""
    return {
        "templates": STUDY.templates(wildcards.arm),
        "orders": STUDY.arms[wildcards.arm]["orders"]["count"],
    }


def get_arm(wildcards):
    """Return the settings of an arm."""
    return STUDY.arms[wildcards.arm]


def get_scale(wildcards):
    """Return the answer scale of an arm."""
    return STUDY.scale(wildcards.arm)


def get_vignettes(wildcards):
    """Return the vignettes that an arm asks about."""
    return f"{RESULTS}/vignettes/{STUDY.arms[wildcards.arm]['dataset']}.parquet"


def get_spec(wildcards):
    """Return everything that can change a response, as one value: Snakemake compares parameters as a set."""
    return json.dumps(
        make_spec(STUDY, wildcards.arm, wildcards.model, wildcards.shard),
        sort_keys=True,
    )


def get_tuning(wildcards, output):
    """Return how a model is reached and paid. Taking `output` keeps a change of it from running a job again."""
    return json.dumps(make_tuning(STUDY, wildcards.model), sort_keys=True)


def get_gpus(wildcards):
    """Return the GPUs that a job of a model asks for."""
    return gpu_requests.gpus(STUDY.registry_entry(wildcards.model))


def get_vllm_memory(wildcards, attempt):
    """Return the main memory that a job of a model asks for; a retry asks for more."""
    return gpu_requests.memory_mb(STUDY.registry_entry(wildcards.model), attempt)


def get_vllm_minutes(wildcards, attempt):
    """Return the time that a job of a model asks for; a retry asks for more."""
    return gpu_requests.minutes(STUDY.registry_entry(wildcards.model), attempt)


def get_python(wildcards, output):
    """Return the Python of a job: conda's, else this one. As above, another path runs no job again."""
    by_conda = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
    return "python" if by_conda else sys.executable


def get_vllm_python(wildcards, output):
    """Return the Python that has vLLM: conda's, else that of `.venv-vllm`, which `make control` makes, else this one."""
    own = ROOT.folder / ".venv-vllm" / "bin" / "python"
    python = get_python(wildcards, output)
    return str(own) if python != "python" and own.exists() else python


def get_checkpoint(wildcards):
    """Return which checkpoint a model is, as one value: its source, and its revision (empty: the newest)."""
    entry = STUDY.registry_entry(wildcards.model)
    return {"source": entry["source"], "revision": entry.get("revision") or ""}


def get_checkpoints():
    """Return the models of the study whose checkpoints vLLM loads."""
    return list(
        dict.fromkeys(ask["model"] for ask in STUDY.asked() if ask["engine"] == "vllm")
    )


def get_checkpoint_files(wildcards):
    """Return the files of the checkpoint that this workflow trains itself, the control model's."""
    made = rules.train_control.output.weights
    return (
        [made] if Path(get_checkpoint(wildcards)["source"]) == Path(made).parent else []
    )


def get_control_arms():
    """Return the arms in which the control model is asked, with its files of responses."""
    return {
        arm: get_shards(arm, "control")
        for arm in STUDY.arms_from("model")
        if "control" in STUDY.models(arm)
    }


def get_control_norms(wildcards):
    """Return what was planted in the control model, and where to look for what was recovered, as one value."""
    norms, t_val = STUDY.settings["norms"], STUDY.t_val("control")
    return {
        "arms": get_control_arms(),
        "norms": load_planted(ROOT, "control"),
        "factors": list(STUDY.dataset("iot").factors),
        "kept": status_column(t_val, norms["t_maj"]),
        "seed": CONTROL_SEED,
    }


def get_whole_spec(wildcards):
    """Return the spec of a model in an arm as if it were asked in one shard."""
    return make_spec(STUDY, wildcards.arm, wildcards.model, "1-of-1")


def get_raw_file(wildcards):
    """Return the raw CSV file of a model in an arm that takes its responses from there."""
    return STUDY.raw_file(wildcards.arm, wildcards.model)


def get_shards(arm, model):
    """Return the files of responses of one model in one arm."""
    return [
        f"{RESULTS}/responses/{arm}/{model}/{shard}.parquet"
        for shard in shards_of(STUDY, arm, model)
    ]


def get_responses(wildcards):
    """Return the shards of one model in one arm."""
    return get_shards(wildcards.arm, wildcards.model)


def get_asked_files(wildcards):
    """Return every file of responses that a model of the study gave."""
    return [
        path for ask in STUDY.asked() for path in get_shards(ask["arm"], ask["model"])
    ]


def get_asked(wildcards):
    """Return which models were asked in which arms, with their files of responses."""
    pairs = [(ask["arm"], ask["model"]) for ask in STUDY.asked()]
    return [
        {"arm": arm, "model": model, "responses": get_shards(arm, model)}
        for arm, model in pairs
    ]


def get_overrides(wildcards):
    """Return the file of answers that a person has read, where the study names one."""
    return [STUDY.settings["overrides"]] if STUDY.settings["overrides"] else []


def get_entry(wildcards):
    """Return everything of the study that an analysis, figure or printed table depends on, as one value."""
    sections = {"analysis": "analyses", "figure": "figures", "printed": "printed"}
    made = next(w for w in sections if hasattr(wildcards, w))
    return STUDY.entry(sections[made], getattr(wildcards, made))


def get_entry_code(wildcards):
    """Return the digest of the code that makes an analysis, figure or printed table."""
    entry = get_entry(wildcards)
    kind = KINDS[entry["section"]][entry["kind"]]
    return code_of(MAKES[entry["section"]], f"cinorms.{kind.module}")


def get_entry_inputs(wildcards):
    """Return what an analysis, figure or printed table is made from, by name."""
    entry = get_entry(wildcards)
    return inputs_of(KINDS[entry["section"]][entry["kind"]], entry, RESULTS)
