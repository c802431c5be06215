"""What re-runs when something is changed: exactly what can come out differently, and nothing above it."""

import copy
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cinorms.entries.kind import kinds

from ..snakemake_runs import COMMAND, run
from .conftest import PROMPTS, SMALL, Project

#: The study of `conftest`, and one of each file that a study can name.
STUDY: dict[str, Any] = {
    **SMALL,
    "models": ["planted-gpt-4o-mini"],
    "arms": {**SMALL["arms"], "own": {"dataset": "doors", "prompts": "short", "orders": {"count": 1}}},
    "overrides": "read.csv",
    "analyses": {
        "answers": {"kind": "answer_counts", "arms": ["main"]},
        "law": {"kind": "privacy_bias", "arms": ["main"], "expected": "law.csv"},
    },
    "figures": {
        "distribution": {"kind": "distribution", "arms": ["main"]},
        "held": {"kind": "norm_distribution", "arms": ["main"]},
    },
    "printed": {"models": {"kind": "models"}},
}
FILES = {
    "read.csv": "text,level\nneutral,-2\n",
    "law.csv": "recipient,expected\nthe local police,-2\n",
    "resources/vignettes/doors.csv": "text,who,whom\nA door tells a shop,door,shop\nA lock tells a shop,lock,shop\n",
}
DOORS = {
    "title": "Doors",
    "context": "smart home",
    "scale": "acceptability",
    "source": "csv",
    "origin": {"citation": "made for a test", "licence": "MIT"},
    "files": {"vignettes": {"url": "doors.csv"}},
    "columns": {"vignette": "text", "factors": {"sender": "who", "recipient": "whom"}},
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project in which the study has been run; tests leave it as it was."""
    done = Project(tmp_path_factory.mktemp("reruns") / "project")
    for name, text in FILES.items():
        (done.folder / name).write_text(text, encoding="utf-8")
    done.write("resources/vignettes/doors.yaml", DOORS)
    done.write("resources/prompts/short.yaml", PROMPTS)
    done.write("tiny.yaml", STUDY)
    done.run("--configfile", "tiny.yaml")
    return done


@contextmanager
def edited(path: Path, change: Callable[[str], str]) -> Iterator[None]:
    """Change a file and put it back as it was, its time included."""
    text, before = path.read_text(encoding="utf-8"), path.stat()
    assert change(text) != text
    path.write_text(change(text), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def planned(project: Project, study: dict[str, Any] | None = None) -> dict[str, int]:
    """Return the rules that would run, with the number of their jobs; without those that only collect files."""
    project.write("changed.yaml", study or STUDY)
    printed = project.run("-n", "--quiet", "rules", "--configfile", "changed.yaml")
    found = re.findall(r"^(\w+)\s+(\d+)$", printed, flags=re.MULTILINE)
    return {name: int(count) for name, count in found if name not in ("total", "all", "default")}


def test_a_second_run_does_nothing(finished):
    # A process of its own, so that sets come in another order.
    assert "Nothing to be done" in run([*COMMAND, "--configfile", "tiny.yaml"], finished.folder)


def test_nothing_re_runs_where_a_module_or_a_rule_is_only_touched(finished):
    workflow = finished.folder / "workflow"
    for path in (*(workflow / "lib").rglob("*.py"), *(workflow / "rules").iterdir()):
        path.touch()
    assert planned(finished) == {}


def test_responses_that_somebody_deleted_are_made_again(finished):
    path = finished.folder / "results/tiny/responses/main/planted-gpt-4o-mini.parquet"
    away = path.with_suffix(".away")
    path.rename(away)
    try:
        assert planned(finished)["ask_planted"] == 1
    finally:
        away.rename(path)


# --- A change of the study


def value(*keys: str, to: object) -> Callable[[dict[str, Any]], None]:
    """Return a change of a study: what stands at ``keys`` becomes ``to``."""

    def change(study: dict[str, Any]) -> None:
        for key in keys[:-1]:
            study = study[key]
        study[keys[-1]] = to

    return change


#: What is made from norms, under thresholds.
JUDGED = {
    **dict.fromkeys(("draw_figure", "list_norms"), 1),
    **dict.fromkeys(("make_table", "predict_norms"), 2),
    **dict.fromkeys(("describe_study", "describe_tables", "write_cards", "write_report"), 1),
}
#: What is made from the answers of each of the two arms, or of one.
ASSESSED = {"assess_norms": 2, **JUDGED}
#: Tables that every study has: of answers, and of norms.
ALWAYS, OF_NORMS = 5, 1
#: The same and what is made from answers alone.
ANSWERED = {**ASSESSED, "make_table": 2 + ALWAYS + OF_NORMS, "draw_figure": 2}
#: What every new response is taken up in.
ONE_ARM = {
    **dict.fromkeys(("ask_planted", "preview_prompts", "gather_provenance"), 1),
    **dict.fromkeys(("read_answers", "write_replies", "check_overrides", "assess_norms"), 1),
    **dict.fromkeys(("predict_norms", "list_norms"), 1),
    "make_table": ALWAYS + OF_NORMS,
    **dict.fromkeys(("describe_study", "describe_tables", "write_cards", "write_report"), 1),
}
STUDIES: dict[str, tuple[Callable[[dict[str, Any]], None], dict[str, int]]] = {
    "a figure's title": (
        value("figures", "held", "title", to="Norms held"),
        {"draw_figure": 1, "describe_study": 1, "describe_tables": 1, "write_report": 1},
    ),
    "t_val": (value("norms", "t_val", to=2), JUDGED),
    "consensus": (value("norms", "consensus", to="papers"), ASSESSED),
    "a model added": (
        value("models", to=[*STUDY["models"], "planted-constant-position"]),
        {
            **dict.fromkeys(("ask_planted", "read_answers", "write_replies"), 2),
            **dict.fromkeys(("gather_provenance", "check_overrides", "print_table"), 1),
            **ANSWERED,
        },
    ),
    "an arm added": (
        value("arms", "again", to={**STUDY["arms"]["main"], "templates": 3}),
        {"list_variants": 1, **ONE_ARM},
    ),
}


@pytest.mark.parametrize("change", STUDIES)
def test_a_changed_study_re_runs(finished, change):
    study = copy.deepcopy(STUDY)
    apply, expected = STUDIES[change]
    apply(study)
    assert planned(finished, study) == expected


# --- A change of a file


def to(old: str, new: str) -> Callable[[str], str]:
    """Return a change of a text."""
    return lambda text: text.replace(old, new)


def module_of(section: str, kind: str) -> str:
    return f"{kinds(section)[kind].module.removeprefix('cinorms.').replace('.', '/')}.py"


def unchanged(made: dict[str, int]) -> dict[str, int]:
    """Return what is made again where the study itself is as it was."""
    return {rule: n for rule, n in made.items() if rule != "describe_study"}


MODULES = "workflow/lib/cinorms"
EDIT = to('"""\n\n', '"""\n\n# Edited.\n')
EDITS: dict[str, tuple[str, Callable[[str], str], dict[str, int]]] = {
    "a dataset": (
        "resources/vignettes/doors.yaml",
        to("Doors", "More doors"),
        {"expand_vignettes": 1, **ONE_ARM},
    ),
    "a template added": (
        "resources/prompts/short.yaml",
        to("templates:\n", "templates:\n- 'So: {scenario}? {options}'\n"),
        {"list_variants": 1, **{rule: n for rule, n in ONE_ARM.items() if rule != "describe_study"}},
    ),
    "answers that a person read": (
        "read.csv",
        to("-2", "-1"),
        unchanged({"read_answers": 2, "write_replies": 2, "check_overrides": 1, **ANSWERED}),
    ),
    # The figures `distribution` and `norm_distribution` are of one module, which draws the counts of `answer_counts`.
    "the module of an analysis": (
        f"{MODULES}/{module_of('analyses', 'answer_counts')}",
        EDIT,
        {"make_table": 1, "draw_figure": 2, "describe_tables": 1, "write_report": 1},
    ),
    # With its package, and with nothing that is made before pages.
    "a module of the report": (
        f"{MODULES}/report/words.py",
        EDIT,
        {**dict.fromkeys(("describe_tables", "write_cards", "write_report"), 1), "write_replies": 2},
    ),
}


@pytest.mark.parametrize("change", EDITS)
def test_an_edited_file_re_runs(finished, change):
    """For every other package `tests/unit/core/test_digest.py` says the same without running Snakemake."""
    file, apply, expected = EDITS[change]
    with edited(finished.folder / file, apply):
        assert planned(finished) == expected
