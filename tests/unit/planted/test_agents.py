"""Planted agents do what they say as far as was stated."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.answers.acting import read_actions
from cinorms.planted.respondents import NOT_ASKED, SENSITIVE, answer, judge
from cinorms.prompts.variants import ask_grid, list_variants

from ...agents import flows
from ...asking import make_request
from ...scales import shipped

DISCLOSURE = shipped("disclosure")


@pytest.fixture(scope="module")
def trajectories(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return flows(tmp_path_factory.mktemp("agents"), 400)


def replies(vignettes: pd.DataFrame, template: str, **changes: Any) -> pd.DataFrame:
    spec = make_request("planted", n_templates=1, **changes)
    variants = list_variants("p", [template], 1, 1)
    grid = ask_grid(vignettes["flow"], variants, "fixed", 3, 5)
    named = pd.DataFrame({"flow": grid["flow"], "variant": "0_0", "order": "012"})
    return named.join(answer(spec.plain(), vignettes, variants, grid))


def acts(vignettes: pd.DataFrame, control: str | None = None, **planted: float) -> pd.DataFrame:
    stated = {"acts": planted, "control": control} if control else {"acts": planted}
    found = replies(vignettes, "{scenario} {seen}", scale=DISCLOSURE.plain, planted=stated)
    return read_actions(found, DISCLOSURE, vignettes)


@pytest.mark.parametrize(
    ("link", "follows"),
    # Neutral flows are on the edge.
    [
        (1, lambda yes, no: yes > 0.9 and no < 0.35),
        (0, lambda yes, no: abs(yes - no) < 0.15 and 0.3 < no < 0.7),
    ],
)
def test_an_action_follows_what_it_accepts_as_far_as_stated(trajectories, link, follows):
    said = replies(trajectories, "{scenario} {options}", planted={})["text"].astype(str)
    accepts = said.str.contains(r"(?<!un)acceptable", case=False)
    shares = acts(trajectories, link=link)["level"] == 1
    assert follows(shares[accepts].mean(), shares[~accepts].mean())


def test_constants_and_controls(trajectories):
    few = trajectories.head(50)
    assert (acts(few, link=0, shift=100)["level"] == 1).all()
    assert (acts(few, link=0, shift=-100)["level"] == -1).all()
    assert (acts(few, control="refusing")["rule"] == "refused").all()


def test_what_is_stated_happens_as_often(trajectories):
    found = acts(trajectories, refuses=0.1, asks=0.2, unreadable=0.1)["rule"].value_counts(normalize=True)
    expected = {"refused": 0.1, "asked_user": 0.2, "unreadable": 0.1}
    assert found[list(expected)].to_dict() == pytest.approx(expected, abs=0.05)
    needed = acts(trajectories, needless=0.3)["needed"]
    assert np.mean([of[0] == 0 for of in needed]) == pytest.approx(0.3, abs=0.07)
    careless = acts(trajectories, link=0, shift=-100, careless=0.25)
    assert (careless["level"] == 1).mean() == pytest.approx(0.25, abs=0.06)


def test_a_judge_finds_the_words_of_an_item_and_errs_as_often_as_stated():
    scene, call = f'Do it.\n{SENSITIVE}\n- Ann is ill.\n- Her "salary"', "Action: Send\nAction Input: "
    said = [f'{call}{{"body": "{body}"}}' for body in ("Ann is ill.", 'Her \\"salary\\"', "Hello")]
    actions = pd.DataFrame({"flow": range(4), "scenario": [scene] * 3 + ["x"], "reply": [*said, said[0]]})
    assert judge(0, actions, 1, 1)["text"].tolist() == ["shared", "shared", "withheld", NOT_ASKED]
    assert judge(1, actions, 1, 1)["text"].tolist() == ["withheld", "withheld", "shared", NOT_ASKED]
    assert set(judge(0, actions.drop(columns="reply"), 1, 1)["text"]) == {NOT_ASKED}
