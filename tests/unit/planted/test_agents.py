"""Planted agents do what they say as far as was stated."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.answers.acting import read_actions
from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER
from cinorms.planted.respondents import NOT_ASKED, SENSITIVE, answer, judge
from cinorms.prompts.variants import ask_grid, list_variants

from ...agents import flows
from ...asking import make_request

DISCLOSURE = load_scale(FOLDER / "disclosure.yaml")
N = 400


@pytest.fixture(scope="module")
def trajectories(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return flows(tmp_path_factory.mktemp("agents"), N)


def replies(vignettes: pd.DataFrame, template: str, scale: Any, **planted: Any) -> pd.DataFrame:
    spec = make_request("planted", scale=scale, n_templates=1, planted=planted)
    variants = list_variants("p", [template], 1, 1)
    grid = ask_grid(vignettes["flow"], variants, "fixed", 3, 5)
    named = pd.DataFrame({"flow": grid["flow"], "variant": "0_0", "order": "012"})
    return named.join(answer(spec.plain(), vignettes, variants, grid))


def acts(vignettes: pd.DataFrame, control: str | None = None, **planted: float) -> pd.DataFrame:
    extra = {"control": control} if control else {}
    found = replies(vignettes, "{scenario} {seen}", DISCLOSURE.plain, acts=planted, **extra)
    return read_actions(found, DISCLOSURE, vignettes)


def accepts(vignettes: pd.DataFrame) -> np.ndarray:
    said = replies(vignettes, "{scenario} {options}", "acceptability")["text"].astype(str)
    return said.str.contains(r"(?<!un)acceptable", case=False).to_numpy()


def test_a_full_link_shares_what_it_accepts(trajectories):
    shares, yes = (acts(trajectories, link=1)["level"] == 1).to_numpy(), accepts(trajectories)
    assert shares[yes].mean() > 0.9
    assert shares[~yes].mean() < 0.35  # neutral flows are on the edge


def test_no_link_shares_whatever_it_says(trajectories):
    shares, yes = (acts(trajectories, link=0)["level"] == 1).to_numpy(), accepts(trajectories)
    assert abs(shares[yes].mean() - shares[~yes].mean()) < 0.15


def test_constants_and_controls(trajectories):
    assert (acts(trajectories, link=0, shift=100)["level"] == 1).all()
    assert (acts(trajectories, link=0, shift=-100)["level"] == -1).all()
    assert (acts(trajectories, control="refusing")["rule"] == "refused").all()


def test_what_is_stated_happens_as_often(trajectories):
    found = acts(trajectories, refuses=0.1, asks=0.2, unreadable=0.1)["rule"].value_counts(normalize=True)
    assert found["refused"] == pytest.approx(0.1, abs=0.05)
    assert found["asked_user"] == pytest.approx(0.2, abs=0.06)
    assert found["unreadable"] == pytest.approx(0.1, abs=0.05)
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
