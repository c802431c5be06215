"""Planted: people ignore the recipient, the model rejects the police; both weigh the sender alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from .made import VARIANTS, VIGNETTES, run


def answers(seed: int, police: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    flow = np.repeat(VIGNETTES["flow"].to_numpy(), len(VARIANTS))
    of_flow = police * (VIGNETTES["recipient"] == "police") + 1.5 * (VIGNETTES["sender"] == "doll")
    noisy = np.repeat(of_flow.to_numpy(), len(VARIANTS)) - 0.5 + rng.normal(0, 0.5, len(flow))
    return pd.DataFrame(
        {
            "flow": flow,
            "variant": pd.Categorical(np.tile(VARIANTS, len(VIGNETTES))),
            "order": pd.Categorical(["01234"] * len(flow)),
            "level": pd.array(np.clip(np.rint(noisy), -2, 2).astype(np.int8), dtype="Int8"),
            "status": pd.Categorical(["ok"] * len(flow)),
            "rule": pd.Categorical(["exact"] * len(flow)),
            "p_options": None,
        }
    )


TWO = {"small": answers(1, 0.0), "large": answers(2, -1.0)}
FACTORS = ["sender", "recipient"]


def test_a_model_that_weighs_what_people_ignore_is_found() -> None:
    table = run("people_factors", TWO, factors=FACTORS).set_index("factor")
    assert set(table["model"]) == {"large"}
    assert table.loc["recipient", "finding"] == "the model weighs what people were not shown to weigh"
    assert table.loc["recipient", "model_range"] == pytest.approx(1.0, abs=0.2)
    assert table.loc["recipient", "people_p"] > 0.05
    assert table.loc["sender", "finding"] == "no difference shown"


def test_differences_have_intervals_and_are_the_model_less_people() -> None:
    table = run("people_differences", TWO, factors=FACTORS, baselines={"recipient": "maker"}).set_index(
        "level"
    )
    police = table.loc["police"]
    assert police["baseline"] == "maker"
    assert police["estimate"] == pytest.approx(police["model_estimate"] - police["people_estimate"])
    assert police["conf_low"] < -0.8 < police["conf_high"] < -0.5
    assert police["finding"] == "more by the model"
    # Three tests: Holm's smallest p-value is three times as large.
    assert police["log10_p_holm"] == pytest.approx(min(police["log10_p"] + np.log10(3), 0))
