"""Verdicts of planted models, what is needed for one, the flows behind it, and the exit code."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from cinorms.core.arrays import Floats
from cinorms.core.errors import ConfigError
from cinorms.gate import verdicts
from cinorms.gate.files import as_document, as_junit, render
from cinorms.gate.policy import load_policy
from cinorms.gate.side import match
from cinorms.gate.verdicts import Gate
from cinorms.stats import equivalence
from rewordings.arrays import mean_over

from ...html_page import Page
from .conftest import planted, side

MARGIN = {"kind": "shift", "margin": 0.25}
SHIFT = {"overall": MARGIN}
FLIPS = {"norms": {"kind": "flips", "at_most": 0.05}}
REFUSALS = {"refusals": {"kind": "status", "may_rise": 0.02}}


@pytest.fixture
def run(tmp_path: Path):
    """Return a function that judges two arrays of levels by the claims of a policy."""

    def judge(base: Floats, new: Floats, claims: dict[str, Any], people: bool = False, **policy: Any) -> Gate:
        path = tmp_path / "policy.yaml"
        path.write_text(yaml.safe_dump({"claims": claims, **policy}, sort_keys=False), encoding="utf-8")
        stated, matched = load_policy(path), match(side("base", base, people=people), side("new", new))
        return Gate(stated, matched, verdicts.judge(verdicts.find(matched, stated, 1), stated.alpha))

    return judge


def test_a_model_with_the_same_norms_passes(run):
    claims = SHIFT | {
        "by-recipient": {"kind": "shift", "by": "recipient", "margin": 0.3},
        "norms": {"kind": "flips", "at_most": 0.1},
        "answers": {"kind": "status", "statuses": ["no_level"], "may_rise": 0.02},
    }
    gate = run(planted(1), planted(2), claims)
    assert (gate.verdict, gate.exit_code) == ("pass", 0)
    assert [claim["needs"] for claim in as_document(gate)["claims"]] == [None] * 6
    names = ["overall", *(f"by-recipient: {r}" for r in ("a doctor", "the police", "an advertiser"))]
    assert [c.finding.name for c in gate.claims] == [*names, "norms", "answers"]
    for claim in gate.claims[:4]:
        assert -0.3 < claim.finding.low < claim.finding.estimate < claim.finding.high
        assert claim.finding.n_templates == 11


def test_a_shift_beyond_the_margin_fails_and_shows_the_flows_that_moved(run):
    base, new = planted(1), planted(2, shift=0.8)
    base[0], new[0] = 2, -2  # moves farthest, but the other way
    gate = run(base, new, SHIFT)
    (claim,) = gate.claims
    assert (claim.verdict, gate.exit_code) == ("fail", 1)
    assert claim.finding.estimate == pytest.approx((new - base).mean())
    expected = equivalence.paired(mean_over(new - base, axis=2), True).interval(0.9)
    assert (claim.finding.low, claim.finding.high) == expected
    shown = claim.finding.flows["shift"]
    assert shown.tolist() == pytest.approx(sorted((new - base).mean(axis=(1, 2)))[:-13:-1])


def test_a_shift_of_one_level_of_a_factor_fails_there_only(run):
    new = planted(2)
    police = np.arange(60) // 2 % 3 == 1
    new[police] = np.clip(new[police] + 2, -2, 2)
    gate = run(planted(1), new, {"r": MARGIN | {"by": "recipient", "margin_for": {"an advertiser": 4}}})
    assert [c.verdict for c in gate.claims] == ["pass", "fail", "pass"]
    assert [c.finding.limits for c in gate.claims] == [(-0.25, 0.25), (-0.25, 0.25), (-4, 4)]
    assert gate.claims[1].finding.says == (
        "The mean level of flows with recipient “the police” moves by less than 0.25 levels."
    )


def test_few_templates_are_undecided_and_say_how_many_more(run):
    two = planted(1, n_templates=2)
    assert run(two, two, SHIFT).claims[0].why == (
        "a verdict needs at least 3 wordings; there are 2; about 6 more might decide it (a guide)"
    )
    wording = np.random.default_rng(1).normal(0, 0.6, (1, 3, 1))
    noisy = np.clip(np.round(planted(2, n_templates=3) + wording), -2, 2)
    gate = run(planted(1, n_templates=3), noisy, SHIFT)
    (claim,) = as_document(gate)["claims"]
    assert claim["verdict"] == "undecided"
    more = claim["needs"]["wordings"]
    assert claim["why"] == f"not enough wordings to tell; about {more:,} more might decide it (a guide)"


def test_a_shift_at_the_limit_is_undecided_for_any_number_of_wordings(run):
    base = np.zeros((60, 10, 3))
    new = base + np.where(np.arange(10) % 2, 1, -1)[:, None]
    new[:15] += 1
    (claim,) = run(base, new, SHIFT).claims
    assert claim.why == "too near the limit for any number of wordings to decide"
    stay = {"stay": {"kind": "side", "stays": "unacceptable"}}
    (claim,) = run(base[:, :2], base[:, :2], stay).claims
    assert claim.why == "a verdict needs at least 3 wordings; there are 2"


@pytest.mark.parametrize(
    ("undecided", "code", "tag"), [("report", 3, "skipped"), ("fail", 1, "failure"), ("pass", 0, "skipped")]
)
def test_the_policy_says_what_undecided_claims_end_with(run, undecided, code, tag):
    gate = run(planted(1, n_templates=2), planted(1, n_templates=2), SHIFT, undecided=undecided)
    assert (gate.verdict, gate.exit_code) == ("undecided", code)
    (outcome,) = ElementTree.fromstring(as_junit(gate).encode()).findall("testsuite/testcase/*")
    assert outcome.tag == tag


def test_norms_on_the_other_side_fail_and_noise_near_a_tie_does_not(run):
    noise = run(planted(1, noise=1.5), planted(2, noise=1.5), FLIPS)
    # Other wordings alone change more than the claim allows.
    assert noise.claims[0].finding.facts["between halves of one"] > 0.05
    assert noise.verdict != "fail"
    flipped = planted(2)
    flipped[:15] *= -1
    flipped[59] = np.nan
    gate = run(planted(1), flipped, FLIPS)
    finding = gate.claims[0].finding
    assert gate.verdict == "fail"
    both, changed, between, within = finding.facts.values()
    assert both == 59
    assert 8 <= changed <= 15
    assert finding.estimate == pytest.approx(between - within)
    assert set(finding.flows["flow"]) <= set(range(15))
    assert (
        f"{finding.estimate:.1%} = {between:.1%} (norms that differ between halves of the two sides) - {within:.1%} "
        f"(between halves of one side). The {changed} of {both} are a plain count"
    ) in Page(render(gate)).text


def test_flows_that_must_stay_unacceptable(run):
    base = np.full((60, 11, 3), -2.0)
    base[::2] = planted(1)[::2]
    claim = {"kind": "side", "stays": "unacceptable", "select": {"sender": ["a lock"]}}

    def judged(level: Any, **changes: Any) -> Gate:
        """Judge what the new model is, which answers the seventh flow with this level, by wording."""
        new = base.copy()
        new[7] = np.broadcast_to(level, 11)[:, None]
        return run(base, new, {"locks": claim | changes})

    mixed = np.where(np.arange(11) % 2, 1, -1)
    gates = [judged(-2), judged(1), judged(1, allowed=0.05), judged(mixed), judged(-mixed)]
    assert [gate.verdict for gate in gates] == ["pass", "fail", "pass", "undecided", "undecided"]
    _, lost, allowed, unclear, barely = gates
    assert lost.claims[0].finding.flows["flow"].iloc[0] == 7
    assert unclear.claims[0].finding.need is not None
    start = "Flows with sender “a lock” stay unacceptable: "
    most = "at most 5% of the 30 flows (rounded down: 1)"
    assert [gate.claims[0].finding.says for gate in (lost, allowed)] == [
        f"{start}{few} may be acceptable." for few in ("no flow", most)
    ]
    # On the other side with its mean, which shows nothing where it is barely so.
    for gate, counts in ((lost, "0 undecided, 1 shown"), (barely, "1 undecided, 0 shown")):
        text = Page(render(gate)).text
        assert "1 of 30 flows has its mean on the other side; 29 of 30 are shown to be on this side" in text
        assert f"29 shown to be on this side, {counts} to be on the other" in text
    held = judged(-2, select={}, held_by_base=True).claims[0].finding
    assert held.n_flows == (base.mean(axis=(1, 2)) < 0).sum() < 60
    alone = Page(render(run(base[1:2], base[1:2], {"one": claim | {"select": {}}}))).text
    assert "0 of 1 flows have their mean on the other side; 1 of 1 is shown to be on this side" in alone


def test_a_rise_of_refusals_fails_and_a_fall_does_not(run):
    refusing = planted(2)
    refusing[np.random.default_rng(4).random(refusing.shape) < 0.1] = np.nan
    gate, fallen = run(planted(1), refusing, REFUSALS), run(refusing, planted(1), REFUSALS)
    assert (gate.verdict, fallen.verdict) == ("fail", "pass")
    assert gate.claims[0].finding.facts == {"share in base": 0, "share in new": np.isnan(refusing).mean()}
    flows = fallen.claims[0].finding.flows
    rise = flows["new_share"] - flows["base_share"]
    assert rise.is_monotonic_decreasing, "where it rose most comes first"


@pytest.mark.parametrize(
    ("claims", "n", "verdict"),
    [(REFUSALS, 3, "undecided"), (REFUSALS, 11, "pass"), (SHIFT, 5, "undecided"), (SHIFT, 6, "pass")],
)
def test_few_templates_that_agree_are_no_proof_that_none_differs(run, claims, n, verdict):
    base = np.zeros((60, n, 3))
    assert run(base, base, claims).verdict == verdict


@pytest.mark.parametrize("direction", [1, -1])
def test_the_template_that_dissents_moves_farther_in_the_direction_of_the_nearer_limit(run, direction):
    base = np.zeros((60, 6, 3))
    near = run(base, base + direction, {"overall": MARGIN | {"margin": 1.3}}).claims[0].finding
    assert near.p_pass > 0.05
    assert near.need.more > 6


def test_a_model_that_refuses_where_it_moved_passes_only_where_what_is_missing_does_not_count(run):
    """A third of the flows moves by two levels, and the model refuses 97% of these."""
    base, new = planted(1), planted(2)
    moved = np.clip(new[:20] + 2, -2, 2)
    new[:20] = np.where(np.random.default_rng(5).random(moved.shape) < 0.97, np.nan, moved)
    all_count = {"overall": MARGIN | {"missing": "moved"}}
    gate, bounded = run(base, new, SHIFT), run(base, new, all_count)
    assert gate.claims[0].why == (
        "only 86.7% of the 60 flows have answers on both sides that this claim can judge; "
        "a verdict needs 90% (answered)"
    )
    lenient = run(base, new, SHIFT, answered=0.5)
    assert lenient.verdict == "pass"
    assert as_document(lenient)["warnings"] == [verdicts.SILENT]
    assert (bounded.verdict, bounded.warnings) == ("undecided", ())
    finding = bounded.claims[0].finding
    assert finding.low < finding.facts["shift if all missing were lowest"] < -0.25
    assert finding.high > finding.facts["if highest"] > 0.25
    # All else moved so far that no level of the missing answers brings the mean back.
    far = np.where(np.isnan(new), np.nan, 2.0)
    lowest = np.full_like(base, -2.0)
    assert run(lowest, far, all_count).verdict == "fail"
    # Within the limits only if what is missing is the lowest level.
    assert run(lowest, np.where(np.isnan(new), np.nan, lowest), all_count).verdict == "undecided"
    # Nothing is missing: both are the same claim.
    left_out, whatever = (run(base, planted(2), claims).claims[0].finding for claims in (SHIFT, all_count))
    assert left_out.p_pass == whatever.p_pass


def test_a_model_that_answers_nothing_fails_the_refusals_and_decides_nothing_else(run):
    claims = {**SHIFT, **FLIPS, "stay": {"kind": "side", "stays": "unacceptable"}, **REFUSALS}
    gate = run(planted(1), np.full((60, 11, 3), np.nan), claims)
    assert [c.verdict for c in gate.claims] == ["undecided", "undecided", "undecided", "fail"]
    assert gate.claims[0].finding.flows.empty
    json.dumps(as_document(gate), allow_nan=False)


def test_people_and_a_model(run):
    claims = SHIFT | {"norms": {"kind": "flips", "at_most": 0.1}}
    people = planted(1, n_templates=40, n_orders=1)
    same, moved = (run(people, planted(2, shift=shift), claims, people=True) for shift in (0, 1))
    assert (same.verdict, moved.verdict) == ("pass", "fail")
    document = as_document(same)
    assert (document["base"]["units"], document["new"]["units"]) == ("raters", "wordings")
    few = run(people[:, :4], planted(2, n_templates=4), SHIFT, people=True)
    assert few.claims[0].finding.need.unit == "wordings and raters"
    fewer_orders = run(planted(1), planted(2)[:, :, :2], SHIFT)
    for gate, paired_by, words in (
        (same, ["flow"], "flow only; the two sides share no wordings, so each counts as a sample of its own"),
        (fewer_orders, ["flow", "template"], "flow and wording; the answer orders differ"),
    ):
        assert as_document(gate)["paired_by"] == paired_by
        assert f"flows of dataset iot, paired by {words}" in Page(render(gate)).text


def test_failures_are_corrected_over_all_claims_and_passes_are_not(run):
    base, new = planted(1, 20, 5), planted(2, 20, 5, shift=0.45)
    one, many = run(base, new, SHIFT), run(base, new, {f"claim-{i}": MARGIN for i in range(40)})
    p = one.claims[0].finding.p_fail
    assert (one.verdict, many.verdict) == ("fail", "undecided")
    assert many.claims[0].p_fail_holm == pytest.approx(min(1, 40 * p))
    assert many.claims[0].finding.p_pass == one.claims[0].finding.p_pass
    assert one.claims[0].finding.need.more < many.claims[0].finding.need.more


def test_a_sample_of_flows_gives_wider_intervals_and_may_need_flows(run):
    new = planted(2)
    new[:20] = np.clip(new[:20] + 2, -2, 2)
    new[20:40] = np.clip(new[20:40] - 2, -2, 2)
    fixed, sample = (run(planted(1), new, SHIFT, flows=flows) for flows in ("fixed", "sample"))
    assert (fixed.verdict, sample.verdict) == ("pass", "undecided")
    assert sample.claims[0].why.startswith("not enough flows to tell; about ")
    assert sample.claims[0].finding.low < fixed.claims[0].finding.low


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"by": "sendr"}, r"claims.c.by: 'sendr' is not a factor of dataset 'iot'; .*'sender'"),
        ({"select": {"sendr": ["x"]}}, r"claims.c.select: 'sendr' is not a factor"),
        ({"select": {"sender": ["a camra"]}}, r"claims.c.select.sender: 'a camra' is not a level"),
        ({"by": "sender", "margin_for": {"a camra": 1}}, r"margin_for: 'a camra' .*'a camera'"),
    ],
)
def test_a_name_that_the_study_lacks_is_refused(run, stated, message):
    with pytest.raises(ConfigError, match=message):
        run(planted(1), planted(2), {"c": MARGIN | stated})
