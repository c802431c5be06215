# What every stage shares: the checked study, what it makes, and wildcard constraints.
import json
import re
import shlex
from collections.abc import Mapping

from snakemake.settings.types import DeploymentMethod

from cinorms.core.digest import code_digest
from cinorms.core.errors import CinormsError, ConfigError
from cinorms.core.labels import PLANTED_MARK
from cinorms.entries.files import inputs_of
from cinorms.inference.engine_kind import engine_kinds, engine_modules
from cinorms.inference.wheels import is_in_wheels, name_of
from cinorms.planted.norms import load_planted
from cinorms.published.releases import SEPARATOR
from cinorms.study.entries import make_entry
from cinorms.study.layers import Layer
from cinorms.study.root import Root
from cinorms.study.load import load_study
from cinorms.study.spec import (
    journals_folder,
    make_spec,
    make_tuning,
    paraphraser_environment,
    shards_of,
    spending_folder,
)
from cinorms.study.settings import StudySettings
from cinorms.core.validation import load_yaml, unknown

# As a module, the caller's `prefix` or `replace_prefix`.
PLACES = workflow.modifier.path_modifier
IS_MODULE = not workflow.modifier.is_main_snakefile()
SCRIPTS = LIBRARY.parent / "scripts"
# The entries of a study: each section with the wildcard that names one of them and the rule that makes it.
MADE = (
    ("analyses", "analysis", "make_table"),
    ("figures", "figure", "draw_figure"),
    ("printed", "printed", "print_table"),
)


def placed(path):
    """Return `path` where a module's `prefix` puts it, for a parameter: Snakemake itself looks at files only."""
    return PLACES.replace_prefix(path)


def code_of(rule, *modules):
    """Return the digest of a rule's script, of ``modules``, and of every module of the library they import."""
    return code_digest(SCRIPTS / f"{rule}.py", *modules)


def get_env(name):
    """Return the file of an environment, for the directive `conda`."""
    return str(PROJECT / "envs" / f"{name}.yaml")


def get_layers(project):
    """Return the settings that were given, on top of the defaults: the later ones win."""
    default = PROJECT / "config" / "config.yaml"
    if IS_MODULE:
        files, given = [default], Layer(get_module_place(), get_module_config())
    else:
        files = [default, *map(Path, get_config_files())]
        given = Layer("--config", dict(workflow.config_settings.config))
    layers = [
        Layer(project.shown(file), load_yaml(file)) for file in dict.fromkeys(files)
    ]
    return [*layers, given]


def get_config_files():
    """Return the files of `configfile:` in a Snakefile that includes this one, then those of --configfile."""
    settings = workflow.config_settings
    given = list(settings.configfiles)
    own = workflow.configfiles[len(given) :]
    return given if settings.replace_workflow_config else [*own, *given]


def get_module_place():
    """Return how messages name the `config:` of a module, with the files that it may be from."""
    files = ", ".join(map(os.path.relpath, workflow.configfiles))
    return f"config of module {workflow.modifier.namespace!r}" + (
        f" ({files})" if files else ""
    )


def get_module_config():
    """Return the settings that the caller gives the module; refuse none, and a file of other things."""
    if not isinstance(config, Mapping) or not config.get("study"):
        has = ", ".join(config) if isinstance(config, Mapping) and config else "nothing"
        raise ConfigError(
            f"{get_module_place()}: key 'study' is missing; the module has {has}. Give it a study, "
            "`config: config` or one section\nof your config (`config: config[\"cinorms\"]`); "
            "`study: demo` alone is the default study"
        )
    for key in config:
        if key not in StudySettings.model_fields:
            hint = '; if your config has other keys too, give the module a section: `config: config["cinorms"]`'
            known = StudySettings.model_fields
            raise unknown(get_module_place(), key, key, known, "key", hint)
    return dict(config)


def get_study():
    """Return the study that was asked for, or end with one message."""
    try:
        results = Path(placed("results/study")).parent
        project = Root(PROJECT, results=results, is_fetched=IS_FETCHED)
        return load_study(get_layers(project), project)
    except CinormsError as error:
        refuse(error)


STUDY = get_study()
ROOT = STUDY.root
RESULTS = f"results/{STUDY.name}"
RESPONSES = f"{RESULTS}/responses"
# Read before any job runs: a prompt set that has been frozen is a file like any other, and no rule makes it.
AWAITED = STUDY.awaited()
REPORT = f"{RESULTS}/report/index.html"
PROVENANCE = f"{RESULTS}/provenance.json"
TABLES = [f"{RESULTS}/tables/{name}.csv" for name in STUDY.settings.analyses]
PRINTED = [f"{RESULTS}/printed/{name}.csv" for name in STUDY.settings.printed]
PLANTED = [
    f"{RESULTS}/planted/{ask['arm']}/{ask['model']}.json"
    for ask in STUDY.asked()
    if STUDY.registry_entry(ask["model"]).kind.planted
]
FIGURES = [f"{RESULTS}/figures/{name}.png" for name in STUDY.settings.figures]
ASKED_ARMS = "|".join(STUDY.arms_from("model")) or "(?!)"
if STUDY.settings.mirror:
    # Where files come from must not be a parameter of a rule: moving the mirror would run everything again.
    os.environ.setdefault("CINORMS_MIRROR", str(Path(STUDY.settings.mirror).absolute()))


wildcard_constraints:
    study=STUDY.name,
    dataset="|".join(STUDY.datasets()),
    arm="|".join(STUDY.arms),
    model="|".join(map(re.escape, STUDY.all_models())),
    shard=r"\d+-of-\d+",
    analysis="|".join(STUDY.settings.analyses) or "(?!)",
    figure="|".join(STUDY.settings.figures) or "(?!)",
    printed="|".join(STUDY.settings.printed) or "(?!)",


def get_closing_words():
    """Say where the results are; nothing where this run was not meant to make them."""
    if not Path(REPORT).exists():
        return ""
    mark = f"\n  {PLANTED_MARK}" if STUDY.is_planted() else ""
    return f"\n  Report   {REPORT}\n  Tables   {RESULTS}/tables/\n  Figures  {RESULTS}/figures/{mark}\n"
