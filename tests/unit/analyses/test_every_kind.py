"""Every kind of analysis: the columns it declares, and a status where there is nothing to count."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from cinorms.entries.registry import kinds

from . import made
from .made import ANSWERS, REFUSED, SMALL

KINDS = kinds("analyses")
TABLES: dict[tuple[str, int, str], pd.DataFrame] = {}
#: Kinds whose rows are counts: there is nothing that could fail.
COUNTS = {"answer_counts", "norm_counts", "missing_answers", "discarded_levels"}
BETWEEN = {
    *("model_tests", "model_pairs", "model_contrasts", "normality"),
    *("agreement_pairs", "agreement_sets"),
}
#: Options under which a kind has columns that it does not have without them.
FURTHER: dict[str, dict[str, Any]] = {
    "model_tests": {"test": "normal"},
    "model_pairs": {"test": "normal", "factor": "capacity"},
    "model_contrasts": {"factor": "capacity"},
    "agreement_pairs": {"factor": "capacity"},
    "delta": {"by": ["sender"]},
}
#: Columns that only other datasets bring; the tests of the kind have them.
ELSEWHERE = {"flow_norms": {"vignette"}}
#: Kinds that compare what this study has one of (a scale); their own tests have the columns.
ELSEWHERE_ALONE = {"scale_effects"}


def run(kind: str, answers: dict[str, pd.DataFrame] = ANSWERS, **options: Any) -> pd.DataFrame:
    """Return the table of a kind, which is made once for all tests."""
    key = (kind, id(answers), repr(options))
    if key not in TABLES:
        TABLES[key] = made.run(kind, answers, **options)
    return TABLES[key]


def fitting(kind: str, table: pd.DataFrame) -> set[str]:
    """Return the declared columns that the table has, ``<x>`` for any further ones; insist that it has no others."""
    declared = set(KINDS[kind].columns)
    named_by_data = {name for name in declared if name.startswith("<")}
    further = set(table.columns) - declared
    assert named_by_data or not further, f"{kind} does not declare {further}"
    return declared & set(table.columns) | (named_by_data if further else set())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_rows_and_the_columns_that_it_declares(kind: str) -> None:
    table = run(kind)
    assert len(table)
    assert not table.columns.duplicated().any()
    assert set(KINDS[kind].shown) <= set(table.columns)
    if kind in ELSEWHERE_ALONE:
        return
    if kind not in COUNTS:
        assert table["status"].isin(["ok", "low_expected", "kept"]).any()
    others = [run(kind, **FURTHER.get(kind, {})), run(kind, SMALL), run(kind, REFUSED)]
    found = set.union(*(fitting(kind, each) for each in (table, *others)))
    assert found | ELSEWHERE.get(kind, set()) == set(KINDS[kind].columns)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_what_a_row_is_and_the_key_tells_rows_apart(kind: str) -> None:
    declared = KINDS[kind]
    assert declared.key
    assert set(declared.key) <= set(declared.columns)
    assert declared.sentence.startswith(declared.about)
    for options in ({}, FURTHER.get(kind, {})):
        table = run(kind, **options)
        named = set(declared.columns)
        further = [name for name in table if name not in named]
        key = [each for name in declared.key for each in (further if name.startswith("<") else [name])]
        assert not table.duplicated([name for name in key if name in table]).any(), key


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_valid_answer_every_kind_says_why_there_is_no_number(kind: str) -> None:
    table = run(kind, REFUSED)
    assert len(table)
    if kind in COUNTS | {"discarded", "lost", "reliability", "flow_norms"}:
        return  # these count or list: zeros and shares of valid answers are right here
    if kind == "calibration_coefficients":
        table = table[table["source"] == "recovered"]  # what was planted is there without any answer
    assert (table["status"] != "ok").all()
    for column in {"estimate", "mean", "p", "statistic", "agreement", "share_same"} & set(table.columns):
        assert table[column].isna().all()


@pytest.mark.parametrize("kind", KINDS)
def test_one_model_is_enough_for_a_table(kind: str) -> None:
    table = run(kind, SMALL)
    assert len(table)
    if kind in BETWEEN:
        assert set(table["status"]) <= {"one_model"}


@pytest.mark.parametrize("kind", [name for name in KINDS if "vignettes" in KINDS[name].made_from])
def test_a_selection_without_flows_gives_no_number_and_no_crash(kind: str) -> None:
    table = run(kind, select={"sender": ["nobody"]})
    if kind not in {
        "discarded_levels",
        "flow_norms",
        "privacy_bias",
    }:  # a row for each level, or flow, there is
        assert len(table)
        assert (table["status"] != "ok").all()
