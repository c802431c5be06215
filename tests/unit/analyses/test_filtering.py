"""What the assessment removes: flows by threshold and by factor, and the answers outside a norm."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from cinorms.analyses.counts import discarded_levels, lost
from cinorms.core import tables
from cinorms.core.errors import ConfigError
from cinorms.entries.entry import Selected
from cinorms.norms import assessment
from cinorms.norms.thresholds import grid

from ...scales import LEVELS
from .made import ANSWERS, USUAL, VIGNETTES, entry_for, norms_of, run

SMALL = {"small": ANSWERS["small"]}


def test_flows_are_discarded_under_every_pair_of_thresholds() -> None:
    table = run("discarded", SMALL)
    assert table[["t_val", "t_maj"]].to_numpy().tolist() == [[3, "plurality"], [3, "0.5"]]
    assert (table["below_t_val"] + table["discarded"] + table["kept"] == len(VIGNETTES)).all()
    found = assessment.status(norms_of(ANSWERS["small"]), USUAL)
    assert table["kept"].iloc[1] == (found == "kept").sum()


def test_norms_are_lost_between_every_two_majority_thresholds_under_the_entrys_own_t_val() -> None:
    norms = norms_of(ANSWERS["small"])
    entry = entry_for("lost", ["small"], t_val=8)
    tried = tuple(grid([3, 8], ["plurality", 0.5, 1], "strict"))
    entry = dataclasses.replace(entry, thresholds={"small": tried[-1]}, grid=tried)
    table = lost([Selected("main", "small", norms)], entry)
    assert table[["from", "to"]].to_numpy().tolist() == [
        ["plurality", "0.5"],
        ["plurality", "1"],
        ["0.5", "1"],
    ]
    assert (table["t_val"] == 8).all()
    kept = [len(assessment.kept(norms, under)) for under in tried if under.t_val == 8]
    assert table["lost"].tolist() == [kept[0] - kept[1], kept[0] - kept[2], kept[1] - kept[2]]


def test_discarded_flows_add_up_at_the_levels_of_each_factor() -> None:
    table = run("discarded_levels", SMALL)
    assert set(table["factor"]) == {"sender", "place + inference", "recipient"}
    gone = len(VIGNETTES) - run("discarded", SMALL)["kept"].iloc[1]
    assert set(table.groupby("factor")["discarded"].sum()) == {gone}
    named = run("discarded_levels", SMALL, factors=["place"])
    assert named["level"].tolist() == ["home", "school"]


def test_an_association_is_tested_for_the_factors_named_under_the_thresholds_used() -> None:
    table = run("discarded_association", SMALL, factors=["sender", "recipient"])
    assert table["factor"].tolist() == ["sender", "recipient"]
    assert table[["t_val", "t_maj"]].drop_duplicates().to_numpy().tolist() == [[3, "0.5"]]
    assert (table["flows"] == len(VIGNETTES)).all()
    whole = run("discarded_association")
    assert whole["p_bonferroni"].tolist() == pytest.approx(np.minimum(whole["p"] * len(whole), 1).tolist())


def test_minority_is_about_flows_that_hold_a_norm() -> None:
    table = run("minority", SMALL)
    held = norms_of(ANSWERS["small"])
    held = held[assessment.status(held, USUAL) == "kept"]
    assert set(table["flows"]) == {len(held)}
    counts = held[tables.count_columns(LEVELS)].to_numpy()
    row = table.set_index("measure").loc["n_minority"]
    assert row["mean"] == pytest.approx((counts.sum(axis=1) - counts.max(axis=1)).mean())


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "lost", "t_maj": 0.5}, "t_maj: there is no such key here; allowed: "),
        ({"kind": "lost", "t_val": -1}, "t_val: -1 is out of range; allowed: at least 0"),
        ({"kind": "minority", "t_maj": 0}, "t_maj: 0 is not allowed; allowed: "),
        (
            {"kind": "discarded_levels", "factors": ["sendr"]},
            "factors: 'sendr' is not a factor for arm 'main'; allowed: information_type, recipient, sender, "
            "subject, transmission_principle; did you mean 'sender'?",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_refused(build_study: Any, entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        build_study({"analyses": {"it": {"arms": ["main"]} | entry}, "figures": {}})
    assert str(error.value).startswith(f"study.yaml: analyses.it.{message}")


@pytest.mark.parametrize(
    ("stated", "shown"), [(1, "1"), (1.0, "1.0"), (0.5, "0.5"), ("plurality", "plurality")]
)
def test_a_threshold_is_shown_as_it_is_stated(stated: Any, shown: str) -> None:
    entry = entry_for("discarded_levels", ["small"], t_maj=stated)
    under = entry.thresholds["small"]._replace(t_maj=entry.options.t_maj)
    entry = dataclasses.replace(entry, thresholds={"small": under})
    norms = [Selected("main", "small", norms_of(ANSWERS["small"]))]
    assert set(discarded_levels(norms, entry, vignettes={"main": VIGNETTES})["t_maj"]) == {shown}
