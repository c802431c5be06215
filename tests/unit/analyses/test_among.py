"""Kinds on how people differ and where models stand: what they take from answers, and when there is no number."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.entries.entry import Selected
from cinorms.entries.files import call
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry
from .made import LEVELS, PROMPTS, VIGNETTES, make_answers

PEOPLE = 24
RATERS = list_variants("people", ["text"] * PEOPLE, PEOPLE, 1)
ARMS = ["main", "people-arm"]
PAIRS = [("main", "small"), ("people-arm", "people")]


def ratings(n: int = PEOPLE) -> pd.DataFrame:
    """Return ratings of every flow by people of whom every second is one level stricter than the others."""
    rng = np.random.default_rng(4)
    parts = []
    for person in range(n):
        level = rng.integers(0, 3, len(VIGNETTES)) - 2 * (person % 2)
        rows = pd.DataFrame({"flow": VIGNETTES["flow"], "variant": f"{person}_0", "level": level})
        parts.append(rows)
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(
        variant=pd.Categorical(rows["variant"]),
        level=rows["level"].astype("Int8"),
        status=pd.Categorical(["ok"] * len(rows)),
    )


def table_of(kind: str, people: pd.DataFrame, **options: Any) -> pd.DataFrame:
    pairs = PAIRS[1:] if kind == "people_structure" else PAIRS
    stated: dict[str, Any] = {
        "arms": [arm for arm, _ in pairs],
        "by": "recipient",
        "most_classes": 2,
        **options,
    }
    if kind != "people_structure":
        stated["people"] = "people-arm"
    dataset = DatasetFactors("d", tuple(LEVELS))
    entry = make_entry("analyses", kind, stated, pairs, factors_of=dict.fromkeys(ARMS, dataset))
    frames = {"main": make_answers(2), "people-arm": people}
    selected = [Selected(*pair, frames[pair[0]]) for pair in pairs]
    prompts = {"main": PROMPTS, "people-arm": RATERS}
    return call(entry, selected, {"vignettes": dict.fromkeys(ARMS, VIGNETTES), "prompts": prompts})


def test_people_who_differ_in_strictness_alone():
    table = table_of("people_structure", ratings())
    mean = table[table["what"] == "mean"].iloc[0]
    # Two levels of four steps apart: half of the line, so people are a quarter above or below the middle.
    assert mean["sd"] == pytest.approx(0.25, abs=0.03)
    assert mean["halves"] > 0.95
    assert (mean["n_people"], mean["n_flows"]) == (PEOPLE, len(VIGNETTES))
    weights = table[table["what"] == "weight"]
    assert set(weights["level"]) == set(LEVELS["recipient"])
    assert weights["estimate"].abs().max() < 0.05
    assert sorted(table.loc[table["what"] == "class", "class"].unique()) == [1, 2]
    assert table.loc[table["what"] == "class", "share"].to_numpy() == pytest.approx(0.5, abs=0.02)


def test_a_model_between_the_two_kinds_of_people():
    table = table_of("model_among_people", ratings()).set_index("what")
    assert set(table["model"]) == {"small"}
    assert table.loc["mean", "share"] == pytest.approx(0.5, abs=0.2)
    assert table.loc["class", "level"].startswith("50% of people, with mean answers from ")
    assert (table["conf_low"].dropna() <= table["conf_high"].dropna()).all()


def test_why_there_is_no_number():
    few = table_of("people_structure", ratings(9))
    assert few["reason"].tolist() == ["9 people answered; at least 10 are needed"]
    assert few["estimate"].isna().all()
    among = table_of("model_among_people", ratings(9))
    assert among["status"].tolist() == ["not_estimated"]
    same = ratings().assign(level=pd.array([1] * PEOPLE * len(VIGNETTES), dtype="Int8"))
    assert "the same answer to everything" in table_of("people_structure", same)["reason"].iloc[0]


def test_where_every_person_and_the_model_are():
    table = table_of("people_positions", ratings())
    people, model = table[table["person"].notna()], table[table["person"].isna()]
    assert sorted(people["person"].unique()) == list(range(PEOPLE))
    assert set(people["model"]) == {"people"}
    mean = people[people["what"] == "mean"].set_index("person")["value"]
    # Every second person is stricter by half of the line.
    assert mean[mean.index % 2 == 0].min() > mean[mean.index % 2 == 1].max()
    assert people["conf_low"].isna().all()
    assert set(model["model"]) == {"small"}
    assert (model["conf_low"] < model["value"]).all()
    assert (model["value"] < model["conf_high"]).all()
