"""Policies: what is allowed, and messages that name file, key, and what is allowed."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.gate.claims import Shift
from cinorms.gate.policy import load_policy

EXAMPLES = sorted((Path(__file__).parents[3] / "examples/gate").glob("*.yaml"))


def write(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_what_a_policy_leaves_out_has_its_default(tmp_path):
    policy = load_policy(write(tmp_path, {"claims": {"overall": {"kind": "shift", "margin": 0.25}}}))
    assert (policy.name, policy.settings.flows, policy.settings.undecided) == ("policy", "fixed", "report")
    assert policy.alpha == pytest.approx(0.05)
    (claim,) = policy.claims
    assert (claim.name, claim.options) == ("overall", Shift(kind="shift", margin=0.25))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_policies(path):
    assert load_policy(path).claims


SHIFT = {"kind": "shift", "margin": 0.25}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "key 'claims' is missing"),
        ({"claims": {}}, "claims: {} is not allowed; allowed: a mapping of names"),
        ({"claims": {"a": SHIFT}, "undecided": "maybe"}, "undecided: 'maybe' is not allowed; .*: report"),
        ({"claims": {"a": SHIFT}, "confidence": 95}, r"confidence: 95 is not allowed; allowed: a number"),
        ({"claims": {"a": SHIFT}, "flow": "fixed"}, "flow: there is no such key here; .*'flows'"),
        ({"claims": {"a": {"margin": 1}}}, "claims.a: key 'kind' is missing; allowed: shift, side"),
        ({"claims": {"a": {"kind": "shfit"}}}, "claims.a.kind: 'shfit' is not a kind of claim; .*'shift'"),
        ({"claims": {"a": {"kind": "shift"}}}, "claims.a: key 'margin' is missing"),
        ({"claims": {"a": SHIFT | {"margin_for": {"x": 1}}}}, "claims.a.margin_for: it needs the key 'by'"),
        (
            {"claims": {"a": {"kind": "status", "may_rise": 0.1, "statuses": ["refuse"]}}},
            "claims.a.statuses.0.: 'refuse' is not allowed; .*did you mean 'refusal'",
        ),
        ({"claims": {"A b": SHIFT}}, "claims.A b: 'A b' is not allowed; names have lower-case letters"),
    ],
)
def test_a_mistake_is_named(tmp_path, document, message):
    path = write(tmp_path, document)
    with pytest.raises(ConfigError, match=message) as caught:
        load_policy(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).count("\n") <= 1
