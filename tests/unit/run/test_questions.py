"""The page of questions names kinds, files and columns that there are, and every kind; studies set every option."""

import re
from pathlib import Path

import pytest

from cinorms.core.yaml_files import load_yaml
from cinorms.entries.kind import kinds

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/questions.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("|") and "?" in line.split("|")[1]
]
#: Where each column of the page points to.
PLACES = {"analyses": (1, "tables", "csv"), "figures": (2, "figures", "png")}


def named(section: str, cell: str) -> list[str]:
    return [name for name in re.findall(r"`(\w+)`", cell) if name in kinds(section)]


def test_there_are_rows():
    assert len(ROWS) > 30
    assert all(len(row) == 4 for row in ROWS)
    assert all(row[0].endswith("?") for row in ROWS)


@pytest.mark.parametrize("section", PLACES)
def test_every_kind_answers_a_question_and_every_name_is_a_kind(section):
    at = PLACES[section][0]
    found = [kind for row in ROWS for kind in named(section, row[at])]
    assert set(found) == set(kinds(section))
    assert all(len(named(section, row[at])) == (0 if row[at] == "-" else 1) for row in ROWS)


@pytest.mark.parametrize("section", PLACES)
def test_every_file_is_one_that_the_default_study_makes_with_that_kind(section):
    at, folder, ending = PLACES[section]
    entries = load_yaml(ROOT / "config/config.yaml")[section]
    files = [
        (named(section, row[at]), row[at].rpartition(", ")[2].strip("`"))
        for row in ROWS
        if row[at].endswith("`") and ", " in row[at]
    ]
    assert len(files) >= 7
    for (kind,), file in files:
        if file == "norms.csv":
            assert kind == "flow_norms", "every study has it"
            continue
        name = re.fullmatch(rf"{folder}/([\w-]+)\.{ending}", file)
        assert name, file
        assert entries[name[1]]["kind"] == kind
    shown = {kind for (kind,), _ in files}
    assert {entry["kind"] for entry in entries.values()} <= shown, "the default study's entries are all here"


def test_every_column_to_read_is_one_of_the_table():
    for row in ROWS:
        # What only a figure answers is in the data next to it.
        section = "figures" if row[1] == "-" else "analyses"
        (kind,) = named(section, row[PLACES[section][0]])
        columns = set(kinds(section)[kind].columns)
        for name in re.findall(r"`(\w+)`", row[3]):
            assert name in columns, f"{kind} has no column {name}"


def test_every_option_of_a_kind_is_set_in_a_study_of_this_repository():
    """An option is that of the class that declares it: what kinds share one of them has to set."""
    studies = [*ROOT.glob("config/*.yaml"), *ROOT.glob("examples/*/*.yaml")]
    declared, stated = set(), set()
    for section in ("analyses", "figures", "printed"):
        entries = [entry for path in studies for entry in (load_yaml(path).get(section) or {}).values()]
        for name, kind in kinds(section).items():
            given = {key for entry in entries if entry["kind"] == name for key in entry}
            for options in kind.options.__mro__:
                for option in vars(options).get("__annotations__", {}):
                    if field := kind.options.model_fields.get(option):
                        declared.add((options.__name__, option))
                        stated |= {(options.__name__, option)} if {option, field.alias} & given else set()
    assert len(declared) > 20
    assert declared == stated
