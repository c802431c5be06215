"""Verdicts of planted models, what is needed for one, the flows behind it, and the exit code."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.gate import verdicts
from cinorms.gate.files import as_document, as_junit, render
from cinorms.gate.policy import load_policy
from cinorms.gate.side import Address
from cinorms.gate.verdicts import Gate

from ...html_page import Page
from .conftest import Floats, Write, planted

SHIFT = {"kind": "shift", "margin": 0.25}


@pytest.fixture
def run(write_study: Write, tmp_path: Path):
    """Return a function that judges two arrays of levels by the claims of a policy."""

    def judge(base: Floats, new: Floats, claims: dict[str, Any], people: bool = False, **policy: Any) -> Gate:
        path = tmp_path / "policy.yaml"
        path.write_text(yaml.safe_dump({"claims": claims, **policy}, sort_keys=False), encoding="utf-8")
        folders = [
            write_study("base", {"main": {"m": base}}, people=("main",) if people else ()),
            write_study("new", {"main": {"m": new}}),
        ]
        return verdicts.run(*(Address(folder, "main", "m") for folder in folders), load_policy(path))

    return judge


def test_a_model_with_the_same_norms_passes(run):
    claims = {
        "overall": SHIFT,
        "by-recipient": {"kind": "shift", "by": "recipient", "margin": 0.3},
        "norms": {"kind": "flips", "at_most": 0.1},
        "answers": {"kind": "status", "statuses": ["no_level"], "may_rise": 0.02},
    }
    gate = run(planted(1), planted(2), claims)
    assert (gate.verdict, gate.exit_code) == ("pass", 0)
    names = ["overall", *(f"by-recipient: {r}" for r in ("a doctor", "the police", "an advertiser"))]
    assert [c.finding.name for c in gate.claims] == [*names, "norms", "answers"]
    for claim in gate.claims[:4]:
        assert claim.finding.low < claim.finding.estimate < claim.finding.high
        assert claim.finding.low > -0.3
        assert claim.finding.n_templates == 11


def test_a_shift_beyond_the_margin_fails_and_shows_the_flows_that_moved(run):
    gate = run(planted(1), planted(2, shift=0.8), {"overall": SHIFT})
    (claim,) = gate.claims
    assert (claim.verdict, gate.exit_code) == ("fail", 1)
    assert claim.finding.estimate == pytest.approx((planted(2, shift=0.8) - planted(1)).mean())
    assert len(claim.finding.flows) == 12
    assert claim.finding.flows["shift"].is_monotonic_decreasing
    assert (claim.finding.flows["shift"] >= claim.finding.estimate).all()


def test_a_shift_of_one_level_of_a_factor_fails_there_only(run):
    new = planted(2)
    recipient = np.arange(60) // 2 % 3
    new[recipient == 1] = np.clip(new[recipient == 1] + 2, -2, 2)
    claims = {"r": {"kind": "shift", "by": "recipient", "margin": 0.25, "margin_for": {"an advertiser": 4}}}
    gate = run(planted(1), new, claims)
    assert [c.verdict for c in gate.claims] == ["pass", "fail", "pass"]
    assert [c.finding.limits[1] for c in gate.claims] == [0.25, 0.25, 4]
    assert gate.claims[1].finding.says == (
        "The mean level of flows with recipient “the police” moves by less than 0.25 levels."
    )


def test_few_templates_are_undecided_and_say_how_many_more(run):
    few = run(planted(1, n_templates=2), planted(1, n_templates=2), {"overall": SHIFT})
    assert (few.verdict, few.exit_code) == ("undecided", 3)
    assert few.claims[0].why == (
        "a verdict needs at least 3 wordings; there are 2; about 6 more might decide it (a guide)"
    )
    wording = np.random.default_rng(1).normal(0, 0.6, (1, 3, 1))
    noisy = np.clip(np.round(planted(2, n_templates=3) + wording), -2, 2)
    gate = run(planted(1, n_templates=3), noisy, {"overall": SHIFT})
    assert gate.verdict == "undecided"
    need = gate.claims[0].finding.need
    assert need.unit == "wordings"
    assert gate.claims[0].why == (
        f"not enough wordings to tell; about {need.more:,} more might decide it (a guide)"
    )
    assert as_document(gate)["claims"][0]["needs"] == {"wordings": need.more}


@pytest.mark.parametrize(
    ("undecided", "code", "tag"), [("report", 3, "skipped"), ("fail", 1, "failure"), ("pass", 0, "skipped")]
)
def test_the_policy_says_what_undecided_claims_end_with(run, undecided, code, tag):
    gate = run(planted(1, n_templates=2), planted(1, n_templates=2), {"overall": SHIFT}, undecided=undecided)
    assert (gate.verdict, gate.exit_code) == ("undecided", code)
    (outcome,) = ElementTree.fromstring(as_junit(gate).encode()).findall("testsuite/testcase/*")
    assert outcome.tag == tag


def test_norms_on_the_other_side_fail_and_noise_near_a_tie_does_not(run):
    claims = {"norms": {"kind": "flips", "at_most": 0.05}}
    noise = run(planted(1, noise=1.5), planted(2, noise=1.5), claims)
    facts = noise.claims[0].finding.facts
    assert facts["between halves of one"] > 0.05  # other wordings alone change more than the claim allows
    assert noise.verdict != "fail"
    flipped = planted(2)
    flipped[:15] *= -1
    gate = run(planted(1), flipped, claims)
    assert gate.verdict == "fail"
    facts = gate.claims[0].finding.facts
    assert 8 <= facts["of these changed"] <= 15
    both, changed, between, within = facts.values()
    found = gate.claims[0].finding.estimate
    assert found == pytest.approx(between - within)
    text = Page(render(gate)).text
    assert f"{found:.1%} = {between:.1%} (norms that differ between halves of the two sides)" in text
    assert f"- {within:.1%} (between halves of one side). The {changed} of {both} are a plain count" in text
    assert set(gate.claims[0].finding.flows["flow"]) <= set(range(15))


def test_flows_that_must_stay_unacceptable(run):
    base = np.full((60, 11, 3), -2.0)
    base[::2] = planted(1)[::2]
    claim = {"kind": "side", "stays": "unacceptable", "select": {"sender": ["a lock"]}}
    kept = run(base, base, {"locks": claim})
    assert kept.verdict == "pass"
    assert kept.claims[0].finding.n_flows == 30
    new = base.copy()
    new[7] = 1
    lost = run(base, new, {"locks": claim})
    assert lost.verdict == "fail"
    assert lost.claims[0].finding.flows["flow"].iloc[0] == 7
    assert lost.claims[0].finding.facts["flows on the other side"] == 1
    allowed = run(base, new, {"locks": claim | {"allowed": 0.05}})
    assert allowed.verdict == "pass"
    says = [found.claims[0].finding.says for found in (lost, allowed)]
    start = "Flows with sender “a lock” stay unacceptable: "
    most = "at most 5% of the 30 flows (rounded down: 1)"
    assert says == [f"{start}{few} may be acceptable." for few in ("no flow", most)]
    numbers = "1 of 30 flows has its mean on the other side; 29 of 30 are shown to be on this side"
    counts = "29 shown to be on this side, 0 undecided, 1 shown to be on the other"
    assert all(text in Page(render(lost)).text for text in (numbers, counts))
    unclear = base.copy()
    unclear[7] = np.where(np.arange(11) % 2, 1, -1)[:, None]
    gate = run(base, unclear, {"locks": claim})
    assert gate.verdict == "undecided"
    assert gate.claims[0].finding.need is not None
    # On the other side with its mean, which shows nothing.
    barely = base.copy()
    barely[7] = np.where(np.arange(11) % 2, -1, 1)[:, None]
    said = Page(render(run(base, barely, {"locks": claim}))).text
    assert "1 of 30 flows has its mean on the other side; 29 of 30 are shown to be on this side" in said
    assert "29 shown to be on this side, 1 undecided, 0 shown to be on the other" in said
    all_flows = {"kind": "side", "stays": "unacceptable", "held_by_base": True}
    assert run(base, base, {"locks": all_flows}).claims[0].finding.n_flows < 60


def test_a_rise_of_refusals_fails_and_a_fall_does_not(run):
    refusing = planted(2)
    refusing[np.random.default_rng(4).random(refusing.shape) < 0.1] = np.nan
    claims = {"refusals": {"kind": "status", "may_rise": 0.02}}
    gate = run(planted(1), refusing, claims)
    assert gate.verdict == "fail"
    assert gate.claims[0].finding.facts["share in new"] == pytest.approx(np.isnan(refusing).mean())
    fallen = run(refusing, planted(1), claims)
    assert fallen.verdict == "pass"
    flows = fallen.claims[0].finding.flows
    assert (flows["new_share"] - flows["base_share"]).is_monotonic_decreasing, (
        "where it rose most comes first"
    )


def test_few_templates_without_a_refusal_are_no_proof_that_there_are_none(run):
    claims = {"refusals": {"kind": "status", "may_rise": 0.02}}
    for n, verdict in ((3, "undecided"), (11, "pass")):
        assert run(planted(1, n_templates=n), planted(2, n_templates=n), claims).verdict == verdict


def test_a_model_that_refuses_where_it_moved_passes_only_where_what_is_missing_does_not_count(run):
    """A third of the flows moves by two levels, and the model refuses 97% of these."""
    base, new = planted(1), planted(2)
    moved = np.clip(planted(2)[:20] + 2, -2, 2)
    gone = np.random.default_rng(5).random(moved.shape) < 0.97
    new[:20] = np.where(gone, np.nan, moved)
    gate = run(base, new, {"overall": SHIFT})
    assert gate.verdict == "pass"
    assert "refuses" in gate.warnings[0]
    assert gate.warnings[0] in as_document(gate)["warnings"]
    bounded = run(base, new, {"overall": SHIFT | {"missing": "moved"}})
    assert (bounded.verdict, bounded.warnings) == ("undecided", ())
    finding = bounded.claims[0].finding
    assert finding.low < finding.facts["shift if all missing were lowest"] < -0.25
    assert finding.high > finding.facts["if highest"] > 0.25
    # All else moved so far that no level of the missing answers brings the mean back.
    far = np.where(np.isnan(new), np.nan, 2.0)
    failed = run(np.full_like(base, -2.0), far, {"overall": SHIFT | {"missing": "moved"}})
    assert failed.verdict == "fail"
    # Nothing is missing: both are the same claim.
    same = [
        run(base, planted(2), {"overall": SHIFT | {"missing": missing}}).claims[0].finding.p_pass
        for missing in ("left_out", "moved")
    ]
    assert same[0] == same[1]


@pytest.mark.parametrize("direction", [1, -1])
def test_five_templates_that_agree_are_no_proof_that_none_moves(run, direction):
    for n, verdict in ((5, "undecided"), (6, "pass")):
        base = np.zeros((60, n, 3))
        found = run(base, base, {"overall": SHIFT})
        assert found.verdict == verdict
    # The template that dissents moves farther in the direction of the nearer limit.
    near = run(base, base + direction, {"overall": SHIFT | {"margin": 1.3}}).claims[0].finding
    assert near.p_pass > 0.05
    assert near.need.more > 6


def test_a_model_that_answers_nothing_fails_the_refusals_and_decides_nothing_else(run):
    claims = {
        "overall": SHIFT,
        "norms": {"kind": "flips", "at_most": 0.05},
        "stay": {"kind": "side", "stays": "unacceptable"},
        "refusals": {"kind": "status", "may_rise": 0.02},
    }
    gate = run(planted(1), np.full((60, 11, 3), np.nan), claims)
    assert [c.verdict for c in gate.claims] == ["undecided", "undecided", "undecided", "fail"]
    json.dumps(as_document(gate), allow_nan=False)


def test_people_and_a_model(run):
    claims = {"overall": SHIFT, "norms": {"kind": "flips", "at_most": 0.1}}
    people = planted(1, n_templates=40, n_orders=1)
    same = run(people, planted(2), claims, people=True)
    assert same.verdict == "pass"
    assert as_document(same)["paired_by"] == ["flow"]
    assert run(people, planted(2, shift=1), claims, people=True).verdict == "fail"


def test_failures_are_corrected_over_all_claims_and_passes_are_not(run):
    many = {f"claim-{i}": SHIFT for i in range(40)}
    new = planted(2, shift=0.45, n_flows=20, n_templates=5)
    base = planted(1, n_flows=20, n_templates=5)
    one, all_of_them = run(base, new, {"claim-0": SHIFT}), run(base, new, many)
    p = one.claims[0].finding.p_fail
    assert p < 0.05
    assert (one.verdict, all_of_them.verdict) == ("fail", "undecided")
    assert all_of_them.claims[0].p_fail_holm == pytest.approx(min(1, 40 * p))
    assert all_of_them.claims[0].finding.p_pass == one.claims[0].finding.p_pass


def test_a_sample_of_flows_gives_wider_intervals_and_may_need_flows(run):
    new = planted(2)
    new[:20] = np.clip(new[:20] + 2, -2, 2)
    new[20:40] = np.clip(new[20:40] - 2, -2, 2)
    fixed, sample = (run(planted(1), new, {"overall": SHIFT}, flows=flows) for flows in ("fixed", "sample"))
    assert fixed.verdict == "pass"
    assert sample.verdict == "undecided"
    assert sample.claims[0].finding.need.unit == "flows"
    assert sample.claims[0].why.startswith("not enough flows to tell; about ")
    assert sample.claims[0].finding.low < fixed.claims[0].finding.low


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (SHIFT | {"by": "sendr"}, r"claims.c.by: 'sendr' is not a factor of dataset 'iot'; .*'sender'"),
        (SHIFT | {"select": {"sendr": ["x"]}}, r"claims.c.select: 'sendr' is not a factor"),
        (SHIFT | {"select": {"sender": ["a camra"]}}, r"claims.c.select.sender: 'a camra' is not a level"),
        (SHIFT | {"by": "sender", "margin_for": {"a camra": 1}}, r"margin_for: 'a camra' .*'a camera'"),
    ],
)
def test_a_name_that_the_study_lacks_is_refused(run, claim, message):
    with pytest.raises(ConfigError, match=message):
        run(planted(1), planted(2), {"c": claim})
