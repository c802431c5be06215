"""The multi-prompt assessment: worked examples, both consensus rules, and what must never matter."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds

from ...scales import ACCEPTABILITY, LEVELS, shipped


def answers_of(levels_by_flow, statuses=None):
    """Return answers from {flow: {variant: level or None}}; None is a refusal."""
    rows = [
        (flow, variant, level, "ok" if level is not None else "refusal")
        for flow, given_levels in levels_by_flow.items()
        for variant, level in given_levels.items()
    ]
    frame = pd.DataFrame(rows, columns=["flow", "variant", "level", "status"])
    return frame.astype({"flow": "int32", "variant": "category", "level": "Int8", "status": "category"})


def one(levels, consensus="strict"):
    return assessment.assess(
        answers_of({0: {f"{i}_0": level for i, level in enumerate(levels)}}), consensus, ACCEPTABILITY
    )


def judged(norms, t_val, t_maj, consensus="strict"):
    return assessment.status(norms, Thresholds(t_val, t_maj, consensus)).iloc[0]


def test_a_flow_worked_by_hand():
    table = one([1, 1, 1, -2, None])
    row = table.iloc[0]
    assert (row.n_asked, row.n_valid, row.value, row.tie) == (5, 4, 1, False)
    assert row[tables.count_columns(LEVELS)].tolist() == [1, 0, 0, 3, 0]
    assert row.share == 0.75
    assert row["mean"] == 0.25
    assert row.variance == pytest.approx((3 * 0.75**2 + 2.25**2) / 4)
    assert row.entropy == pytest.approx(-(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25)))
    assert [judged(table, 3, t_maj) for t_maj in (0.5, 0.75, 0.76)] == ["kept", "kept", "no_majority"]
    assert [judged(table, t_val, 0.5) for t_val in (4, 5)] == ["kept", "below_t_val"]


def test_strict_and_papers_differ_on_a_tie():
    strict, papers = one([2, -1, -1, 2]), one([2, -1, -1, 2], "papers")
    assert strict["tie"].all()
    assert papers["tie"].all()
    assert strict["value"][0] is pd.NA
    assert [judged(strict, 0, t_maj) for t_maj in ("plurality", 0.5)] == ["tie", "tie"]
    assert papers["value"][0] == 2
    assert judged(papers, 0, 0.5, "papers") == "kept"


def test_norms_assessed_under_strict_are_not_judged_as_papers():
    tied = assessment.assess(answers_of({0: {"0_0": 1}, 1: {"0_0": 1, "1_0": 2}}), "strict", ACCEPTABILITY)
    with pytest.raises(DataError, match=r"ties without a value.*assess with 'papers'"):
        judged(tied, 0, 0.5, "papers")


def test_papers_break_a_tie_by_the_first_variant_sorted_as_a_string():
    # As strings: 0_0 < 10_0 < 1_0, so template 10 comes before template 1.
    flow = {0: {"1_0": -2, "10_0": 1, "0_0": None}}
    assert assessment.assess(answers_of(flow), "papers", ACCEPTABILITY).value[0] == 1


def test_papers_quorum_rounds_half_to_even():
    # 10 valid answers, T_maj .25: round(2.5) = 2, so two equal answers are enough; strictly 2/10 < .25.
    levels = [-2, -2, -1, -1, 0, 0, 1, 1, 2, 2]
    assert judged(one(levels, "papers"), 0, 0.25, "papers") == "kept"
    # 14 valid answers: round(3.5) = 4, so three are too few.
    levels = [-2] * 3 + [-1] * 3 + [0] * 3 + [1] * 3 + [2] * 2
    assert judged(one(levels, "papers"), 0, 0.25, "papers") == "no_majority"


def test_a_flow_without_a_valid_answer_has_a_row_and_no_numbers():
    table = assessment.assess(
        answers_of({3: {"0_0": None, "0_1": None}, 4: {"0_0": 1}}), "strict", ACCEPTABILITY
    )
    assert table["flow"].tolist() == [3, 4]
    row = table.iloc[0]
    assert (row.n_asked, row.n_valid, row["tie"]) == (2, 0, False)
    assert judged(table, 0, "plurality") == "below_t_val"
    assert row.value is pd.NA
    assert np.isnan([row.share, row["mean"], row.variance, row.entropy]).all()
    papers = assessment.assess(answers_of({3: {"0_0": None}}), "papers", ACCEPTABILITY)
    assert papers.value.isna().all()
    assert judged(papers, 0, "plurality", "papers") == "below_t_val"


def test_a_level_beside_a_status_other_than_ok_never_votes():
    answers = answers_of({0: {"0_0": 1, "1_0": 2, "2_0": 2}})
    answers["status"] = ["ok", "ambiguous", "truncated"]
    row = assessment.assess(answers, "strict", ACCEPTABILITY).iloc[0]
    assert (row.n_asked, row.n_valid, row.value) == (3, 1, 1)


@pytest.mark.parametrize("level", [None, 3])
def test_ok_without_a_level_on_the_scale_is_refused(level):
    answers = answers_of({0: {"0_0": 1}})
    answers["level"] = pd.array([level], dtype="Int8")
    with pytest.raises(DataError, match="status ok needs a level"):
        assessment.assess(answers, "strict", ACCEPTABILITY)


def test_on_a_number_line_mean_and_variance_are_of_the_numbers():
    answers = answers_of({0: {"0_0": 1, "1_0": 2}, 3: {"0_0": 60, "1_0": 90, "2_0": 99}})
    table = assessment.assess(answers.astype({"level": "Int16"}), "strict", shipped("appropriateness_0_100"))
    assert table["mean"].tolist() == [1.5, 83]
    assert table["variance"].tolist() == pytest.approx([0.25, np.var([60, 90, 99])])
