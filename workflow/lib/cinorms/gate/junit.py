"""A gate as JUnit XML, which every CI shows: a test case per claim."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from cinorms.gate.verdicts import Gate, Judged

#: XML 1.0 has no form for these characters, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(gate: Gate) -> str:
    """Return the XML. A failed claim is a failure; an undecided one is skipped, or a failure if the policy says so."""
    strict = gate.policy.settings.undecided == "fail"
    failures = sum(c.verdict == "fail" or (strict and c.verdict == "undecided") for c in gate.claims)
    skipped = sum(c.verdict == "undecided" and not strict for c in gate.claims)
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
    for claim in gate.claims:
        _case(suite, gate, claim, strict)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(suite: ElementTree.Element, gate: Gate, claim: Judged, strict: bool) -> None:
    classname = _text(f"{gate.policy.name}.{claim.finding.kind}")
    case = ElementTree.SubElement(
        suite, "testcase", {"name": _text(claim.finding.name), "classname": classname, "time": "0"}
    )
    message = _text(f"{claim.finding.says} {claim.verdict}: {claim.why}")
    if claim.verdict == "fail" or (strict and claim.verdict == "undecided"):
        failure = ElementTree.SubElement(case, "failure", {"message": message, "type": claim.verdict})
        failure.text = _text(_flows(claim))
    elif claim.verdict == "undecided":
        ElementTree.SubElement(case, "skipped", {"message": message})


def _flows(claim: Judged) -> str:
    """Return the flows behind a verdict, one a line."""
    return "\n".join(
        f"{row.base_mean:+.2f} -> {row.new_mean:+.2f}  {row.vignette}"
        for row in claim.finding.flows.itertuples()
    )


def _text(value: str) -> str:
    return _FORBIDDEN.sub("\ufffd", value)
