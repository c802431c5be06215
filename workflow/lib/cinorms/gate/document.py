"""What a gate found, as plain data for programs: the content of its JSON file."""

from __future__ import annotations

import math
from typing import Any

from cinorms import __version__
from cinorms.gate.side import Side
from cinorms.gate.verdicts import Gate, Judged

#: Raised when a key changes its name or its meaning.
VERSION = 1


def as_document(gate: Gate) -> dict[str, Any]:
    """Return the gate as plain data; a number that there is none of is None."""
    matched, policy = gate.matched, gate.policy
    return {
        "format": f"gate v{VERSION}",
        "cinorms": __version__,
        "verdict": gate.verdict,
        "exit_code": gate.exit_code,
        "policy": {
            "name": policy.name,
            "file": policy.file,
            "about": policy.settings.about,
            "confidence": policy.settings.confidence,
            "flows": policy.settings.flows,
            "undecided": policy.settings.undecided,
        },
        "base": _side(matched.base, matched.of_base.units),
        "new": _side(matched.new, matched.of_new.units),
        "n_flows": len(matched.flows),
        "paired_by": _pairing(gate),
        "left_out": dict(matched.left_out),
        "claims": [_claim(claim) for claim in gate.claims],
    }


def _side(side: Side, units: tuple[str, ...]) -> dict[str, Any]:
    return {
        "address": side.address.name,
        "folder": str(side.address.folder),
        "arm": side.address.arm,
        "model": side.address.model,
        "dataset": side.dataset,
        "people": side.are_people,
        "units": side.unit,
        "n_units": len(units),
    }


def _pairing(gate: Gate) -> list[str]:
    """Return what the two sides are paired by."""
    matched = gate.matched
    return [
        "flow",
        *(["template"] if matched.same_units else []),
        *(["order"] if matched.same_orders else []),
    ]


def _claim(claim: Judged) -> dict[str, Any]:
    found = claim.finding
    plain: dict[str, Any] = _plain(
        {
            "name": found.name,
            "kind": found.kind,
            "about": found.about,
            "claim": found.says,
            "verdict": claim.verdict,
            "why": claim.why,
            "unit": found.unit,
            "estimate": found.estimate,
            "low": found.low,
            "high": found.high,
            "lower_limit": found.limits[0],
            "upper_limit": found.limits[1],
            "n_flows": found.n_flows,
            "n_templates": found.n_templates,
            "p_pass": found.p_pass,
            "p_fail": found.p_fail,
            "p_fail_holm": claim.p_fail_holm,
            "needs": {found.need.unit: found.need.more}
            if found.need and claim.verdict == "undecided"
            else None,
            "facts": found.facts,
            "flows": found.flows.to_dict("records"),
        }
    )
    return plain


def _plain(value: Any) -> Any:
    """Return data that JSON has a form for: no NaN, no numbers of numpy."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return None if not math.isfinite(value) else round(value, 6)
    return value
