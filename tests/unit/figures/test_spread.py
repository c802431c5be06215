"""The spread of answers: what varies, what is held fixed, who has none; answers outside a norm; boxes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.shared import answer_variances
from cinorms.figures import spread
from cinorms.figures.spread import (
    MORE,
    PANELS,
    asked_text,
    draw_minority,
    draw_variance,
    group_names,
)

#: Templates 0 and 1, orders 0 and 1, as 0_0, 0_1, 1_0, 1_1.
BY_TEMPLATE = [[-2, -2, 2, 2]] * 24
BY_ORDER = [[-2, 2, -2, 2]] * 24
REFUSED = [[None, None, None, 1]] * 24


@pytest.mark.parametrize(
    ("levels", "over", "ddof", "expected"),
    [
        (BY_TEMPLATE, "variants", 0, [4.0] * 24),
        (BY_TEMPLATE, "templates", 0, [4.0] * 48),
        (BY_TEMPLATE, "templates", 1, [8.0] * 48),
        (BY_TEMPLATE, "orders", 1, [0.0] * 48),
        (BY_ORDER, "templates", 1, [0.0] * 48),
        (BY_ORDER, "orders", 1, [8.0] * 48),
        ([[1, None, 2, None]], "variants", 0, [0.25]),
        ([[1, None, 2, None]], "variants", 1, [0.5]),
        ([[1, None, None, None]], "variants", 1, [np.nan]),
    ],
)
def test_variance_is_over_what_is_named(answers_of, small_prompts, levels, over, ddof, expected):
    found = answer_variances(answers_of("a", levels).frame, small_prompts, over, ddof)
    assert found.tolist() == pytest.approx(expected, nan_ok=True)


def test_wordings_are_compared_where_they_showed_the_same_order(answers_of, small_prompts):
    frame = answers_of("a", [[-2, -1, 1, 2]] * 2).frame.sort_values(["flow", "variant"], ignore_index=True)
    shown = ["01234", "43210", "43210", "20143", None, "01234", "01234", None]
    found = answer_variances(frame.assign(order=pd.Categorical(shown)), small_prompts, "templates", 0)
    assert found.dropna().tolist() == pytest.approx([1.0, 1.0])
    assert not len(
        answer_variances(frame.assign(order=pd.Categorical([None] * 8)), small_prompts, "templates", 0)
    )


def test_a_box_per_model_and_arm_in_the_entrys_order(answers_of, figure_entry, small_prompts, built):
    arms = ("hot", "cold")
    selected = [
        answers_of(m, levels, arm)
        for arm, levels in zip(arms, (BY_TEMPLATE, BY_ORDER), strict=True)
        for m in ("b", "a")
    ]
    entry = figure_entry("variance", ["b", "a"], arms, over="orders", by="temperature", title="T")
    drawn = draw_variance(selected, entry, dict.fromkeys(arms, small_prompts))
    assert drawn.data["mean"].tolist() == [0, 0, 8, 8]
    most, least = drawn.data["group"].tolist()[2], drawn.data["group"].tolist()[0]
    title = f"Answers vary most with a ({most}; mean 8.00), least with b ({least}; 0.00)"
    assert drawn.plot.labels.title.replace("\n", " ") == title
    boxes = built(drawn.plot)[0]
    assert len(boxes) == 4
    assert boxes["fill"].nunique() == 2
    scale = next(s for s in drawn.plot.scales if "x" in s.aesthetics)
    assert list(scale.limits) == scale.labels == ["a", "b"], "upwards"
    hot, cold = (part["x"] for _, part in boxes.groupby("middle"))
    assert hot.min() > cold.min(), "the first arm is on top"
    assert "n = 48 flows x wordings" in drawn.caption
    assert list(group_names(entry).values()) == ["temperature 0", "temperature 0.5"]


def test_arms_with_one_condition_keep_their_names(figure_entry):
    entry = figure_entry("variance", ["a"], ("x", "y"), by="temperature")
    same = replace(entry, conditions={arm: {"temperature": 0} for arm in ("x", "y")})
    assert list(group_names(same).values()) == ["temperature 0 (x)", "temperature 0 (y)"]


def test_one_model_without_numbers_is_named(answers_of, figure_entry, small_prompts, built):
    selected = [answers_of("a", REFUSED), answers_of("b", BY_ORDER)]
    drawn = draw_variance(selected, figure_entry("variance", ["a", "b"]), {"main": small_prompts})
    assert next(layer for layer in built(drawn.plot) if "label" in layer)["label"].tolist() == ["none"]


def test_a_box_holds_percentiles():
    found = spread.summary(np.arange(101.0))
    assert [found[k] for k in spread.PERCENTILES] == [5, 25, 50, 75, 95]
    assert spread.summary(np.array([np.nan]))["n"] == 0


# --- Answers outside a norm

MINORITY = [[2, 2, 2, -2], [1, 1, 1, 1], [0, None, None, None], *[[1, 1, 1, 0]] * 21]


def test_deviation_is_of_flows_with_a_norm_and_a_minority(norms_of, figure_entry, built):
    selected = [norms_of("b", MINORITY), norms_of("a", [[2, 2, 2, 1], *MINORITY[1:]])]
    drawn = draw_minority(selected, figure_entry("minority", ["b", "a"]))
    # One flow has too few valid answers for a norm, another no minority.
    data = drawn.data.set_index(["model", "measure"])
    assert list(data.index) == [(model, measure) for model in "ba" for measure in (PANELS | MORE).values()]
    assert data[["kept", "unanimous", "single_dissent"]].drop_duplicates().to_numpy().tolist() == [
        [23, 1, 22]
    ]
    # Of the flows with a minority; their number and share are of all flows with a norm.
    assert data["n"].tolist() == [22, 22, 22, 23, 23] * 2
    far = (4 + 21) / 22
    assert data["mean"].tolist() == pytest.approx(
        [far, 0, far, 22 / 23, 5.5 / 23, 1, 0, 1, 22 / 23, 5.5 / 23]
    )
    assert built(drawn.plot)[0].groupby("PANEL").size().tolist() == [2, 2]
    title = "Minority answers are furthest from the norm with b (mean 1.14), nearest with a (1.00)"
    assert drawn.plot.labels.title == title
    assert "b 22 of 23, a 22 of 23" in drawn.caption


def test_the_caption_says_which_models_were_asked_the_same(answers_of, figure_entry, small_prompts):
    a, b, c = (answers_of(name, [[1, 2, 1]] * 4) for name in "abc")
    fewer, other = c._replace(frame=c.frame.query("flow < 3")), b._replace(frame=b.frame.query("flow > 0"))

    def said(*selected: Any) -> str:
        return asked_text(selected, {"main": small_prompts}).partition(". ")[0]

    assert said(a, b, c) == "All boxes can be compared: a, b, c (4 flows in 2 wordings)."
    group = "Compare models within a group: "
    assert said(a, b, fewer) == f"{group}a, b (4 flows in 2 wordings); c (3 flows in 2 wordings)"
    one = c._replace(frame=c.frame[c.frame["variant"].str.startswith("0_")])
    assert said(a, b, one) == f"{group}a, b (4 flows in 2 wordings); c (4 flows in 1 wordings)"
    # As many flows, but others.
    each = "a (4 flows in 2 wordings); b (3 flows in 2 wordings); c (3 flows in 2 wordings)"
    assert said(a, other, fewer) == group + each
