"""Matrices: agreement of every two models, both ways round; norms recovered against planted ones."""

import numpy as np
import pandas as pd
import pytest

from cinorms.figures.agreement import NO_NORM, PANELS, draw, draw_calibration, matrix, recovered
from cinorms.figures.colours import INK, LIGHT_INK, NO_NORM_COLOUR, SHARES, mixed, share_looks

A = [[1, 1]] * 12 + [[-1, -1]] * 12
B = [[1, 1]] * 18 + [[-1, -1]] * 6
NONE = [[None, None]] * 24


def test_the_matrix_is_symmetric_and_leaves_the_diagonal_free(norms_of, figure_entry):
    table = matrix([norms_of("a", A), norms_of("b", B)], figure_entry("agreement", ["a", "b"]))
    same, kappa = PANELS.values()
    assert table[["measure", "model_a", "model_b", "label", "count"]].to_numpy().tolist() == [
        [same, "a", "b", "75%", "24"],
        [same, "b", "a", "75%", "24"],
        [kappa, "a", "b", "0.50", "24"],
        [kappa, "b", "a", "0.50", "24"],
    ]
    assert table["value"].tolist() == pytest.approx([0.75, 0.75, 0.5, 0.5])


def test_models_stand_in_the_entrys_order_and_ink_is_read_on_its_colour(norms_of, figure_entry, built):
    models = ["b", "a", "c", "none"]
    selected = [norms_of(m, levels) for m, levels in zip(models, (A, B, A, NONE), strict=True)]
    drawn = draw(selected, figure_entry("agreement", models))
    tiles, texts = built(drawn.plot)[:2]
    assert len(tiles) == 2 * 12
    x, y = (next(s for s in drawn.plot.scales if axis in s.aesthetics).limits for axis in "xy")
    assert (list(x), list(y)) == (models, models[::-1])
    assert set(texts.loc[texts["label"].isin(["100%", "1.00"]), "color"]) == {LIGHT_INK}
    assert (texts["label"] == "-").sum() == 2 * 6, "no flow in common"


def test_cells_that_print_the_same_number_have_the_same_colour_and_ink():
    looks = share_looks(pd.Series([0.896, 0.904, 0.9, -0.3, 0.004, None], dtype="float64"))
    assert looks["fill"].tolist() == [*[mixed(SHARES, 0.9)] * 3, *[SHARES[0]] * 2, "#e0e0e0"]
    assert looks["ink"].tolist() == [LIGHT_INK] * 3 + [INK] * 3


# --- Recovered and planted norms

LEVELS = [[1, 1]] * 12 + [[2, 2]] * 6 + [[None, None]] * 6
PLANTED = pd.DataFrame({"flow": np.arange(24, dtype=np.int32), "level": pd.array([1] * 24, dtype="Int8")})


def test_shares_are_of_the_flows_planted_at_a_level(norms_of, figure_entry):
    table = recovered([norms_of("a", LEVELS)], figure_entry("calibration", ["a"]), {("main", "a"): PLANTED})
    assert len(table) == 6 * 5
    here = table[table["planted"] == "somewhat acceptable"].set_index("recovered")["label"]
    shown = {"somewhat acceptable": "50%", "strongly acceptable": "25%", NO_NORM: "25%"}
    assert here[here != ""].to_dict() == shown
    assert table.loc[table["planted"] == "neutral", "label"].eq("-").all()
    quarters = table[table["label"] == "25%"].set_index("recovered")["fill"]
    assert quarters[NO_NORM] == mixed((SHARES[0], NO_NORM_COLOUR), 0.25)
    assert quarters["strongly acceptable"] == mixed(SHARES, 0.25)


def test_a_matrix_per_respondent_with_the_scale_in_its_order(norms_of, figure_entry, built):
    names = ["b", "a"]
    truth = {("main", name): PLANTED for name in names}
    drawn = draw_calibration([norms_of(m, LEVELS) for m in names], figure_entry("calibration", names), truth)
    assert built(drawn.plot)[0].groupby("PANEL").size().tolist() == [30, 30]
    limits = list(next(s for s in drawn.plot.scales if "y" in s.aesthetics).limits)
    assert [limits[0], limits[1], limits[-1]] == [NO_NORM, "strongly unacceptable", "strongly acceptable"]
    said = "n = 24 flows per respondent. b: 50% as planted, 25% without a norm, 25% another norm; a: 50%"
    assert said in " ".join(drawn.caption.split())
