"""Every kind of analysis: the columns it declares, and a status where there is nothing to count."""

from typing import Any

import pandas as pd
import pytest

from cinorms.entries.kind import kinds

from .made import ANSWERS, REFUSED, SMALL, run

#: Those on actions need other answers: tests/unit/analyses/test_say_do.py has their columns.
KINDS = {name: kind for name, kind in kinds("analyses").items() if kind.report_section != "acts"}
#: Kinds whose rows are counts: there is nothing that could fail.
COUNTS = {"answer_counts", "norm_counts"}
BETWEEN = {"model_tests", "model_pairs", "model_contrasts"}
BETWEEN |= {"agreement_pairs", "agreement_sets", "variance_pairs"}
#: Options under which a kind has columns that it does not have without them.
FURTHER: dict[str, dict[str, Any]] = {
    "model_tests": {"test": "normal"},
    "model_pairs": {"test": "normal", "factor": "capacity"},
    "model_contrasts": {"factor": "capacity", "margin": 0.9},
    "ordinal_regression": {"factors": ["recipient", "model"]},
    "agreement_pairs": {"factor": "capacity"},
    "variance_pairs": {"factor": "capacity"},
    "delta": {"by": ["sender"], "of": "means"},
}
#: Columns that only other datasets bring; the tests of the kind have them.
ELSEWHERE = {"flow_norms": {"vignette"}}


def some(kind: str, answers: dict[str, pd.DataFrame] = ANSWERS) -> dict[str, pd.DataFrame]:
    """Return the answers of two models, and of all for a kind that compares them."""
    return answers if kind in BETWEEN else {model: answers[model] for model in ("small", "large")}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_columns_that_it_declares_and_the_key_tells_rows_apart(kind):
    declared, answers = KINDS[kind], some(kind)
    table, further = run(kind, answers), run(kind, answers, **FURTHER.get(kind, {}))
    alone = run(kind, SMALL) if kind in BETWEEN else table
    assert declared.key
    assert declared.sentence.startswith(declared.about)
    assert set(declared.key) <= set(declared.columns)
    assert set(declared.shown) <= {*table.columns, *further.columns}
    by_data = {name for name in declared.columns if name.startswith("<")}
    for rows in (table, further):
        assert len(rows)
        assert not rows.columns.duplicated().any()
        of_data = [name for name in rows if name not in declared.columns]
        key = [name for part in declared.key for name in (of_data if part in by_data else [part])]
        assert not rows.duplicated([name for name in key if name in rows]).any(), key
    if kind not in {*COUNTS, "model_among_people"}:  # nobody is compared with people
        # Four templates are too few for some numbers of two kinds, whose own tests have them.
        usual = ["ok", "low_expected", "kept", "few_templates", "no_interval", "combinations"]
        assert table["status"].isin(usual).any()
    assert kind not in BETWEEN or set(alone["status"]) == {"one_model"}
    found = {*table, *further, *alone, *run(kind, some(kind, REFUSED))}
    assert set(declared.columns) - found == by_data | ELSEWHERE.get(kind, set())
    assert bool(found - set(declared.columns)) == bool(by_data)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_valid_answer_every_kind_says_why_there_is_no_number(kind):
    table = run(kind, some(kind, REFUSED))
    assert len(table)
    if kind in COUNTS | {"discarded", "lost", "reliability", "flow_norms"}:
        return  # these count or list: zeros and shares of valid answers are right here
    assert (table["status"] != "ok").all()
    numbers = {"estimate", "mean", "p", "statistic", "agreement", "share_same"} & set(table.columns)
    assert table[list(numbers)].isna().all(axis=None)


@pytest.mark.parametrize("kind", [name for name in KINDS if "vignettes" in KINDS[name].made_from])
def test_a_selection_without_flows_gives_no_number_and_no_crash(kind):
    table = run(kind, some(kind), select={"sender": ["nobody"]})
    if kind != "privacy_bias" and "flow" not in KINDS[kind].key:  # a row per level, or flow, there is
        assert len(table)
        assert (table["status"] != "ok").all()
