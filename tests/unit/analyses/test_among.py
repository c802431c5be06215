"""The kind on where models stand among people: what it takes from answers, and when there is no number."""

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


def table_of(people: pd.DataFrame) -> pd.DataFrame:
    stated = {"arms": ARMS, "by": "recipient", "people": "people-arm"}
    dataset = DatasetFactors("d", tuple(LEVELS))
    entry = make_entry(
        "analyses", "model_among_people", stated, PAIRS, factors_of=dict.fromkeys(ARMS, dataset)
    )
    frames = {"main": make_answers(2), "people-arm": people}
    selected = [Selected(*pair, frames[pair[0]]) for pair in PAIRS]
    prompts = {"main": PROMPTS, "people-arm": RATERS}
    return call(entry, selected, {"vignettes": dict.fromkeys(ARMS, VIGNETTES), "prompts": prompts})


def test_a_model_between_the_two_kinds_of_people():
    table = table_of(ratings()).set_index("what")
    assert set(table["model"]) == {"small"}
    assert table.loc["mean", "share"] == pytest.approx(0.5, abs=0.2)
    assert table.loc[["weight"], "level"].tolist() == LEVELS["recipient"]
    assert (table["conf_low"].dropna() <= table["conf_high"].dropna()).all()


def test_why_there_is_no_number():
    few = table_of(ratings(9))
    assert few["status"].tolist() == ["not_estimated"]
    assert few["reason"].tolist() == ["9 people answered; at least 10 are needed"]
    assert few["share"].isna().all()
    same = ratings().assign(level=pd.array([1] * PEOPLE * len(VIGNETTES), dtype="Int8"))
    assert "the same answer to everything" in table_of(same)["reason"].iloc[0]
