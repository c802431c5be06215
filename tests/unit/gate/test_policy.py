"""Policies: what is allowed, and messages that name file, key, and what is allowed."""

from pathlib import Path

import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.gate.claims import Claim, Shift
from cinorms.gate.policy import load_policy

EXAMPLES = sorted((Path(__file__).parents[3] / "examples/gate").glob("*.yaml"))
SHIFT = {"kind": "shift", "margin": 0.25}


def test_what_a_policy_leaves_out_has_its_default(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump({"claims": {"overall": SHIFT}}))
    policy = load_policy(path)
    assert (policy.name, policy.settings.flows, policy.settings.undecided) == ("policy", "fixed", "report")
    assert policy.alpha == pytest.approx(0.05)
    assert policy.claims == (Claim("overall", Shift(**SHIFT)),)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_policies(path):
    assert load_policy(path).claims


STATUS = {"kind": "status", "may_rise": 0.1}


@pytest.mark.parametrize(
    ("claims", "more", "message"),
    [
        (None, {}, "key 'claims' is missing"),
        ({}, {}, "claims: {} is not allowed; allowed: a mapping of names"),
        ({"a": SHIFT}, {"undecided": "maybe"}, "undecided: 'maybe' is not allowed; .*: report"),
        ({"a": SHIFT}, {"confidence": 95}, r"confidence: 95 is not allowed; allowed: a number"),
        ({"a": SHIFT}, {"flow": "fixed"}, "flow: there is no such key here; .*'flows'"),
        ({"a": {"margin": 1}}, {}, "claims.a: key 'kind' is missing; allowed: shift, side"),
        ({"a": {"kind": "shfit"}}, {}, "claims.a.kind: 'shfit' is not a kind of claim; .*'shift'"),
        ({"a": {"kind": "shift"}}, {}, "claims.a: key 'margin' is missing"),
        ({"a": SHIFT | {"margin_for": {"x": 1}}}, {}, "claims.a.margin_for: it needs the key 'by'"),
        (
            {"a": STATUS | {"statuses": ["refuse"]}},
            {},
            "a.statuses.0.: 'refuse' is not .*did you mean 'refusal'",
        ),
        ({"A b": SHIFT}, {}, "claims.A b: 'A b' is not allowed; names have lower-case letters"),
    ],
)
def test_a_mistake_is_named(tmp_path, claims, more, message):
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump({} if claims is None else {"claims": claims, **more}))
    with pytest.raises(ConfigError, match=message) as caught:
        load_policy(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).count("\n") <= 1
