"""Position bias against the length of the trace: what is planted is recovered, and what is not known is a status."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cinorms.answers.read import read_responses
from cinorms.prompts.variants import list_variants
from cinorms.stats.reliability import trace_bias

from ...scales import ACCEPTABILITY
from ...specs import ask_shard, make_spec

WEIGHTS = (4.0, 2.0, 1.0, 1.0, 2.0)
SHARES = np.array(WEIGHTS) / sum(WEIGHTS)


def answers_of(
    n_flows: int = 400, seed: int = 3, bias: float = 0.3, reasoning: dict | None = None, **planted: object
) -> pd.DataFrame:
    """Return answers of a planted respondent, to flows in one template and five balanced orders."""
    factor = pd.Categorical([f"a{i % 20}" for i in range(n_flows)])
    texts = [f"flow {i}" for i in range(n_flows)]
    vignettes = pd.DataFrame(
        {"flow": np.arange(n_flows, dtype=np.int32), "a": factor, "vignette": texts, "expected": np.nan}
    )
    known = {
        "noise": 0.3,
        "position_share": 0.1,
        "position_weights": WEIGHTS,
        "trace": {"bias": bias, "fill": 0.4, "spread": 0.8},
        **planted,
    }
    spec = make_spec(
        "planted",
        factors=["a"],
        n_templates=2,
        seed=seed,
        planted=known,
        reasoning=reasoning or {"effort": "high", "budget": 2000},
    )
    variants = list_variants("set", ["{scenario}? {options}", "Now: {scenario}? {options}"], 2, 5)
    responses, _ = ask_shard(spec, vignettes, variants)
    return read_responses(responses, ACCEPTABILITY)


def slopes(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the slope."""
    return found[found["measure"] == "slope"].reset_index(drop=True)


def test_a_planted_growth_of_the_bias_is_recovered_and_its_intervals_hold() -> None:
    """Over 20 seeds, 95% intervals of each position's slope cover what is planted, and the mean is it."""
    truth = 0.3 * (SHARES - 1 / 5)
    estimates, covered = [], []
    for seed in range(20):
        answers = answers_of(120, seed)
        found = slopes(trace_bias(answers, answers["flow"].to_numpy(), ACCEPTABILITY, 3))
        assert (found["status"] == "ok").all()
        estimates.append(found["estimate"].to_numpy())
        covered.append((found["conf_low"] <= truth) & (truth <= found["conf_high"]))
    mean, error = np.mean(estimates, axis=0), np.std(estimates, axis=0, ddof=1) / np.sqrt(20)
    assert (np.abs(mean - truth) < 4 * error + 1e-9).all(), (mean, truth, error)
    assert 0.90 <= np.mean(covered) <= 0.99


def test_a_bias_that_does_not_grow_has_no_slope_but_an_excess() -> None:
    """The slope of a constant position bias holds 0; the excess in each third is the planted one."""
    answers = answers_of(1500, bias=0.0, position_share=0.4)
    found = trace_bias(answers, answers["flow"].to_numpy(), ACCEPTABILITY, 3)
    slope, excess = slopes(found), found[found["measure"] == "excess"]
    assert ((slope["conf_low"] <= 0) & (slope["conf_high"] >= 0)).sum() >= 4
    expected = np.tile(0.4 * (SHARES - 1 / 5), 3)
    assert np.abs(excess["estimate"] - expected).max() < 0.03
    assert excess.groupby("part")["n"].first().sum() == slope["n"].iloc[0] == 1500 * 10
    assert (excess.groupby("part")["tokens_mean"].first().diff().dropna() > 0).all()


def test_numbers_by_hand() -> None:
    """Two flows of two answers: scores and the slope as computed on paper."""
    answers = pd.DataFrame(
        {
            "flow": [0, 0, 1, 1],
            "order": ["01234", "10234", "01234", "10234"],
            "level": pd.array([-2, -2, -1, -1], dtype="Int8"),
            "status": "ok",
            "n_trace_tokens": pd.array([0, 1000, 2000, 3000], dtype="Int32"),
        }
    )
    found = trace_bias(answers, answers["flow"].to_numpy(), ACCEPTABILITY, 2)
    # Flow 0: option 0 stands first, then second; its level is that of the other answer at the same place: scores 0.
    assert np.abs(found["estimate"]).max() == 0
    # Now both answers of flow 0 take what stands first, and those of flow 1 what stands second.
    answers["level"] = pd.array([-2, -1, -1, -2], dtype="Int8")
    slope = slopes(trace_bias(answers, answers["flow"].to_numpy(), ACCEPTABILITY, 2))
    # First position: chosen in flow 0, where it was not the other's level; not chosen in flow 1, where it was.
    scores = np.array([1 - 0, 1 - 0, 0 - 1, 0 - 1])
    x = np.arange(4) - 1.5
    assert slope["estimate"][0] == pytest.approx(x @ scores / (x @ x))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"n_trace_tokens": None}, "no_trace_lengths"),
        ({"n_trace_tokens": 500}, "one_length"),
        ({"order": None}, "no_order"),
        ({"level": None, "status": "refusal"}, "no_answers"),
    ],
)
def test_what_gives_no_number_is_a_status(change: dict[str, object], status: str) -> None:
    """No length, one length, no order and no answer each have a status, and no number stands for them."""
    answers = answers_of(30)
    for name, value in change.items():
        answers[name] = pd.Series(
            [value] * len(answers), dtype=answers[name].dtype if value is None else None
        )
    found = slopes(trace_bias(answers, answers["flow"].to_numpy(), ACCEPTABILITY, 3))
    assert set(found["status"]) == {status}
    assert found["estimate"].isna().all()


def test_answers_without_a_length_are_counted_and_left_out() -> None:
    """A third of the lengths is missing: these answers still say what a flow's other answers are, but have no row."""
    answers = answers_of(300)
    gone = np.arange(len(answers)) % 3 == 0
    answers["n_trace_tokens"] = answers["n_trace_tokens"].mask(gone)
    found = slopes(trace_bias(answers, answers["flow"].to_numpy(), ACCEPTABILITY, 3))
    assert found["n_unknown"].iloc[0] == gone.sum()
    assert found["n"].iloc[0] == (~gone).sum()


def test_an_arm_without_the_column_has_no_lengths() -> None:
    """A table without the column has the status of unknown lengths."""
    answers = answers_of(30).drop(columns=["n_trace_tokens", "trace_status"])
    found = trace_bias(answers, answers["flow"].to_numpy(), ACCEPTABILITY, 3)
    assert set(found["status"]) == {"no_trace_lengths"}


def _statuses(answers: pd.DataFrame) -> list[str]:
    return sorted(answers["trace_status"].astype(str).unique())


def test_planted_traces_have_lengths_under_the_budget_and_statuses() -> None:
    """Traces off have no tokens; short and long ones share their draws; a cut one can leave no answer."""
    off = answers_of(50, reasoning={"effort": "none", "budget": 0})
    short = answers_of(50, reasoning={"effort": "low", "budget": 200})
    long = answers_of(50, reasoning={"effort": "high", "budget": 2000}, trace={"unanswered": 1.0})
    assert _statuses(off) == ["none"]
    assert (off["n_trace_tokens"] == 0).all()
    assert short["n_trace_tokens"].max() == 200
    assert _statuses(short) == ["cut", "whole"]
    assert (long["status"] == "trace_cut").sum() == (long["trace_status"] == "cut").sum() > 0
    assert long.loc[long["status"] == "trace_cut", "level"].isna().all()
    assert (long.loc[long["status"] == "trace_cut", "rule"] == "trace_cut").all()
