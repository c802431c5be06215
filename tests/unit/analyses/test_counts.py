"""Counts add up: no answer and no flow is lost between the tables, or when thresholds remove norms."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.counts import answer_counts, lost, norm_counts
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.tables import ANSWER_STATUSES, RARE_STATUSES
from cinorms.entries.entry import Selected
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds

from ...entries import make_entry
from ...scales import ACCEPTABILITY, AGREEMENT, LEVELS
from .made import ANSWERS, SMALL, VIGNETTES, entry_for, norms_of, run

ENTRY = make_entry(
    "analyses",
    "norm_counts",
    {"arms": ["main", "other"]},
    [("main", "a"), ("main", "b"), ("other", "b")],
    scales={"main": ACCEPTABILITY, "other": AGREEMENT},
    t_vals=(3, 10),
    t_majs=("plurality", 0.5),
    t_val={"a": 3, "b": 10},
)


def answers(levels: list[int | None], statuses: list[str]) -> pd.DataFrame:
    status = pd.Categorical(statuses, categories=list(dict.fromkeys([*ANSWER_STATUSES, *statuses])))
    return pd.DataFrame({"flow": range(len(levels)), "level": pd.array(levels, "Int8"), "status": status})


MIXED = answers([-2, 2, 2, None, None], ["ok", "ok", "ok", "refusal", "empty"])


def counted(frame: pd.DataFrame) -> pd.DataFrame:
    return answer_counts([Selected("main", "a", frame)], ENTRY).set_index("outcome")


def test_every_level_and_every_status_is_counted():
    counts = counted(MIXED)
    statuses = [status for status in ANSWER_STATUSES[1:] if status not in RARE_STATUSES]
    assert counts.index.tolist() == [*ACCEPTABILITY.options, *statuses]
    shown = counts[["level", "status", "count", "share", "most"]]
    assert shown.loc["strongly acceptable"].tolist() == [2, "ok", 2, 0.4, 0.8]
    assert shown.loc["neutral"].tolist() == [0, "ok", 0, 0.0, 0.4]
    assert shown.loc["refusal"].tolist() == [pd.NA, "refusal", 1, 0.2, pd.NA]
    assert counts["count"].sum() == len(MIXED)
    assert counts["share"].sum() == pytest.approx(1)
    assert counted(answers([1, None], ["ok", "invalid"])).loc["invalid", "share"] == 0.5  # published answers
    codes = answers([1, None, None, None], ["ok", *["not_a_rating"] * 3])
    codes = counted(codes.assign(rule=["rating", "ambiguous", "don't know", "don't know"]))
    assert codes.loc["not_a_rating: don't know", ["status", "count"]].tolist() == ["not_a_rating", 2]
    assert codes["count"].sum() == 4
    none = counted(MIXED.head(0))
    assert (none["count"] == 0).all()
    assert none["share"].isna().all()


@pytest.mark.parametrize(("level", "status"), [(None, "bored"), (None, "ok"), (5, "ok")])
def test_an_answer_that_no_row_covers_is_an_error(level, status):
    with pytest.raises(DataError, match="answers of a in main"):
        counted(answers([1, level], ["ok", status]))


#: Norms of 4 flows: kept, a tie, too few valid answers, kept.
NORMS = pd.DataFrame({"flow": range(4), "n_valid": [12, 12, 2, 12], "tie": [False, True, False, False]})
NORMS["n_asked"] = 12
NORMS[tables.count_columns(LEVELS)] = [[12, 0, 0, 0, 0], [6, 6, 0, 0, 0], [2, 0, 0, 0, 0], [0, 2, 0, 10, 0]]


def test_flows_are_counted_under_every_pair_of_thresholds_and_the_used_one_is_marked():
    counts = norm_counts([Selected("main", "a", NORMS), Selected("main", "b", NORMS)], ENTRY)
    assert len(counts) == 2 * 2 * 2 * 4
    by_pair = counts.groupby(["model", "t_val", "t_maj"])
    assert (by_pair["flows"].sum() == 4).all()
    assert (by_pair["share"].sum() == 1).all()
    kept = counts[(counts["status"] == "kept") & counts["used"]]
    shown = kept[["model", "t_val", "t_maj", "flows", "share"]].to_numpy().tolist()
    assert shown == [["a", 3, "0.5", 2, 0.5], ["b", 10, "0.5", 2, 0.5]]
    assert set(counts["variants"]) == {12}
    assert norm_counts([Selected("main", "a", NORMS.head(0))], ENTRY)["share"].isna().all()


def test_a_whole_number_and_a_share_name_the_same_threshold():
    entry = replace(ENTRY, grid=(Thresholds(3, 1.0, "strict"),), thresholds={"a": Thresholds(3, 1, "strict")})
    assert norm_counts([Selected("main", "a", NORMS)], entry)["used"].all()


def test_norms_are_lost_between_every_two_majority_thresholds_under_the_entrys_own_t_val():
    norms = norms_of(ANSWERS["small"])
    tried = tuple(Thresholds(v, m, "strict") for v in (3, 8) for m in ("plurality", 0.5, 1))
    entry = replace(entry_for("lost", ["small"]), thresholds={"small": tried[-1]}, grid=tried)
    table = lost([Selected("main", "small", norms)], entry)
    a, b, c = (assessment.held(norms, under)["value"].count() for under in tried if under.t_val == 8)
    assert table[["t_val", "from", "to", "lost"]].to_numpy().tolist() == [
        [8, "plurality", "0.5", a - b],
        [8, "plurality", "1", a - c],
        [8, "0.5", "1", b - c],
    ]


def test_an_association_is_tested_for_the_factors_named_under_the_thresholds_used():
    table, whole = (
        run("discarded_association", SMALL, factors=["sender", "recipient"]),
        run("discarded_association"),
    )
    shown = table[["factor", "t_val", "t_maj", "flows"]].to_numpy().tolist()
    assert shown == [[name, 3, "0.5", len(VIGNETTES)] for name in ("sender", "recipient")]
    np.testing.assert_allclose(whole["p_bonferroni"], np.minimum(whole["p"] * len(whole), 1))
