# What every stage shares: what the study makes, and wildcard constraints.
import json
import re
import shlex

from snakemake.settings.types import DeploymentMethod

from cinorms.core.digest import code_digest
from cinorms.entries.files import inputs_of
from cinorms.human.survey import split_name
from cinorms.inference.engine_kind import engine_kinds, engine_modules
from cinorms.inference.shards import PATTERN as SHARD_PATTERN
from cinorms.inference.wheels import is_in_wheels, name_of
from cinorms.planted.respondents import load_planted
from cinorms.published.releases import SEPARATOR
from cinorms.report.closing import closing_words
from cinorms.study.entries import make_entry, norms_entry
from cinorms.study.norm_room import norm_room
from cinorms.study.spec import (
    all_shards_of,
    journal_of,
    make_spec,
    make_tuning,
    paraphraser_environment,
    repeated_shards_of,
    shards_of,
    spending_folder,
)

from cinorms.study.study import READ_HERE

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
    return str(PROJECT / "envs" / f"{name}.yaml")


RESULTS = f"results/{STUDY.name}"
RESPONSES = f"{RESULTS}/responses"
# Read before any job runs: a prompt set that has been frozen is a file like any other, and no rule makes it.
AWAITED = STUDY.awaited()
NORMS = f"{RESULTS}/norms.csv"
DICTIONARY = f"{RESULTS}/dictionary.csv"
REPORT = f"{RESULTS}/report/index.html"
PROVENANCE = f"{RESULTS}/provenance.json"
TABLES = [f"{RESULTS}/tables/{name}.csv" for name in STUDY.settings.analyses]
PRINTED = [f"{RESULTS}/printed/{name}.csv" for name in STUDY.settings.printed]
PLANTED = [
    f"{RESULTS}/planted/{ask['arm']}/{ask['model']}.json"
    for ask in STUDY.asked()
    if ask["model"] in STUDY.planted()
]
# The file of manually coded answers, where the study names one.
OVERRIDES = [local(STUDY.settings.overrides)] if STUDY.settings.overrides else []
# The sheet that a person filled in for the coder, where the study names one.
CODED = [local(STUDY.settings.answers.coded)] if STUDY.settings.answers.coded else []
FIGURES = [f"{RESULTS}/figures/{name}.png" for name in STUDY.settings.figures]
ASKED_ARMS = "|".join(STUDY.arms_from("model")) or "(?!)"
# Arms whose variants are templates; those of the others are people.
WORDED_ARMS = "|".join(STUDY.worded_arms()) or "(?!)"
if STUDY.settings.mirror:
    # Where files come from must not be a parameter of a rule: moving the mirror would run everything again.
    os.environ.setdefault("CINORMS_MIRROR", str(Path(STUDY.settings.mirror).absolute()))


wildcard_constraints:
    study=STUDY.name,
    dataset="|".join(STUDY.datasets()),
    arm="|".join(STUDY.arms),
    model="|".join(map(re.escape, STUDY.all_models())),
    shard=SHARD_PATTERN,
    analysis="|".join(STUDY.settings.analyses) or "(?!)",
    figure="|".join(STUDY.settings.figures) or "(?!)",
    printed="|".join(STUDY.settings.printed) or "(?!)",


def get_closing_words():
    """Return where the results are that this run made or found up to date."""
    made = {str(file) for job in workflow.dag.jobs for file in job.output}
    places = {
        "Comparison": [f"{RESULTS}/index.html"],
        "Report": [REPORT],
        "Norms": [NORMS],
        "Tables": TABLES,
        "As printed": PRINTED,
        "Figures": FIGURES,
        "Not matched": get_unmatched(),
    }
    return closing_words(places, made, STUDY.mark(STUDY.all_models()))
