# What every stage shares: the study's files and values, how rules call them, and wildcard constraints.
import json
import shlex
from inspect import signature

from cinorms.core.digest import code_digest
from cinorms.exchange.registry import format_modules
from cinorms.inference.engine_kind import engine_kinds, engine_modules
from cinorms.inference.questions import SHARD
from cinorms.report.words import closing_words
from cinorms.rules.resources import resources_of
from cinorms.rules.values import StudyValues, pattern
from cinorms.study.requests import (
    arms_of,
    paraphraser_environment,
    shards_of,
)
from cinorms.study.study import READ_HERE

SCRIPTS = LIBRARY.parent / "scripts"
# Every path, input and parameter that is looked up in the study.
VALUES = StudyValues(STUDY, local, INSIDE.placed)
RESULTS = VALUES.results


def of(method):
    """Return `method` as Snakemake calls an input or parameter function: its arguments are wildcards, by their names."""
    names = signature(method).parameters

    def get(wildcards):
        return method(**{k: v for k, v in wildcards.items() if k in names})

    return get


def unrecorded(method):
    """Return `of(method)`, for a parameter whose change must not run a job again: it takes `output`."""

    def get(wildcards, output):
        return of(method)(wildcards)

    return get


def code_of(rule, *modules):
    """Return the digest of a rule's script, of ``modules``, and of every module of the library they import."""
    return code_digest(SCRIPTS / f"{rule}.py", *modules)


def code_of_entry(rule):
    """Return the digest of the code that makes an analysis, figure or printed table: of its rule and of its kind."""

    def get_code(wildcards):
        return code_of(rule, of(VALUES.entry)(wildcards).declared.module)

    return get_code


def get_env(name):
    """Return the file of an environment, for the directive `conda`."""
    return str(PROJECT / "envs" / f"{name}.yaml")


def get_python_in(virtual_environment):
    """Return a function that gives a job's Python: conda's, else that of a virtual environment, else this one."""
    # Where the study runs, for a project that was fetched: in a cache nobody makes one.
    places = [Path.cwd(), PROJECT] if virtual_environment else []
    own = [place / virtual_environment / "bin" / "python" for place in places]

    def get_python():
        if INSIDE.uses_conda:
            # Snakemake takes PYTHONPATH from jobs in conda.
            return f"PYTHONPATH={shlex.quote(str(LIBRARY))} python"
        return shlex.quote(
            str(next((python for python in own if python.exists()), sys.executable))
        )

    return unrecorded(get_python)


# Read before any job runs: a prompt set that has been frozen is a file like any other, and no rule makes it.
AWAITED = STUDY.awaited()
NORMS = f"{RESULTS}/norms.csv"
DICTIONARY = f"{RESULTS}/dictionary.csv"
REPORT = f"{RESULTS}/report/index.html"
PROVENANCE = f"{RESULTS}/provenance.json"
# What a job may spend follows from the plan; another plan asks nothing again.
PLANNED = (
    {"plan": ancient(f"{RESULTS}/plan.csv")}
    if STUDY.settings.max_cost_usd is not None
    else {}
)
TABLES = VALUES.made_of("analyses", "csv")
PRINTED = VALUES.made_of("printed", "csv")
FIGURES = VALUES.made_of("figures", "png")
# The file of manually coded answers, and the sheet that a person filled in for the coder, where the study names them.
OVERRIDES = [local(STUDY.settings.overrides)] if STUDY.settings.overrides else []
CODED = [local(STUDY.settings.answers.coded)] if STUDY.settings.answers.coded else []
CODES = [f"{VALUES.coding}/codes.parquet"] if VALUES.coded_scales else []
ASKED_ARMS = pattern(STUDY.arms_from("model"))
# Arms whose variants are templates; those of the others are people.
WORDED_ARMS = pattern(STUDY.worded_arms())
# What is asked here or elsewhere can be exported: answers of other sources exist already.
EXPORTED_ARMS = STUDY.arms_from("model", "responses")
if STUDY.settings.mirror:
    # Where files come from must not be a parameter of a rule: moving the mirror would run everything again.
    os.environ.setdefault("CINORMS_MIRROR", str(Path(STUDY.settings.mirror).absolute()))


wildcard_constraints:
    study=STUDY.name,
    dataset="|".join(STUDY.datasets()),
    arm="|".join(STUDY.arms),
    model=pattern(STUDY.all_models()),
    shard=SHARD,
    analysis=pattern(STUDY.settings.analyses),
    figure=pattern(STUDY.settings.figures),
    printed=pattern(STUDY.settings.printed),


def get_command(wildcards, output):
    """Return the command that rebuilds a file of this study. Taking `output` keeps another path from
    running the job again."""
    default = PROJECT / "config" / "config.yaml"
    files = [
        os.path.relpath(file)
        for file in INSIDE.given_files
        if Path(file).resolve() != default.resolve()
    ]
    snakefile = os.path.relpath(INSIDE.snakefile)
    # `make` installs Snakemake into a folder of the project, which is on nobody's PATH.
    program = Path(sys.executable).with_name("snakemake")
    here = program.is_relative_to(Path.cwd())
    parts = [f"{os.path.relpath(program) if here else 'snakemake'} --cores all"]
    if snakefile not in ("Snakefile", "workflow/Snakefile"):
        parts.append(f"--snakefile {shlex.quote(snakefile)}")
    parts += [f"--configfile {shlex.join(files)}"] if files else []
    config = [f"{name}={value}" for name, value in INSIDE.given_config.items()]
    parts += [f"--config {shlex.join(config)}"] if config else []
    return " ".join([*parts, "--force --"])


def get_closing_words():
    """Return what the report says first, and where the results are that this run made or found up to date."""
    places = {
        "Comparison": [f"{RESULTS}/index.html"],
        "People": [f"{RESULTS}/people/index.html"],
        "Report": [REPORT],
        "Norms": [NORMS],
        "Tables": TABLES,
        "As printed": PRINTED,
        "Figures": FIGURES,
        "Not matched": VALUES.unmatched(),
    }
    left_out = f"{len(STUDY.left_out)} default tables and figures do not fit this study: left out (`make check` says why)"
    mark = STUDY.mark(STUDY.all_models())
    words = closing_words(
        places, INSIDE.files, mark, left_out if STUDY.left_out else ""
    )
    if REPORT not in INSIDE.files:
        return words
    # Not above: a study is loaded without SciPy.
    from cinorms.report.screen import closing_lines

    cards = [
        json.loads(Path(f"{RESULTS}/cards/{model}.json").read_text(encoding="utf-8"))
        for model in STUDY.all_models()
    ]
    return "\n".join(["", *closing_lines(cards)]) + words
