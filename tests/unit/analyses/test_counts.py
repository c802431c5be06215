"""Counts add up: no answer and no flow is lost between the tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.counts import answer_counts, norm_counts
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.tables import ANSWER_STATUSES, RARE_STATUSES
from cinorms.entries.entry import Selected
from cinorms.norms.thresholds import Thresholds

from ...entries import make_entry
from ...scales import ACCEPTABILITY, AGREEMENT, LEVELS

PAIRS = [("main", "a"), ("main", "b"), ("other", "b")]
ENTRY = make_entry(
    "analyses",
    "norm_counts",
    {},
    PAIRS,
    scales={"main": ACCEPTABILITY, "other": AGREEMENT},
    t_vals=(3, 10),
    t_majs=("plurality", 0.5),
    t_val={"a": 3, "b": 10},
)


def answers(levels: list[int | None], statuses: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "flow": np.arange(len(levels)),
            "level": pd.array(levels, dtype="Int8"),
            "status": pd.Categorical(
                statuses, categories=[*ANSWER_STATUSES, *set(statuses) - set(ANSWER_STATUSES)]
            ),
        }
    )


def of(counts: pd.DataFrame, outcome: str) -> tuple[Any, ...]:
    row = counts.set_index("outcome").loc[outcome]
    return row["level"], row["status"], row["count"], row["share"]


MIXED = answers([-2, 2, 2, None, None], ["ok", "ok", "ok", "refusal", "empty"])


def test_every_level_and_every_status_is_counted() -> None:
    counts = answer_counts([Selected("main", "a", MIXED)], ENTRY)
    assert counts["outcome"].tolist()[:5] == [
        "strongly unacceptable",
        "somewhat unacceptable",
        "neutral",
        "somewhat acceptable",
        "strongly acceptable",
    ]
    assert counts["outcome"].tolist()[5:] == [
        status for status in ANSWER_STATUSES[1:] if status not in RARE_STATUSES
    ]
    assert of(counts, "strongly acceptable") == (2, "ok", 2, 0.4)
    assert of(counts, "neutral") == (0, "ok", 0, 0.0)
    assert of(counts, "refusal")[1:] == ("refusal", 1, 0.2)
    assert pd.isna(of(counts, "refusal")[0])
    assert counts["count"].sum() == len(MIXED)
    assert counts["share"].sum() == pytest.approx(1)


def test_models_and_arms_keep_their_order_and_their_own_scale_and_total() -> None:
    counts = answer_counts(
        [
            Selected("other", "b", MIXED.head(3)),
            Selected("main", "b", MIXED),
            Selected("main", "a", MIXED),
        ],
        ENTRY,
    )
    assert counts[["arm", "model"]].drop_duplicates().to_numpy().tolist() == [
        ["other", "b"],
        ["main", "b"],
        ["main", "a"],
    ]
    assert counts["outcome"].iloc[0] == "strongly disagree"
    totals = counts.groupby(["arm", "model"])["count"].sum()
    assert totals.to_dict() == {("main", "a"): 5, ("main", "b"): 5, ("other", "b"): 3}
    assert (counts.groupby(["arm", "model"])["share"].sum().round(9) == 1).all()


def test_the_status_of_published_answers_shows_only_where_there_is_one() -> None:
    published = answers([1, None], ["ok", "invalid"])
    assert "invalid" not in set(answer_counts([Selected("main", "a", MIXED)], ENTRY)["outcome"])
    counts = answer_counts([Selected("main", "a", published)], ENTRY)
    assert of(counts, "invalid")[1:] == ("invalid", 1, 0.5)


def test_no_answers_have_no_share() -> None:
    counts = answer_counts([Selected("main", "a", MIXED.head(0))], ENTRY)
    assert (counts["count"] == 0).all()
    assert counts["share"].isna().all()


@pytest.mark.parametrize(
    "strange",
    [
        answers([1, None], ["ok", "bored"]),
        answers([1, None], ["ok", "ok"]),
        answers([1, 5], ["ok", "ok"]),
    ],
)
def test_an_answer_that_no_row_covers_is_an_error(strange: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="answers of a in main"):
        answer_counts([Selected("main", "a", strange)], ENTRY)


def test_a_level_beside_an_invalid_status_is_not_counted_twice() -> None:
    counts = answer_counts([Selected("main", "a", answers([1, 1], ["ok", "ambiguous"]))], ENTRY)
    assert counts["count"].sum() == 2
    assert of(counts, "somewhat acceptable")[2] == 1


def norms(n: int) -> pd.DataFrame:
    """Return the norms of up to 4 flows: kept, a tie, too few valid answers, kept."""
    frame = pd.DataFrame({"flow": range(4), "n_valid": [12, 12, 2, 12], "tie": [False, True, False, False]})
    counts = [[12, 0, 0, 0, 0], [6, 6, 0, 0, 0], [2, 0, 0, 0, 0], [0, 2, 0, 10, 0]]
    frame[tables.count_columns(LEVELS)] = counts
    return frame.head(n)


def test_flows_are_counted_under_every_pair_of_thresholds_and_the_used_one_is_marked() -> None:
    counts = norm_counts([Selected("main", "a", norms(4)), Selected("main", "b", norms(4))], ENTRY)
    assert len(counts) == 2 * 2 * 2 * 4
    by_pair = counts.groupby(["model", "t_val", "t_maj"])
    assert (by_pair["flows"].sum() == 4).all()
    assert (by_pair["share"].sum() == 1).all()
    used = counts[counts["used"]][["model", "t_val", "t_maj"]].drop_duplicates()
    assert used.to_numpy().tolist() == [["a", 3, "0.5"], ["b", 10, "0.5"]]
    kept = counts[(counts["status"] == "kept") & counts["used"]]
    assert kept["flows"].tolist() == [2, 2]
    assert kept["share"].tolist() == [0.5, 0.5]


def test_no_flows_have_no_share() -> None:
    counts = norm_counts([Selected("main", "a", norms(0))], ENTRY)
    assert counts["share"].isna().all()


def test_a_whole_number_and_a_share_name_the_same_threshold() -> None:
    entry = replace(ENTRY, grid=(Thresholds(3, 1.0, "strict"),), thresholds={"a": Thresholds(3, 1, "strict")})
    assert norm_counts([Selected("main", "a", norms(2))], entry)["used"].all()
