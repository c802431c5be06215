"""The files of a gate: JSON for programs, JUnit XML for a CI, a page for people; and its summary for a terminal."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cinorms.core.files import replacing
from cinorms.core.filling import render_page
from cinorms.core.labels import percent
from cinorms.core.version import version
from cinorms.gate.claims import KINDS, ClaimFinding
from cinorms.gate.side import Side
from cinorms.gate.verdicts import Gate, Judged

FILES = ("gate.json", "junit.xml", "index.html")
#: How often each kind of claim passes where it should not, in the worst cell of `benchmarks/adversaries/run.py`.
WORST = json.loads(Path(__file__).with_name("worst_cells.json").read_text(encoding="utf-8"))
#: Raised when a key changes its name or its meaning.
VERSION = 1
#: XML 1.0 has no form for these characters, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(gate: Gate, files: Mapping[str, str | Path]) -> None:
    """Write each of `FILES` to the path given for it, whole or not at all."""
    texts = {
        "gate.json": json.dumps(as_document(gate), indent=1, ensure_ascii=False) + "\n",
        "junit.xml": as_junit(gate),
        "index.html": render(gate),
    }
    for name, path in files.items():
        with replacing(path) as part:
            part.write_text(texts[name], encoding="utf-8")


def summary(document: Mapping[str, Any]) -> str:
    """Return the verdicts of a gate, as its JSON has them, as lines for a terminal."""
    claims = document["claims"]
    width = max(len(claim["name"]) for claim in claims)
    mark = document["warnings"][: bool(document["planted"])]
    return "\n".join(
        [
            *mark,
            f"Gate {document['policy']['name']}: {document['verdict']} ({document['base']['address']} -> "
            f"{document['new']['address']}, {document['n_flows']:,} flows)",
            *(f"  {claim['verdict']:9}  {claim['name']:{width}}  {claim['why']}" for claim in claims),
            *(f"  warning    {warning}" for warning in document["warnings"][len(mark) :]),
        ]
    )


def as_document(gate: Gate) -> dict[str, Any]:
    """Return the gate as plain data; a number that there is none of is None."""
    matched, policy = gate.matched, gate.policy
    return {
        "format": f"gate v{VERSION}",
        "cinorms": version(),
        "verdict": gate.verdict,
        "exit_code": gate.exit_code,
        "policy": {
            "name": policy.name,
            "file": policy.file,
            **policy.settings.model_dump(include={"about", "confidence", "flows", "undecided"}),
        },
        "base": _side(matched.base),
        "new": _side(matched.new),
        "n_flows": len(matched.flows),
        "paired_by": [
            "flow",
            *(["template"] if matched.same_units else []),
            *(["order"] if matched.same_orders else []),
        ],
        "left_out": dict(matched.left_out),
        "planted": gate.planted,
        "warnings": [*filter(None, [gate.mark]), *gate.warnings],
        "claims": [_claim(claim) for claim in gate.claims],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "address": side.address.name,
        "folder": str(side.address.folder),
        "arm": side.address.arm,
        "model": side.address.model,
        "dataset": side.dataset,
        "people": side.are_people,
        "units": side.unit,
        "n_units": len(side.answers.units),
        "n_asked": int((side.answers.status >= 0).sum()),
        "n_answered": int(side.answers.given.sum()),
    }


def _claim(claim: Judged) -> dict[str, Any]:
    found, need = claim.finding, claim.finding.need
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
            "needs": {need.unit: need.more} if need and claim.verdict == "undecided" else None,
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


def as_junit(gate: Gate) -> str:
    """Return the XML. A failed claim is a failure; an undecided one is skipped, or a failure if the policy says so."""
    strict = gate.policy.settings.undecided == "fail"
    tags = {"pass": None, "fail": "failure", "undecided": "failure" if strict else "skipped"}
    outcomes = [tags[claim.verdict] for claim in gate.claims]
    failures, skipped = outcomes.count("failure"), outcomes.count("skipped")
    counts = {"tests": len(gate.claims), "failures": failures, "errors": 0, "skipped": skipped}
    shown = {key: str(value) for key, value in counts.items()}
    root = ElementTree.Element("testsuites", {"name": "cinorms gate", **shown, "time": "0"})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _text(gate.policy.name), **shown, "time": "0"})
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (
        ("base", gate.matched.base.address.name),
        ("new", gate.matched.new.address.name),
        ("verdict", gate.verdict),
    ):
        ElementTree.SubElement(properties, "property", {"name": name, "value": _text(value)})
    for claim, tag in zip(gate.claims, outcomes, strict=True):
        found = claim.finding
        named = {
            "name": _text(found.name),
            "classname": _text(f"{gate.policy.name}.{found.kind}"),
            "time": "0",
        }
        case = ElementTree.SubElement(suite, "testcase", named)
        if tag:
            outcome = ElementTree.SubElement(case, tag)
            outcome.set("message", _text(f"{found.says} {claim.verdict}: {claim.why}"))
        if tag == "failure":
            outcome.set("type", claim.verdict)
            flows = (
                f"{row.base_mean:+.2f} -> {row.new_mean:+.2f}  {row.vignette}"
                for row in found.flows.itertuples()
            )
            outcome.text = _text("\n".join(flows))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _text(value: str) -> str:
    return _FORBIDDEN.sub("\ufffd", value)


#: Width of a drawn interval, and what is left free at its ends.
WIDTH, FREE = 280.0, 12.0


def render(gate: Gate) -> str:
    """Return the page as one HTML text. Everything that comes from data is escaped."""
    matched, policy = gate.matched, gate.policy
    measured = [k for k in KINDS if k in WORST and any(claim.finding.kind == k for claim in gate.claims)]
    return render_page(
        "gate",
        "gate",
        gate=gate,
        policy=policy,
        base=matched.base,
        new=matched.new,
        sides=[
            ("Base", matched.base, _side(matched.base)),
            ("New", matched.new, _side(matched.new)),
        ],
        n_flows=len(matched.flows),
        paired=_paired(gate),
        left_out=[f"{n:,} {what}" for what, n in matched.left_out.items()],
        counts=[(v, sum(c.verdict == v for c in gate.claims)) for v in ("pass", "fail", "undecided")],
        claims=[_shown(claim, gate) for claim in gate.claims],
        alpha=percent(policy.alpha),
        confidence=percent(1 - 2 * policy.alpha),
        percent=percent,
        version=version(),
        worst=[(kind, WORST[kind], WORST[f"{kind}, a tenth of the wordings"]) for kind in measured],
    )


def _paired(gate: Gate) -> str:
    matched = gate.matched
    if matched.same_orders:
        return "flow, wording and answer order"
    if matched.same_units:
        return "flow and wording; the answer orders differ"
    return "flow only; the two sides share no wordings, so each counts as a sample of its own"


def _shown(claim: Judged, gate: Gate) -> dict[str, Any]:
    found = claim.finding
    drawn = _bar(found) if found.kind == "side" else _interval(found, [c.finding for c in gate.claims])
    return {
        "verdict": claim.verdict,
        "found": found,
        "why": claim.why,
        "numbers": _numbers(found),
        "drawn": drawn,
        "facts": [
            (name, percent(n, 1) if isinstance(n, float) else f"{n:,}") for name, n in found.facts.items()
        ],
        "counts": _what_counts(found) if found.kind == "flips" and math.isfinite(found.estimate) else "",
        "rows": found.flows.to_dict("records"),
        "shares": "base_share" in found.flows,
        "heading": KINDS[found.kind].shows,
    }


def _what_counts(found: ClaimFinding) -> str:
    facts = found.facts
    both, one = facts["between halves of both"], facts["between halves of one"]
    excess, of_both, of_one = (percent(part, 1) for part in (found.estimate, both, one))
    return (
        f"{excess} = {of_both} (norms that differ between halves of the two sides) - {of_one} (between halves of one "
        f"side). The {facts['of these changed']:,} of {facts['norms in both']:,} are a plain count and do not decide."
    )


def _numbers(found: ClaimFinding) -> str:
    if found.kind == "side":
        n, wrong = found.n_flows, found.facts["flows on the other side"]
        right = found.facts["flows on this side beyond chance"]
        have, are = "has its" if wrong == 1 else "have their", "is" if right == 1 else "are"
        other = f"{wrong:,} of {n:,} flows {have} mean on the other side"
        return f"{other}; {right:,} of {n:,} {are} shown to be on this side"
    show = _levels if found.unit == "levels" else partial(percent, decimals=1)
    if math.isnan(found.low):
        return show(found.estimate)
    return f"{show(found.estimate)} [{show(found.low)}, {show(found.high)}]"


def _levels(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:+.3f}"


def _interval(found: ClaimFinding, others: Sequence[ClaimFinding]) -> dict[str, Any]:
    """Return where limits, interval and estimate are drawn; all claims of a kind have one scale."""
    alike = [other for other in others if other.kind == found.kind]
    numbers = [v for other in alike for v in (other.low, other.high, other.estimate, *other.limits)]
    values = [0.0, *(v for v in numbers if v is not None and math.isfinite(v))]
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
    limits = [v for v in (lower, upper) if v is not None]
    drawn["labels"] = [(place(v), f"{v:+g}" if unit else percent(v)) for v in limits]
    return drawn


def _bar(found: ClaimFinding) -> dict[str, Any]:
    """Return the parts of a bar: flows shown to be on this side, undecided, shown to be on the other."""
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
