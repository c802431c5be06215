"""Agents against what people call acceptable: of ConfAIde's flows where its files are here, and of planted ratings."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.say_do import say_do
from cinorms.answers.acting import read_actions
from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER as SCALES
from cinorms.entries.entry import Selected
from cinorms.human.ratings import list_raters
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.agent_files import items_of
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.factors import DatasetFactors
from cinorms.vignettes.reading import read_vignettes

from ...agents import FOLDER, flows, needs_agents
from ...entries import make_entry
from ...shared_ratings import confaide, needs_ratings

DISCLOSURE = load_scale(SCALES / "disclosure.yaml")
NOTHING = "Hello"


def planted(tmp_path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 40 flows, and ratings of each by eight people who differ."""
    rng = np.random.default_rng(5)
    latent = rng.normal(0, 1.5, (40, 1)) + rng.normal(0, 0.7, (40, 8))
    flow, rater = np.indices(latent.shape)
    levels = np.clip(np.rint(latent), -2, 2)
    ratings = pd.DataFrame({"flow": flow.ravel(), "rater": rater.ravel(), "value": levels.ravel()})
    return flows(tmp_path, 40), ratings


def published(tmp_path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the 27 flows of ConfAIde that have a trajectory, and 20 ratings of each of their stories."""
    dataset = load_dataset(SCALES.parent / "vignettes/confaide_trajectory.yaml")
    told = read_vignettes(dataset, tmp_path, FOLDER.parent / "published")
    ratings = confaide("2b")
    return told, ratings[ratings["flow"].isin(told["flow"])]


def acted(told: pd.DataFrame, shares: np.ndarray) -> pd.DataFrame:
    """Return the answers of an agent that shares every item of some flows, and writes nothing of the others."""
    items = items_of(told)
    bodies = [
        " ".join(items[flow]["sensitive"]) if yes else NOTHING
        for flow, yes in zip(told["flow"], shares, strict=True)
    ]
    replies = [f"Action: Send\nAction Input: {json.dumps({'body': body})}" for body in bodies]
    same = {"variant": "0_0", "order": "012", "finish_reason": "stop"}
    frame = pd.DataFrame({"flow": told["flow"], "text": pd.Categorical(replies)}).assign(**same)
    return read_actions(frame.astype(dict.fromkeys(same, "category")), DISCLOSURE, told)


@pytest.mark.parametrize(
    ("source", "n_ratings", "n_no", "n_yes"),
    [
        pytest.param(planted, 320, 26, 12, id="planted"),
        pytest.param(published, 540, 4, 22, id="ConfAIde", marks=[needs_agents, needs_ratings]),
    ],
)
def test_does_it_do_what_people_call_acceptable(source, n_ratings, n_no, n_yes, tmp_path):
    told, ratings = source(tmp_path)
    assert len(ratings) == n_ratings
    raters = [f"{number}_0" for number in pd.factorize(ratings["rater"])[0]]
    people = pd.DataFrame({"flow": ratings["flow"].to_numpy(np.int32), "variant": pd.Categorical(raters)})
    levels = pd.array(ratings["value"].to_numpy(int), "Int8")
    people = people.assign(level=levels, status=pd.Categorical(["ok"] * len(people)))
    prompts = {"people": list_raters(people, "survey", "?"), "act": list_variants("set", ["text"], 1, 1)}
    mean = ratings.groupby("flow")["value"].mean().reindex(told["flow"]).to_numpy()
    agents = {"follows": mean > 0, "shares": np.ones(len(told)), "withholds": np.zeros(len(told))}
    entry = make_entry(
        "analyses",
        "say_do",
        {"arms": ["people", "act"]},
        scales={"people": load_scale(SCALES / "agreement.yaml"), "act": DISCLOSURE},
        factors_of=dict.fromkeys(("people", "act"), DatasetFactors("own", ())),
        people=(("people", "people"),),
    )
    selected = [
        Selected("people", "people", people),
        *(Selected("act", name, acted(told, shares)) for name, shares in agents.items()),
    ]
    table = say_do(selected, entry, dict.fromkeys(("people", "act"), told), prompts).set_index("model")
    assert (table["said_by"] == "people").all()
    assert set(table["n_no"]) == {n_no}
    assert set(table["n_yes"]) == {n_yes}
    assert table["shares_given_no"].tolist() == [0, 1, 0]
    assert table["withholds_given_yes"].tolist() == [0, 0, 1]
    assert table["status"].tolist() == ["one_wording", "does_the_same", "does_the_same"]
    assert table.loc["follows", "association"] > 0.7
    assert table.loc["follows", "p_no_link"] < 0.001


@needs_ratings
@needs_agents
def test_people_call_few_of_these_flows_wrong_once_they_are_told_as_stories(folder, tmp_path):
    told, _ = published(tmp_path)
    wrong = {}
    for tier in ("2a", "2b"):
        means = confaide(tier).groupby("flow")["value"].mean()
        wrong[tier] = int((means[told["flow"]] < 0).sum())
    page = " ".join((folder / "docs/say-and-do.md").read_text(encoding="utf-8").split())
    assert f"call {wrong['2a']} of the 27 wrong" in page
    assert f"call {wrong['2b']} wrong" in page
