# What every stage shares: the library on the path, the checked study, what it makes, and wildcard constraints.
import json
import os
import re
import shlex
import sys
from pathlib import Path

LIBRARY = (
    Path(workflow.current_basedir.get_path_or_uri(secret_free=True)).parent / "lib"
)
sys.path.insert(0, str(LIBRARY))
shell.prefix(
    f"set -euo pipefail; export PYTHONPATH={shlex.quote(str(LIBRARY))}${{{{PYTHONPATH:+:$PYTHONPATH}}}}; "
)

from snakemake.settings.types import DeploymentMethod

from cinorms.core.digest import code_digest
from cinorms.core.errors import CinormsError
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
from cinorms.study.norm_room import norm_room
from cinorms.study.spec import (
    journals_folder,
    make_spec,
    make_tuning,
    paraphraser_environment,
    shards_of,
    spending_folder,
)
from cinorms.core.validation import load_yaml

ROOT = Root(LIBRARY.parents[1])
SCRIPTS = LIBRARY.parent / "scripts"
# The entries of a study: each section with the wildcard that names one of them and the rule that makes it.
MADE = (
    ("analyses", "analysis", "make_table"),
    ("figures", "figure", "draw_figure"),
    ("printed", "printed", "print_table"),
)


def code_of(rule, *modules):
    """Return the digest of a rule's script, of ``modules``, and of every module of the library they import."""
    return code_digest(SCRIPTS / f"{rule}.py", *modules)


def get_env(name):
    """Return the file of an environment, for the directive `conda`."""
    return str(ROOT.folder / "envs" / f"{name}.yaml")


def get_study():
    """Return the study that --configfile and --config ask for, or end with one message."""
    given = workflow.config_settings
    files = [ROOT.folder / "config" / "config.yaml", *map(Path, given.configfiles)]
    try:
        layers = [
            Layer(ROOT.shown(file), load_yaml(file)) for file in dict.fromkeys(files)
        ]
        return load_study([*layers, Layer("--config", dict(given.config))], ROOT)
    except CinormsError as error:
        print(f"\nThe study cannot run.\n{error}\n", file=sys.stderr)
        raise SystemExit(1) from None


STUDY = get_study()
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
    prompt_set="|".join(map(re.escape, AWAITED)) or "(?!)",


def get_closing_words():
    """Say where the results are; nothing where this run was not meant to make them."""
    if not Path(REPORT).exists():
        return ""
    mark = f"\n  {PLANTED_MARK}" if STUDY.is_planted() else ""
    return f"\n  Report   {REPORT}\n  Tables   {RESULTS}/tables/\n  Figures  {RESULTS}/figures/{mark}\n"
