"""A gate as a page for people: verdicts with their intervals and limits, and the flows behind each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cinorms import __version__
from cinorms.core.templates import environment
from cinorms.gate.claims import KINDS, Finding
from cinorms.gate.verdicts import Gate, Judged

#: Width of a drawn interval, and what is left free at its ends.
WIDTH, FREE = 280.0, 12.0


def render(gate: Gate) -> str:
    """Return the page as one HTML text. Everything that comes from data is escaped."""
    matched, policy = gate.matched, gate.policy
    return (
        environment("gate")
        .get_template("gate.html")
        .render(
            gate=gate,
            policy=policy,
            base=matched.base,
            new=matched.new,
            sides=[
                ("Base", matched.base, len(matched.of_base.units)),
                ("New", matched.new, len(matched.of_new.units)),
            ],
            n_flows=len(matched.flows),
            paired=_paired(gate),
            left_out=[f"{n:,} {what}" for what, n in matched.left_out.items()],
            counts=[(v, sum(c.verdict == v for c in gate.claims)) for v in ("pass", "fail", "undecided")],
            claims=[_claim(claim, gate) for claim in gate.claims],
            alpha=f"{policy.alpha:.1%}".replace(".0%", "%"),
            confidence=f"{1 - 2 * policy.alpha:.1%}".replace(".0%", "%"),
            version=__version__,
        )
    )


def _paired(gate: Gate) -> str:
    matched = gate.matched
    if matched.same_orders:
        return "flow, template and answer order"
    if matched.same_units:
        return "flow and template; the answer orders differ"
    return "flow only; the two sides share no wordings, so each counts as a sample of its own"


def _claim(claim: Judged, gate: Gate) -> dict[str, Any]:
    found = claim.finding
    drawn = _bar(found) if found.kind == "side" else _interval(found, [c.finding for c in gate.claims])
    return {
        "verdict": claim.verdict,
        "found": found,
        "why": claim.why,
        "numbers": _numbers(found),
        "drawn": drawn,
        "facts": [(name, _fact(value)) for name, value in found.facts.items()],
        "rows": found.flows.to_dict("records"),
        "shares": "base_share" in found.flows,
        "heading": KINDS[found.kind].shows,
    }


def _numbers(found: Finding) -> str:
    if found.kind == "side":
        return f"{_share(found.estimate)} of {found.n_flows:,} flows"
    show = _levels if found.unit == "levels" else _share
    if math.isnan(found.low):
        return show(found.estimate)
    return f"{show(found.estimate)} [{show(found.low)}, {show(found.high)}]"


def _levels(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:+.3f}"


def _share(value: float) -> str:
    return "none" if math.isnan(value) else f"{100 * value:.1f}%"


def _fact(value: int | float) -> str:
    return _share(value) if isinstance(value, float) else f"{value:,}"


def _interval(found: Finding, others: Sequence[Finding]) -> dict[str, Any]:
    """Return where limits, interval and estimate are drawn; all claims of a kind have one scale."""
    alike = [each for each in others if each.kind == found.kind]
    values = [0.0]
    for each in alike:
        values += [
            v
            for v in (each.low, each.high, each.estimate, *each.limits)
            if v is not None and math.isfinite(v)
        ]
    low, high = min(values), max(values)
    step = (WIDTH - 2 * FREE) / ((high - low) or 1.0)

    def place(value: float) -> float:
        return round(FREE + (value - low) * step, 1)

    lower, upper = found.limits
    assert upper is not None
    drawn: dict[str, Any] = {"kind": "interval", "width": WIDTH, "zero": place(0.0), "upper": place(upper)}
    drawn["lower"] = 0.0 if lower is None else place(lower)
    drawn["estimate"] = place(found.estimate) if math.isfinite(found.estimate) else None
    has = math.isfinite(found.low) and math.isfinite(found.high)
    drawn |= {"low": place(found.low), "high": place(found.high)} if has else {"low": None, "high": None}
    unit = found.unit == "levels"
    drawn["labels"] = [
        (place(v), f"{v:+g}" if unit else f"{100 * v:g}%") for v in (lower, upper) if v is not None
    ]
    return drawn


def _bar(found: Finding) -> dict[str, Any]:
    """Return the parts of a bar: flows on the right side beyond chance, not clear, on the wrong side beyond chance."""
    n = max(found.n_flows, 1)
    right = found.facts["flows on this side beyond chance"]
    wrong = found.facts["of these beyond chance, each alone"]
    parts = [("right", right), ("unclear", found.n_flows - right - wrong), ("wrong", wrong)]
    at, drawn = 0.0, []
    for name, count in parts:
        width = round(WIDTH * count / n, 1)
        drawn.append({"name": name, "at": round(at, 1), "width": width, "count": int(count)})
        at += width
    return {"kind": "bar", "width": WIDTH, "parts": drawn}
