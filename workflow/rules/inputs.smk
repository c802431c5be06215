# Input and parameter functions of the rules, in the order of the stages: what needs the study and the wildcards.
# `local` marks a file of the user's: a module's `prefix` moves results, not these files.


def get_dataset_files(wildcards):
    """Return the YAML file of a dataset, and the files that it names by a path."""
    return STUDY.dataset(wildcards.dataset).inputs()


def get_null_principle(wildcards):
    """Tell whether a dataset has its flows without transmission principle in this study."""
    return STUDY.null_principle(wildcards.dataset)


def get_prompts_file(wildcards):
    """Return the file that holds the templates of an arm; for the plan, the one that declares them."""
    name = STUDY.arms[wildcards.arm].prompts
    return get_declared(name) if wildcards.planned else local(STUDY.prompts_file(name))


def get_declared(prompt_set):
    """Return the YAML file that declares a prompt set, or is the prompt set itself."""
    return str(ROOT.names("prompts")[prompt_set])


def get_paraphrase_request(prompt_set):
    """Return a function that returns the request to a paraphraser as one value: Snakemake fills in braces of a text."""

    def get_request(wildcards):
        return json.dumps(AWAITED[prompt_set])

    return get_request


def get_paraphraser_environment(prompt_set):
    """Return what names the environment of the paraphraser that a prompt set awaits."""
    return paraphraser_environment(AWAITED[prompt_set]["paraphraser"]["engine"])


def get_planned_variants(arm):
    """Return the variants of an arm for the plan, which asks no paraphraser and waits for no reader either."""
    name = STUDY.arms[arm].prompts
    awaited = name in AWAITED or STUDY.prompt_set(name).waits
    return (
        f"{RESULTS}/prompts/{arm}.planned.parquet"
        if awaited
        else f"{RESULTS}/prompts/{arm}.parquet"
    )


def get_pilot():
    """Return the pilot's answers to what this study asks and its prompts, by arm and model; None without a pilot."""
    pilot = STUDY.settings.plan.pilot
    if not pilot:
        return None
    pairs = [(ask["arm"], ask["model"]) for ask in STUDY.asked()]
    found = [
        (
            (arm, model),
            [
                f"results/{pilot}/{name}.parquet"
                for name in (f"answers/{arm}/{model}", f"prompts/{arm}")
            ],
        )
        for arm, model in pairs
    ]
    return [
        (pair, paths)
        for pair, paths in found
        if all(Path(placed(path)).exists() for path in paths)
    ]


def get_placed_pilot():
    """Return what `get_pilot` does, as a parameter."""
    pilot = get_pilot()
    return pilot and [(pair, list(map(placed, paths))) for pair, paths in pilot]


def get_norm_warnings():
    """Return the plan's warnings where too little is asked to hold norms."""
    room = norm_room(STUDY)
    return ["No norm can be held.", *room.texts] if room.none_at_all else room.texts


def get_left(wildcards):
    """Return in words what a run would still ask; None where a module's `prefix` moves the results."""
    here = placed(RESULTS) == RESULTS
    return summary(STUDY, left_to_ask(STUDY)) if here else None


def get_variant_counts(wildcards):
    """Return the numbers of templates and orders of an arm."""
    return {
        "templates": STUDY.templates(wildcards.arm),
        "orders": STUDY.arms[wildcards.arm].orders.count,
    }


def get_arm(wildcards):
    """Return the settings of an arm."""
    return STUDY.arms[wildcards.arm].plain()


def get_scale(wildcards):
    """Return what a job is told of the answer scale of an arm."""
    return STUDY.scale(wildcards.arm).known


def get_vignettes(wildcards):
    """Return the vignettes that an arm asks about."""
    return f"{RESULTS}/vignettes/{STUDY.arms[wildcards.arm].dataset}.parquet"


def get_control_arms():
    """Return the arms in which the control model is asked, with its files of responses."""
    return {
        arm: get_shards(arm, "control")
        for arm in STUDY.arms_from("model")
        if "control" in STUDY.models(arm)
    }


def get_control_norms(wildcards):
    """Return what was planted in the control model, and where to look for what was recovered, as one value."""
    return {
        "arms": {
            arm: list(map(placed, paths)) for arm, paths in get_control_arms().items()
        },
        "norms": load_planted(ROOT, "control"),
        "factors": list(STUDY.dataset("iot").factors),
        "scale": STUDY.dataset("iot").scale,
        "thresholds": STUDY.thresholds_of("control")._asdict(),
        "seed": CONTROL_SEED,
    }


def get_release_files(wildcards):
    """Return the YAML file of the release that an arm's answers come from, and the file it names by a path."""
    name, frame = STUDY.arms[wildcards.arm].frame.split(SEPARATOR)
    return STUDY.release(name).inputs(frame)


def get_survey_files(wildcards):
    """Return the YAML file of the survey that an arm of people takes its ratings from, and the CSV file it names by a path."""
    return STUDY.survey(wildcards.arm).inputs()


def get_question(wildcards):
    """Return what decides which ratings an arm of people takes, as one value."""
    arm = STUDY.arms[wildcards.arm]
    survey, question = split_name(arm.ratings)
    return {
        "survey": survey,
        "question": question,
        "text": STUDY.question(wildcards.arm).text,
        "levels": list(STUDY.scale(wildcards.arm).levels),
        "select": arm.plain()["select"],
    }


def get_rated(wildcards):
    """Return the answers of the people of an arm."""
    return [
        f"{RESULTS}/answers/{wildcards.arm}/{model}.parquet"
        for model in STUDY.models(wildcards.arm)
    ]


def get_raw_file(wildcards):
    """Return the raw CSV file of a model in an arm that takes its responses from there."""
    return local(STUDY.raw_file(wildcards.arm, wildcards.model))


def get_shards(arm, model):
    """Return the files of responses of one model in one arm."""
    return [
        f"{RESPONSES}/{arm}/{model}/{shard}.parquet"
        for shard in shards_of(STUDY, arm, model)
    ]


def get_repeats(arm, model):
    """Return the files of responses of one model in the further askings of one arm."""
    return [
        f"{RESPONSES}/{arm}/{model}/{shard}.parquet"
        for shard in repeated_shards_of(STUDY, arm, model)
    ]


def get_repeated_responses(wildcards):
    """Return the shards of one model in the further askings of one arm."""
    return get_repeats(wildcards.arm, wildcards.model)


def get_responses(wildcards):
    """Return the shards of one model in one arm."""
    return get_shards(wildcards.arm, wildcards.model)


def get_all_responses():
    """Return the files of responses of every model in every arm whose answers are read here."""
    return [
        path
        for arm in STUDY.arms_from(*READ_HERE)
        for model in STUDY.models(arm)
        for path in get_shards(arm, model)
    ]


def make_wanted_entry(wildcards):
    """Return the analysis, figure or printed table that the wildcards name."""
    section, made = next((s, w) for s, w, _ in MADE if hasattr(wildcards, w))
    return make_entry(STUDY, section, getattr(wildcards, made))


def get_entry(wildcards):
    """Return everything of the study that an analysis, figure or printed table depends on, as one value."""
    return make_wanted_entry(wildcards).plain()


def get_norms_entry(wildcards):
    """Return everything of the study that the table of all norms depends on, as one value."""
    return norms_entry(STUDY).plain()


def get_norms_inputs(wildcards):
    """Return what the table of all norms is made from, by name."""
    return inputs_of(norms_entry(STUDY), RESULTS)


def get_entry_code(wildcards):
    """Return the digest of the code that makes an analysis, figure or printed table."""
    entry = make_wanted_entry(wildcards)
    script = next(s for section, _, s in MADE if section == entry.section)
    return code_of(script, entry.declared.module)


def get_entry_inputs(wildcards):
    """Return what an analysis, figure or printed table is made from, by name."""
    found = inputs_of(make_wanted_entry(wildcards), RESULTS)
    return {
        name: list(map(local, paths)) if name == "expected" else paths
        for name, paths in found.items()
    }
