"""Planted respondents hold exactly the norms, the noise and the invalid answers that were stated."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import logistic, norm

from cinorms.answers.read import read_responses
from cinorms.core import tables
from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.core.scales import FOLDER
from cinorms.core.yaml_files import load_yaml
from cinorms.inference.request import Request
from cinorms.norms.assessment import assess, held
from cinorms.norms.thresholds import Thresholds
from cinorms.planted.respondents import (
    INVALID,
    TextBook,
    answer,
    describe,
    draw_traces,
    level_coefficients,
    plant,
    thresholds_on,
)
from cinorms.planted.settings import Respondent, Traces, load_planted
from cinorms.prompts.variants import ask_grid, list_variants

from ...asking import make_flows, make_request, respond
from ...printed_numbers import numbers_of
from ...scales import ACCEPTABILITY, LEVELS, ORDERS, shipped
from ...snakemake_runs import write_yaml

FACTORS = ["sender", "information_type", "recipient", "transmission_principle"]


@pytest.fixture(scope="module")
def norms(folder: Path) -> dict[str, Any]:
    document = load_yaml(folder / "resources/planted/gpt-4o-mini.yaml")
    return {key: document[key] for key in ("thresholds", "coefficients", "other_levels_sd")}


@pytest.fixture(scope="module")
def flows(iot_flows: pd.DataFrame) -> pd.DataFrame:
    """Return 864 flows in which every level of every factor but the sender occurs."""
    return iot_flows.iloc[2_592:3_456].reset_index(drop=True)


def request_of(planted: dict[str, Any], **changes: Any) -> Request:
    stated = {"model": "someone", "seed": 2026, "factors": FACTORS, "n_templates": 11, **changes}
    return make_request("planted", planted=planted, **stated)


def ask(planted: dict[str, Any], flows: pd.DataFrame, variants: pd.DataFrame, **changes: Any) -> pd.DataFrame:
    """Return the responses with what is read in them: the level and the status."""
    responses = respond(request_of(planted, **changes), flows, variants)
    return responses.assign(**read_responses(responses, ACCEPTABILITY, prompts=variants)[["level", "status"]])


def truth(planted, flows, name="someone", factors=FACTORS, scale=ACCEPTABILITY) -> pd.DataFrame:
    return plant(Respondent(name=name, **planted), flows, factors, scale, 2026)


# --- What is planted


def test_the_norm_is_the_sum_of_coefficients_and_residual_cut_at_the_thresholds(norms, flows):
    planted = truth({**norms, "shift": 0.3}, flows)
    held = norms["coefficients"]
    for row in range(0, len(flows), 97):
        linear = 0.3 + sum(held[f].get(flows[f][row], np.nan) for f in FACTORS)
        assert planted["linear"][row] == pytest.approx(linear)
        total = planted["linear"][row] + planted["residual"][row]
        assert planted["level"][row] == -2 + sum(total > cut for cut in norms["thresholds"])
    assert set(planted["level"]) == set(LEVELS)


def test_residuals_are_standard_logistic_and_belong_to_the_respondent_and_the_flow(norms, iot_flows, flows):
    residual = truth(norms, iot_flows)["residual"]
    assert residual.mean() == pytest.approx(0, abs=0.11)  # five standard errors
    assert residual.var() == pytest.approx(np.pi**2 / 3, rel=0.08)
    assert truth(norms, flows)["residual"].tolist() == residual.iloc[2_592:3_456].tolist()
    other = truth(norms, iot_flows, name="another")["residual"]
    assert abs(np.corrcoef(residual, other)[0, 1]) < 0.06


def drawn(factors: dict[str, list[str]], seed: int = 1, name: str = "r", **stated: Any) -> pd.DataFrame:
    return level_coefficients(Respondent(name=name, **stated), factors, seed).set_index(["factor", "level"])


def test_levels_that_are_not_listed_draw_the_same_coefficient_for_every_respondent():
    factors, stated = {"sender": ["a", "b", "c"], "recipient": ["x", "y"]}, {"sender": {"a": 0.7}}
    first, second = (drawn(factors, name=name, coefficients=stated) for name in ("one", "two"))
    pd.testing.assert_frame_equal(first, second)
    assert first["coefficient"].nunique() == 5
    at = ("recipient", "x")
    assert drawn({"recipient": ["y", "x"]}).loc[at, "coefficient"] == first.loc[at, "coefficient"]
    doubled = drawn(factors, other_levels_sd=2.0)
    assert np.allclose(doubled["coefficient"][1:], 2 * first["coefficient"][1:])
    many = {"f": [f"level {n}" for n in range(400)], "subject": ["owner"], "place": ["home"]}
    found = drawn(many, coefficients={"place": {"home": 0.5}})["coefficient"].to_numpy()
    assert found[:400].std() == pytest.approx(1, abs=0.2)
    assert found[400:].tolist() == [0, 0.5], "the only level of a factor has 0 unless it is listed"
    assert not np.allclose(drawn(many, seed=2)["coefficient"][:400], found[:400])


def test_what_was_planted_can_be_written_as_a_table_and_as_json(norms, flows, tmp_path):
    found = []
    for planted in (norms, {"control": "uniform"}):
        tables.write(truth(planted, flows), tmp_path / "planted.parquet", tables.PLANTED)
        facts = json.loads(json.dumps(describe(request_of(planted).plain(), flows)))
        found.append({(row["factor"], row["level"]): row["coefficient"] for row in facts["coefficients"]})
    assert found[0]["recipient", "the local police"] == -2.02
    assert found[1] == {}


# --- What is answered


def test_answers_do_not_depend_on_what_else_is_asked(norms, flows, iot_variants):
    noisy = {**norms, "noise": 1, "template_sd": 1, "position_share": 0.3, "invalid": {"refusal": 0.1}}
    flows = flows.head(192)
    whole = respond(request_of(noisy), flows, iot_variants)
    grid = ask_grid(flows["flow"], iot_variants, "balanced", 2026, 5)
    assert whole["order"].tolist() == [ORDERS[code] for code in grid["order_code"]]
    few = {"recipient": ["the local police"]}
    selected = respond(request_of(noisy, select=few, n_templates=2), flows, iot_variants)
    there = whole.merge(selected[["flow", "variant"]].astype({"variant": whole["variant"].dtype}))
    assert len(selected) == 6 * (flows["recipient"] == "the local police").sum()
    assert there["text"].tolist() == selected["text"].tolist()


def test_noise_and_temperature_change_answers_but_no_norm(norms, flows, iot_variants):
    right, flows = [], flows.head(288)
    for noise, temperature in ((0.0, 0), (0.4, 0), (0.4, 1.0), (1.4, 0)):
        responses = ask({**norms, "noise": noise}, flows, iot_variants, temperature=temperature)
        planted = truth(norms, flows).set_index("flow")["level"]
        right.append((responses["level"].to_numpy() == planted.loc[responses["flow"]].to_numpy()).mean())
    assert right[0] == 1  # without noise every answer is the norm
    assert right[0] > right[1] + 0.05 > right[2] + 0.1
    assert right[2] == right[3]


@pytest.mark.parametrize(("noise", "distribution"), [("template_sd", norm), ("noise", logistic)])
def test_noise_has_the_stated_scale(flows, noise, distribution):
    total = truth({}, flows.head(1))[["linear", "residual"]].to_numpy().sum()
    planted = {noise: 2, "thresholds": [total - 2, total, total + 2, total + 4]}
    variants = list_variants("set", [f"{t}: {{scenario}} {{options}}" for t in range(2000)], 2000, 1)
    level = ask(planted, flows.head(1), variants, n_templates=2000)["level"]
    expected = np.diff(distribution.cdf([-np.inf, -1, 0, 1, 2, np.inf]))
    assert level.value_counts(normalize=True)[list(LEVELS)].tolist() == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize("noise", ["template_sd", "noise"])
def test_a_template_is_known_by_its_wording_not_by_its_number(norms, flows, iot_variants, noise):
    """Template 3 of two paraphrasers is not one template: comparing prompt sets must find differences."""
    noisy, flows = {**norms, noise: 1}, flows.head(192)
    ours = ask(noisy, flows, iot_variants)
    template, original = iot_variants["template"], iot_variants["template_no"] == 0
    other = iot_variants.assign(prompt_set="other", template=template.where(original, "Other: " + template))
    theirs = ask(noisy, flows, other)
    original = ours["variant"].astype(str).str.startswith("0_")
    assert (ours["level"][original] == theirs["level"][original]).all()
    assert (ours["level"][~original] != theirs["level"][~original]).mean() > 0.1


@pytest.mark.parametrize(("share", "of_traces"), [(0.0, 0.0), (0.3, 0.0), (0.1, 0.2), (1.0, 0.0)])
def test_the_stated_share_of_answers_follows_the_position(flows, iot_variants, share, of_traces):
    # All weight on the second place, and all flows' norms at the top: an answer below it followed the place.
    top = {
        "thresholds": [-4e3, -3e3, -2e3, -1e3],
        "position_share": share,
        "position_weights": [0, 1, 0, 0, 0],
        "trace": {"fill": 0.5, "spread": 0, "bias": of_traces},
    }
    responses = ask(top, flows, iot_variants, reasoning={"effort": "high", "budget": 2000})
    share += of_traces  # per 1,000 tokens
    second = np.array([LEVELS[int(order[1])] for order in responses["order"]])
    level, lower = responses["level"].to_numpy(), second < 2
    assert (level[lower] == second[lower]).mean() == pytest.approx(share, abs=five_errors(share, lower.sum()))
    assert (level[~lower] == 2).all()


def five_errors(share: float, n: int) -> float:
    return 5 * np.sqrt(share * (1 - share) / n) + 1e-12


def test_stated_shares_of_invalid_answers(norms, flows, iot_variants):
    stated = {"refusal": 0.1, "needs_context": 0.05, "nonsense": 0.03, "ambiguous": 0.02}
    stated |= {"truncated": 0.04, "empty": 0.01}
    responses = ask({**norms, "invalid": stated}, flows, iot_variants)
    found = responses["status"].value_counts(normalize=True)
    for status, share in {**stated, "ok": 0.75}.items():
        assert found[status] == pytest.approx(share, abs=five_errors(share, len(responses))), status
    assert ((responses["finish_reason"] == "length") == (responses["status"] == "truncated")).all()
    # The entry may state them in any order.
    other = ask({**norms, "invalid": dict(reversed(stated.items()))}, flows, iot_variants)
    assert other["text"].tolist() == responses["text"].tolist()


def test_the_stated_share_of_answers_is_another_when_asked_again(norms, flows, iot_variants):
    planted = {**norms, "unrepeatable": 0.3}
    once, again = (ask(planted, flows, iot_variants, sample=sample)["level"] for sample in (1, 2))
    assert once.equals(ask(norms, flows, iot_variants)["level"])
    assert (once != again).mean() == pytest.approx(0.3, abs=five_errors(0.3, len(once)))
    to = again[(once == 2) & (once != again)].value_counts(normalize=True)
    assert to[[-2, -1, 0, 1]].tolist() == pytest.approx([0.25] * 4, abs=0.05)


def test_only_invalid_answers_none_at_all_and_a_share_of_verbose_ones(flows, iot_variants):
    assert set(ask({"invalid": {"empty": 1}}, flows.head(96), iot_variants)["status"]) == {"empty"}
    responses = ask({"invalid": {"empty": 0}, "verbose": 0.2}, flows, iot_variants)
    assert set(responses["status"]) == {"ok"}
    assert (responses["text"].astype(str).str.len() > 45).mean() == pytest.approx(0.2, abs=0.013)
    planted = truth({}, flows).set_index("flow")["level"]
    assert responses["level"].tolist() == planted[responses["flow"]].tolist(), "in whatever words"
    grid = ask_grid(flows["flow"].head(0), iot_variants, "balanced", 1, 5)
    assert len(answer(request_of({"noise": 1.0}).plain(), flows.head(0), iot_variants, grid)) == 0


# --- Negative controls


def test_a_constant_answer_is_constant_and_a_refusing_respondent_always_refuses(flows, iot_variants):
    flows = flows.head(96)
    constant, refusing = {"control": "constant_answer"}, {"control": "refusing"}
    assert set(ask(constant, flows, iot_variants)["level"]) == {1}
    assert set(truth(constant, flows)["level"]) == {1}
    responses, planted = ask(refusing, flows, iot_variants), truth(refusing, flows)
    assert set(responses["status"]) == {"refusal"}
    assert responses["text"].nunique() == len(INVALID["refusal"])
    assert planted["level"].isna().all()
    assert planted[["linear", "residual"]].eq(0).all(axis=None)


def test_a_constant_position_comes_out_flat_on_balanced_orders(flows, iot_variants):
    control, flows = {"control": "constant_position"}, flows.head(96)
    responses = ask(control, flows, iot_variants)
    counts = responses.pivot_table(index="flow", columns="level", aggfunc="size", fill_value=0)
    assert list(counts.columns) == list(LEVELS)
    assert (counts.max(axis=1) - counts.min(axis=1)).max() == 1  # 33 variants: 6 or 7 of each
    assert truth(control, flows)["level"].isna().all()
    assert set(ask(control, flows, iot_variants, order_method="fixed")["level"]) == {-2}


def test_a_uniform_respondent_prefers_nothing(flows, iot_variants):
    responses = ask({"control": "uniform"}, flows, iot_variants)
    shares = responses["level"].value_counts(normalize=True)
    assert np.allclose(shares.loc[list(LEVELS)], 0.2, atol=0.012)
    by_flow = responses["level"].astype(float).groupby(responses["flow"]).mean()
    assert by_flow.std() == pytest.approx(np.sqrt(2 / 33), rel=0.15)  # nothing but chance tells flows apart


def test_traces_are_cut_at_the_budget():
    at = (1, np.arange(4000), 0, 0)
    assert not any(np.any(each) for each in draw_traces(Traces(), 0, at, 1))
    planted = Traces(fill=0.8, unanswered=0.5, bias=2.0)
    short, long = (draw_traces(planted, budget, at, 1) for budget in (100, 1000))
    assert short.cut.mean() == pytest.approx(1 - norm.cdf(np.log(1 / 0.8) / 0.5), abs=0.03)
    assert (short.n_tokens[short.cut] == 100).all()
    assert short.unanswered.mean() == pytest.approx(short.cut.mean() / 2, abs=0.02)
    assert (short.cut == long.cut).all(), "where a trace is long under one budget, it is under the other"
    replies = pd.DataFrame({"text": pd.Categorical(["yes"] * 4000), "finish_reason": "stop"})
    found = short.added_to(replies)
    assert (found["trace_status"] == np.where(short.cut, "cut", "whole")).all()
    assert (found["text"] == np.where(short.unanswered, "", "yes")).all()
    assert (found["finish_reason"] == np.where(short.unanswered, "length", "stop")).all()
    none = draw_traces(Traces(), 0, at, 1).added_to(replies)
    assert (none["trace_status"] == "none").all()


# --- Every scale: respondents answer on it, are read on it, and their norms are recovered

SMALL = pd.DataFrame(itertools.product("abcdefgh", "klmnopqrst"), columns=["sender", "recipient"])
SMALL = make_flows(SMALL["sender"] + " tells " + SMALL["recipient"], **SMALL.astype("category"))


@pytest.mark.parametrize(
    "name",
    # 2, 4, 5 and 7 options, without and with a midpoint, and a number line.
    ["acceptability_2", "acceptability_4", "acceptability", "acceptability_7", "appropriateness_0_100"],
)
def test_norms_are_recovered(name):
    scale, factors = shipped(name), ["sender", "recipient"]
    planted = {"noise": 0.1, "template_sd": 0.05, "other_levels_sd": 2.0, "verbose": 0.2}
    planted["invalid"] = {"refusal": 0.05}
    variants = list_variants("set", [f"Rate {t}: {{scenario}} {{options}}" for t in range(6)], 6, 2)
    request = request_of(planted, factors=factors, n_templates=6, scale=scale.plain)
    answers = read_responses(respond(request, SMALL, variants), scale, prompts=variants)
    shares = answers["status"].value_counts(normalize=True)
    assert set(shares[shares > 0].index) == {"ok", "refusal"}
    assert 0.02 < shares["refusal"] < 0.08
    level = truth(planted, SMALL, factors=factors, scale=scale).set_index("flow")["level"]
    assert set(level) <= set(scale.levels)
    norms = held(assess(answers, "strict", scale), Thresholds(6, 0.5, "strict"))
    kept = norms.set_index("flow")["value"].dropna()
    assert len(kept) > 0.9 * len(SMALL)
    assert (kept == scale.in_bins(level).loc[kept.index]).mean() > 0.9
    if scale.line is None:
        assert level.nunique() == len(scale.levels)


@pytest.mark.parametrize(
    ("planted", "scale", "expected"),
    [
        ((-3.0, -1.0, 1.0, 3.0), "acceptability", [-3, -1, 1, 3]),
        ((-3.0, -1.0, 1.0, 3.0), "acceptability_2", [0]),
        ((-3.0, -1.0, 1.0, 3.0), "acceptability_4", [-2.5, 0, 2.5]),
        ((-6.0, -1.0, 1.0, 6.0), "acceptability_7", [-52 / 7, -27 / 7, -5 / 7, 5 / 7, 27 / 7, 52 / 7]),
        ((0.0,), "acceptability_4", [-1, 0, 1]),
    ],
)
def test_thresholds_divide_the_levels_in_the_planted_proportions(planted, scale, expected):
    found = thresholds_on(Respondent(name="r", thresholds=planted), shipped(scale))
    assert found.tolist() == pytest.approx(expected)


# --- Texts


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.yaml")))
def test_every_text_is_of_one_kind_only(name):
    """The same text under two statuses could not be read back as what was planted."""
    kind: dict[str, str] = {}
    scale = shipped(name)
    book, n = TextBook(scale), len(scale.options)
    option, uniform = np.repeat(np.arange(n), 24), np.tile((np.arange(24) + 0.5) / 24, n)
    for status in ("ok", *INVALID):
        for verbose in (False, True):
            codes = book.pick(option, np.full(24 * n, status), np.full(24 * n, verbose), uniform)
            for code in np.unique(codes):
                assert kind.setdefault(book.texts[code], status) == status
    assert len(kind) > 12 * n


# --- Files of norms


def test_thresholds_of_a_file_rise(tmp_path):
    stated = {"title": "t", "origin": "o", "thresholds": [-1, 0, 0, 1], "coefficients": {}}
    write_yaml(tmp_path / "planted/own.yaml", stated)
    with pytest.raises(
        ConfigError, match=r"own.yaml: thresholds: \[-1, 0, 0, 1\] do not rise; put each above"
    ):
        load_planted(Root(tmp_path, own=(tmp_path,)), "own")


def test_planted_norms_state_every_level_of_iot_and_are_those_of_the_papers_table_4(folder, iot_flows):
    """A level in another spelling would draw a coefficient instead and nobody would notice."""
    held = {
        name: load_yaml(folder / f"resources/planted/{name}.yaml")["coefficients"]
        for name in ("gpt-4o-mini", "llama-3.1-8b", "tulu-2")
    }
    levels = {factor: set(iot_flows[factor].cat.categories) for factor in FACTORS}
    for stated in held.values():
        assert {factor: set(of) for factor, of in stated.items()} == levels
        assert [[*of.values()].count(0) for of in stated.values()] == [1] * 4, "a baseline each"
    printed = numbers_of(4)
    printed = printed[(printed["column"] == "estimate") & (printed["shown"] == "")]
    assert len(printed) == 66
    names = {"table4-gpt": "gpt-4o-mini", "table4-llama": "llama-3.1-8b"}
    for where, analysis, number in printed[["where", "analysis", "printed"]].itertuples(index=False):
        assert held[names[analysis]][where["term"]][where["level"]] == float(number), where
    for factor, of in held["llama-3.1-8b"].items():
        assert held["tulu-2"][factor] == pytest.approx(
            {n: 0.4 * value for n, value in of.items()}, abs=0.0051
        )
