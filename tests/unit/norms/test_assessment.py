"""The multi-prompt assessment: worked examples, both consensus rules, and what must never matter."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds

from ...scales import ACCEPTABILITY, LEVELS, shipped
from ..stats.made import answers_of, norms_of


def judged(norms, t_val, t_maj, consensus="strict"):
    return assessment.status(norms, Thresholds(t_val, t_maj, consensus)).iloc[0]


def test_a_flow_worked_by_hand():
    table = norms_of([[1, 1, 1, -2, None]])
    row = table.iloc[0]
    assert (row.n_asked, row.n_valid, row.value, row.tie) == (5, 4, 1, False)
    assert row[tables.count_columns(LEVELS)].tolist() == [1, 0, 0, 3, 0]
    assert row.share == 0.75
    assert row["mean"] == 0.25
    assert [judged(table, 3, t_maj) for t_maj in (0.5, 0.75, 0.76)] == ["kept", "kept", "no_majority"]
    assert [judged(table, t_val, 0.5) for t_val in (4, 5)] == ["kept", "below_t_val"]


def test_strict_and_papers_differ_on_a_tie():
    strict, papers = norms_of([[2, -1, -1, 2]]), norms_of([[2, -1, -1, 2]], "papers")
    assert strict["tie"].all()
    assert papers["tie"].all()
    assert strict["value"][0] is pd.NA
    assert [judged(strict, 0, t_maj) for t_maj in ("plurality", 0.5)] == ["tie", "tie"]
    assert papers["value"][0] == 2
    assert judged(papers, 0, 0.5, "papers") == "kept"


def test_norms_assessed_under_strict_are_not_judged_as_papers():
    with pytest.raises(DataError, match=r"ties without a value.*assess with 'papers'"):
        judged(norms_of([[1], [1, 2]]), 0, 0.5, "papers")


def test_papers_break_a_tie_by_the_first_variant_sorted_as_a_string():
    # As strings: 0_0 < 10_0 < 1_0, so template 10 comes before template 1.
    assert norms_of([[-2, 1, None]], "papers", ["1_0", "10_0", "0_0"]).value[0] == 1


def test_papers_quorum_rounds_half_to_even():
    # 10 valid answers, T_maj .25: round(2.5) = 2, so two equal answers are enough; strictly 2/10 < .25.
    levels = [-2, -2, -1, -1, 0, 0, 1, 1, 2, 2]
    assert judged(norms_of([levels], "papers"), 0, 0.25, "papers") == "kept"
    # 14 valid answers: round(3.5) = 4, so three are too few.
    levels = [-2] * 3 + [-1] * 3 + [0] * 3 + [1] * 3 + [2] * 2
    assert judged(norms_of([levels], "papers"), 0, 0.25, "papers") == "no_majority"


def test_a_flow_without_a_valid_answer_has_a_row_and_no_numbers():
    table = norms_of([[None, None], [1]])
    assert table["flow"].tolist() == [0, 1]
    row = table.iloc[0]
    assert (row.n_asked, row.n_valid, row["tie"]) == (2, 0, False)
    assert judged(table, 0, "plurality") == "below_t_val"
    assert row.value is pd.NA
    assert np.isnan([row.share, row["mean"]]).all()
    papers = norms_of([[None]], "papers")
    assert papers.value.isna().all()
    assert judged(papers, 0, "plurality", "papers") == "below_t_val"


def test_a_level_beside_a_status_other_than_ok_never_votes():
    answers = answers_of([[1, 2, 2]])
    answers["status"] = ["ok", "ambiguous", "truncated"]
    row = assessment.assess(answers, "strict", ACCEPTABILITY).iloc[0]
    assert (row.n_asked, row.n_valid, row.value) == (3, 1, 1)


@pytest.mark.parametrize("level", [None, 3])
def test_ok_without_a_level_on_the_scale_is_refused(level):
    answers = answers_of([[1]])
    answers["level"] = pd.array([level], dtype="Int8")
    with pytest.raises(DataError, match="status ok needs a level"):
        assessment.assess(answers, "strict", ACCEPTABILITY)


def test_on_a_number_line_the_mean_is_of_the_numbers():
    answers = answers_of([[1, 2], [60, 90, 99]])
    table = assessment.assess(answers.astype({"level": "Int16"}), "strict", shipped("appropriateness_0_100"))
    assert table["mean"].tolist() == [1.5, 83]
