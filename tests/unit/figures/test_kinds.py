"""Every kind of figure is drawn from the data that it declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.entries.entry import Selected
from cinorms.entries.registry import kinds
from cinorms.figures.theme import Drawn, data_of

MODELS = ["b", "a"]
#: Flows with norms, some with a minority of answers, one without valid answers.
LEVELS = [[2, 2, 2, -2], [None] * 4, *[[1, 1, 1, 0]] * 22]
#: Options without which a kind cannot be made.
NEEDED = {"coefficients": {"table": "regression"}}


def regression() -> Selected:
    rows = [
        ("main", model, "sender", level, "x", 1.0, 0.5, 1.5, 24, "ok") for model in MODELS for level in "yz"
    ]
    names = ["arm", "model", "term", "level", "baseline", "estimate", "conf_low", "conf_high", "n", "status"]
    return Selected("", "regression", pd.DataFrame(rows, columns=names))


@pytest.fixture
def drawn(answers_of, norms_of, figure_entry, small_vignettes, small_prompts):
    """Return a function that draws a kind from whatever it is made from."""
    levels = pd.array(np.resize([-2, -1, 0, 1, 2], 24), dtype="Int8")
    planted = pd.DataFrame({"flow": np.arange(24, dtype=np.int32), "level": levels})
    further = {
        "norms": [norms_of(model, LEVELS) for model in MODELS],
        "vignettes": {"main": small_vignettes.assign(expected=1.0)},
        "prompts": {"main": small_prompts},
        "planted": {("main", model): planted for model in MODELS},
        "expected": None,
    }

    def draw(name: str) -> Drawn:
        kind = kinds("figures")[name]
        made: dict[str, Any] = {
            "answers": lambda: [answers_of(model, LEVELS) for model in MODELS],
            "norms": lambda: [norms_of(model, LEVELS) for model in MODELS],
            "table": lambda: [regression()],
        }
        entry = figure_entry(name, MODELS, **NEEDED.get(name, {}))
        return kind.function(made[kind.reads](), entry, **{name: further[name] for name in kind.also})

    return draw


@pytest.mark.parametrize("name", kinds("figures"))
def test_the_data_beside_a_figure_have_the_columns_declared(drawn, name: str) -> None:
    figure = drawn(name)
    assert "Nothing to show" not in figure.caption
    table = data_of(figure)
    assert len(table) > 0
    declared = [column.name for column in kinds("figures")[name].columns]
    assert len(declared) == len(set(declared))
    assert sorted(table.columns) == sorted(declared)
