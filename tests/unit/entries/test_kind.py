"""Kinds: one declaration each, complete, from which schema, reference and page are derived."""

import inspect
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import get_args
from unittest.mock import patch

import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from cinorms.core.declared import declared
from cinorms.core.digest import package_of, used_by
from cinorms.core.errors import ConfigError
from cinorms.core.version import LIBRARY
from cinorms.core.yaml_files import load_yaml
from cinorms.entries.entry import Entry
from cinorms.entries.files import call
from cinorms.entries.kind import OWN, SECTIONS, Also, Kind, kinds, use_own
from cinorms.entries.options import OfFlows
from cinorms.report.appendix import SECTIONS as PAGE_SECTIONS
from cinorms.run.schemas import schemas

from ...entries import make_entry

ROOT = Path(__file__).parents[3]
NAMES = [(section, name) for section in SECTIONS for name in kinds(section)]


@pytest.mark.parametrize(("section", "name"), NAMES)
def test_a_declaration_is_complete(section, name):
    kind = kinds(section)[name]
    first, second, *others = inspect.signature(kind.function).parameters
    assert (first, second) in (("selected", "entry"), ("one", "entry"))
    assert set(others) <= {*get_args(Also)}
    assert kind.module.startswith(f"cinorms.{section}.")
    assert kind.about.endswith(".")
    assert set(kind.shown) <= set(kind.columns)
    assert all(about.endswith(".") for about in kind.columns.values())
    if section == "analyses":
        assert kind.columns
    if section != "printed":
        assert kind.report_section in PAGE_SECTIONS, "the page would not show what is made"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def (", r"wrong\.py cannot be loaded \(SyntaxError: .*`resources`"),
        ("import nosuch", r"wrong\.py cannot be loaded \(ModuleNotFoundError: .*'nosuch'"),
        ("from cinorms.analyses.counts import KINDS", "kind '.*' is declared in two modules .* another name"),
    ],
)
def test_a_mistake_in_a_kind_of_ones_own_is_told_as_such(tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)  # a folder is searched only where it is named
    (tmp_path / "analyses").mkdir()
    (tmp_path / "analyses/wrong.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv(OWN, "")
    use_own([tmp_path])
    try:
        with pytest.raises(ConfigError, match=words):
            kinds("analyses")
    finally:
        use_own([])
        kinds("analyses")
        sys.modules.pop("cinorms.analyses.wrong", None)


TABLE = pd.DataFrame([[1, 2, 3, 4, 5]], columns=["share", "sender", "arm", "recipient", "flow"])


def mine(selected, entry: Entry[OfFlows], prompts):
    return TABLE


def theirs(selected, entry: Entry[OfFlows], vignettes): ...


def test_a_kind_says_what_it_is_made_from_and_arranges_what_it_makes():
    columns = dict.fromkeys(["arm", "flow", "<factor>", "share", "status"], "")
    kind = Kind("mine", "Mine.", mine, "norms", key=("arm", "flow"), columns=columns)
    assert kind.made_from == ("vignettes", "prompts")
    assert replace(kind, function=theirs).made_from == ("vignettes",)
    assert [kind.sentence, replace(kind, key=()).sentence] == ["Mine. One row per arm and flow.", "Mine."]
    with patch.object(Entry, "declared", kind):
        table = call(make_entry("analyses", "delta", {}, [("main", "m")]), [], {"prompts": TABLE})
    assert list(table) == ["arm", "flow", "sender", "recipient", "share"]


@pytest.mark.parametrize("module", sorted({kinds(section)[name].module for section, name in NAMES}))
def test_what_a_kind_makes_does_not_depend_on_how_a_study_is_read(module):
    """Its checks need the study, as a type only: or an edit there would make every table and figure again."""
    assert LIBRARY / "study" not in used_by(package_of(module))


def test_the_schemas_for_editors_take_the_files_of_this_repository():
    files = schemas()
    study, models = (
        Draft202012Validator(json.loads(files[f"{name}.schema.json"])) for name in ("study", "models")
    )
    for path in sorted((ROOT / "config").glob("*.yaml")):
        (models if path.stem == "models" else study).validate(load_yaml(path))
    wrong = {"figures": {"held": {"kind": "norm_distribution", "arms": ["main"], "widht": 3}}}
    assert not study.is_valid(wrong)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_kind_is_in_a_study_that_is_shipped(section):
    """What no study shows, nobody finds and no run tries."""
    studies = map(load_yaml, [*(ROOT / "config").glob("*.yaml"), ROOT / "examples/library/study.yaml"])
    shown = {entry["kind"] for study in studies for entry in (study.get(section) or {}).values()}
    # That of norms.csv is made for every study.
    assert set(kinds(section)) == shown | ({"flow_norms"} if section == "analyses" else set())


@pytest.mark.parametrize("made", [object(), SimpleNamespace(name="other"), SimpleNamespace(name="mine")])
def test_a_module_that_declares_something_else_is_refused(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "a_package.mine", SimpleNamespace(KIND=made))
    with pytest.raises(TypeError, match=r"a_package\.mine: KIND must be of str with the name 'mine'"):
        declared(str, "mine", {"mine": "a_package.mine"}, "KIND")
