"""The files of a gate: JSON, JUnit XML as pytest writes it, the page; the command and its exit codes."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from cinorms.gate import verdicts
from cinorms.gate.__main__ import main
from cinorms.gate.files import FILES, as_document, as_junit, render, summary
from cinorms.gate.policy import load_policy
from cinorms.gate.side import Address
from cinorms.gate.verdicts import Gate

from ...html_page import Page
from .conftest import planted, writer

CLAIMS = {
    "overall": {"kind": "shift", "margin": 0.25, "about": "Why <b>it</b> matters."},
    "by-sender": {"kind": "shift", "by": "sender", "margin": 0.3},
    "stay": {"kind": "side", "stays": "unacceptable", "held_by_base": True, "allowed": 0.3},
    "norms": {"kind": "flips", "at_most": 0.05},
    "refusals": {"kind": "status", "may_rise": 0.02},
}


def write_places(project: Path) -> tuple[Path, Path, Path]:
    """Return the folders of a base and of a new study in which one sender moved, and a policy."""
    write_study = writer(project)
    new = planted(2)
    new[1::2] = np.clip(new[1::2] + np.random.default_rng(1).normal(1, 0.5, (1, 11, 1)).round(), -2, 2)
    policy = project / "strict.yaml"
    policy.write_text(yaml.safe_dump({"claims": CLAIMS}, sort_keys=False), encoding="utf-8")
    return write_study("v1", {"main": {"m": planted(1)}}), write_study("v2", {"main": {"m": new}}), policy


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Path]:
    return write_places(tmp_path)


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    base, new, policy = write_places(tmp_path_factory.mktemp("project"))
    return verdicts.run(Address(base, "main", "m"), Address(new, "main", "m"), load_policy(policy))


def test_the_json_has_every_claim_and_is_plain(gate):
    document = json.loads(json.dumps(as_document(gate), allow_nan=False))
    assert document["format"] == "gate v1"
    assert (document["verdict"], document["exit_code"]) == ("fail", 1)
    assert document["paired_by"] == ["flow", "template", "order"]
    by_name = {claim["name"]: claim for claim in document["claims"]}
    assert by_name["overall"]["low"] == round(gate.claims[0].finding.low, 6)
    assert by_name["by-sender: a camera"]["verdict"] == "pass"
    moved = by_name["by-sender: a lock"]
    assert moved["verdict"] == "fail"
    assert all("a lock tells" in flow["vignette"] and flow["shift"] > 0 for flow in moved["flows"])
    assert by_name["refusals"]["lower_limit"] is None
    assert summary(document).splitlines()[0] == "Gate strict: fail (v1/main/m -> v2/main/m, 60 flows)"


@pytest.mark.parametrize(
    ("base", "new", "mark"),
    [
        ("planted", "planted", "Simulated respondents: no model gave their answers."),
        (
            "model",
            "planted",
            "Simulated respondents (no model gave their answers): new (v2/main/m). The others are models.",
        ),
        (
            "people",
            "simulated people",
            "Rated by people, not by a model: base (v1/main/m). The others are simulated respondents: no model gave "
            "their answers.",
        ),
        (
            "simulated people",
            "simulated people",
            "Simulated ratings: no people and no model gave these answers.",
        ),
        ("people", "model", ""),
    ],
)
def test_a_gate_on_simulated_answers_says_so_first(gate, base, new, mark):
    kinds = {"base": base, "new": new}
    simulated = [name for name, kind in kinds.items() if kind.startswith(("planted", "simulated"))]
    sides = {
        name: replace(getattr(gate.matched, name), planted=name in simulated, are_people="people" in kind)
        for name, kind in kinds.items()
    }
    found = replace(gate, matched=replace(gate.matched, **sides))
    document = as_document(found)
    assert document["planted"] == simulated
    assert document["warnings"] == ([mark] if mark else [])
    lines, page = summary(document).splitlines(), Page(render(found))
    assert (
        lines[: lines.index("Gate strict: fail (v1/main/m -> v2/main/m, 60 flows)")] == document["warnings"]
    )
    assert mark not in lines[1:]
    assert [given.get("class") for _, given in page.tags].count("planted") == bool(mark)
    assert mark in page.text


#: The elements and attributes that pytest 9 writes, which every CI reads, and the type that XML of JUnit may have.
JUNIT = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "skipped": {"message", "type"},
    "properties": set(),
    "property": {"name", "value"},
}


def test_the_junit_file_is_laid_out_as_pytests_and_counts_what_it_holds(gate):
    root = ElementTree.fromstring(as_junit(gate).encode())
    assert {"failure", "properties"} <= {element.tag for element in root.iter()}
    for element in root.iter():
        assert set(element.attrib) <= JUNIT[element.tag], element.tag
    (suite,) = root
    failed = sum(claim.verdict == "fail" for claim in gate.claims)
    held = [len(suite.findall(f"testcase{tag}")) for tag in ("", "/failure", "/skipped", "/error")]
    assert [int(suite.attrib[count]) for count in ("tests", "failures", "skipped", "errors")] == held
    assert held[:2] == [len(gate.claims), failed]
    failure = suite.find("testcase[@name='by-sender: a lock']/failure")
    assert "a lock tells" in str(failure.text)
    assert "moves by less than 0.3 levels" in failure.get("message", "")


def test_the_page_needs_nothing_else_and_escapes_what_it_shows(gate):
    page = Page(render(gate))
    addresses = [given[key] for _, given in page.tags for key in ("src", "href") if key in given]
    assert all(address[0] == "#" for address in addresses)
    tags = [tag for tag, _ in page.tags]
    assert (tags.count("script"), tags.count("svg")) == (0, len(gate.claims))
    verdicts = [claim.verdict for claim in gate.claims]
    findings = {claim.finding.kind: claim.finding for claim in gate.claims}
    facts = findings["flips"].facts
    shown = ["Why <b>it</b> matters.", "a lock tells the police thing", "the line its 90% interval over"]
    shown += [text for claim in gate.claims for text in (claim.finding.name, claim.why)]
    shown += [f"{verdicts.count(verdict)} {verdict}" for verdict in ("pass", "fail", "undecided")]
    shown += [f"each with a level in {findings['side'].n_templates} wordings or more)"]
    shown += [
        f"of these changed{facts['of these changed']}between halves of both{facts['between halves of both']:.1%}"
    ]
    assert [text for text in shown if text not in page.text] == []
    assert "none [" not in page.text
    for once in (
        "the wordings of the question are treated as a sample",
        "norms that differ between halves of",
    ):
        assert page.text.count(once) == 1


def test_limits_intervals_and_flows_are_drawn_to_scale(gate):
    page = Page(render(gate))
    starts = [at for at, (tag, _) in enumerate(page.tags) if tag == "svg"]
    drawn: dict[str, list[tuple[float, Any]]] = {}
    for claim, first in zip(gate.claims, starts, strict=True):
        found, shapes = claim.finding, [given for _, given in page.tags[first + 1 : first + 5]]
        if found.kind == "side":
            of_flows = ("flows on this side beyond chance", "of these beyond chance, each alone")
            right, wrong = (found.facts[name] for name in of_flows)
            widths = [280 * n / found.n_flows for n in (right, found.n_flows - right - wrong, wrong)]
            assert [float(part["width"]) for part in shapes[:3]] == pytest.approx(widths, abs=0.06)
            continue
        band, zero, interval, estimate = shapes
        lower, upper = found.limits
        right_end = float(band["x"]) + float(band["width"])
        places = [(0.0, zero["x1"]), (found.low, interval["x1"]), (found.high, interval["x2"])]
        places += [(found.estimate, estimate["cx"]), (upper, right_end)]
        if lower is None:
            assert float(band["x"]) == 0
        else:
            places += [(lower, band["x"])]
        drawn.setdefault(found.kind, []).extend(places)
    assert list(drawn) == ["shift", "flips", "status"]
    for places in drawn.values():  # all claims of a kind have one scale
        numbers, at = np.array(places, dtype=float).T
        assert at == pytest.approx(np.round(12 + 256 * (numbers - numbers.min()) / np.ptp(numbers), 1))


def test_the_command_writes_the_files_and_ends_with_the_exit_code(places, capsys):
    base, new, policy = map(str, places)
    assert main(["--base", base, "--new", new, "--policy", policy]) == 1
    assert "by-sender: a lock" in capsys.readouterr().out
    assert sorted(path.name for path in (places[1] / "gate/strict").iterdir()) == sorted(FILES)
    own = places[1] / "own"
    assert main(["--base", base, "--new", base, "--policy", policy, "--out", str(own)]) in (0, 3)
    assert (own / "gate.json").is_file()


@pytest.mark.parametrize(
    ("damaged", "given", "says"),
    [
        # Options, texts in place of files of the base, or changes of its arm; and what a message says then.
        ("--new", "nothing", "NEW: 'nothing': there are no results of a study here"),
        ("--base", "x" * 5000, "BASE: 'xxx"),
        ("--policy", "none.yaml", "none.yaml: cannot be read"),
        ("--out", "/dev/null/gate", "/dev/null"),
        (
            "../../strict.yaml",
            "claims: {a: {kind: [shift]}}",
            "claims.a.kind: ['shift'] is not a kind of claim",
        ),
        ("study.json", "[1]", "study.json: is not a study's description"),
        ("study.json", "{}", "study.json: is not a study's description"),
        ("arm", {"scale": {"name": 1}}, "study.json: is not"),
        ("arm", {"dataset": "none"}, "none.parquet: there is no such file"),
        ("vignettes/iot.parquet", None, "iot.parquet: there is no such file"),
        ("answers/main/m.parquet", "x", "m.parquet"),
    ],
)
def test_what_cannot_be_judged_ends_with_2_and_one_message(places, capsys, damaged, given, says):
    base, _, policy = places
    options = {"--base": str(base), "--new": str(base), "--policy": str(policy)}
    if damaged == "arm":
        study = json.loads((base / "study.json").read_text())
        study["arms"]["main"] |= given
        (base / "study.json").write_text(json.dumps(study))
    elif damaged.startswith("--"):
        options[damaged] = given
    elif given is None:
        (base / damaged).unlink()
    else:
        (base / damaged).write_text(given)
    assert main([part for option in options.items() for part in option]) == 2
    message = capsys.readouterr().err
    assert message.startswith("\nThe gate cannot judge.\n")
    assert says in message
    assert "fault of cinorms" not in message
    assert "Traceback" not in message
    assert len(message) < 1500


def test_a_gate_without_its_packages_does_not_end_as_one_that_fails(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError(\"No module named 'numpy'\")")
    command = [sys.executable, "-m", "cinorms.gate", "--base", "a", "--new", "b", "--policy", "c"]
    path = f"{tmp_path}:{Path(verdicts.__file__).parents[2]}"
    done = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "No module named 'numpy'" in done.stderr
