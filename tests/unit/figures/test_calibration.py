"""Recovered against planted: shares of the flows planted at each level."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cinorms.figures.agreement import NO_NORM, recovered
from cinorms.figures.agreement import draw_calibration as draw

LEVELS = [[1, 1]] * 12 + [[2, 2]] * 6 + [[None, None]] * 6


def planted(level: int | None) -> pd.DataFrame:
    levels = pd.array([level] * 24, dtype="Int8")
    return pd.DataFrame({"flow": np.arange(24, dtype=np.int32), "level": levels})


def test_shares_are_of_the_flows_planted_at_a_level(norms_of, figure_entry) -> None:
    table = recovered(
        [norms_of("a", LEVELS)], figure_entry("calibration", ["a"]), {("main", "a"): planted(1)}
    )
    assert len(table) == 6 * 5
    here = table[table["planted"] == "somewhat acceptable"].set_index("recovered")["share"]
    assert here["somewhat acceptable"] == pytest.approx(0.5)
    assert here["strongly acceptable"] == here[NO_NORM] == pytest.approx(0.25)
    assert here.sum() == pytest.approx(1)
    assert table.loc[table["planted"] == "neutral", "label"].eq("-").all()


def test_a_matrix_per_respondent_with_the_scale_in_its_order(
    norms_of, figure_entry, small_vignettes, built
) -> None:
    names = ["b", "a"]
    truth = {("main", name): planted(1) for name in names}
    drawn = draw(
        [norms_of(m, LEVELS) for m in names],
        figure_entry("calibration", names),
        {"main": small_vignettes},
        truth,
    )
    tiles = built(drawn.plot)[0]
    assert tiles.groupby("PANEL").size().tolist() == [30, 30]
    limits = list(next(s for s in drawn.plot.scales if "y" in s.aesthetics).limits)
    assert limits[0] == NO_NORM
    assert limits[1] == "strongly unacceptable"
    assert limits[-1] == "strongly acceptable"
    assert "a n = 24 flows, 18 norms, 67% as planted" in drawn.caption


@pytest.mark.parametrize("truth", [{}, {("main", "a"): planted(None)}], ids=["a model", "a control"])
def test_where_nothing_was_planted_the_figure_says_so(
    norms_of, figure_entry, small_vignettes, built, truth
) -> None:
    drawn = draw(
        [norms_of("a", LEVELS)], figure_entry("calibration", ["a"]), {"main": small_vignettes}, truth
    )
    assert "nothing was planted here" in drawn.caption
    built(drawn.plot)
