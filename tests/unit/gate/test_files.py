"""The files of a gate: JSON, JUnit XML as pytest writes it, the page; the command and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
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
from .conftest import Write, planted

CLAIMS = {
    "overall": {"kind": "shift", "margin": 0.25, "about": "Why <b>it</b> matters."},
    "by-sender": {"kind": "shift", "by": "sender", "margin": 0.3},
    "stay": {"kind": "side", "stays": "unacceptable", "held_by_base": True, "allowed": 0.3},
    "norms": {"kind": "flips", "at_most": 0.05},
    "refusals": {"kind": "status", "may_rise": 0.02},
}


@pytest.fixture
def places(write_study: Write, tmp_path: Path) -> tuple[Path, Path, Path]:
    """Return the folders of a base and of a new study in which one sender moved, and a policy."""
    new = planted(2)
    new[1::2] = np.clip(new[1::2] + np.random.default_rng(1).normal(1, 0.5, (1, 11, 1)).round(), -2, 2)
    policy = tmp_path / "strict.yaml"
    policy.write_text(yaml.safe_dump({"claims": CLAIMS}, sort_keys=False), encoding="utf-8")
    return write_study("v1", {"main": {"m": planted(1)}}), write_study("v2", {"main": {"m": new}}), policy


@pytest.fixture
def gate(places: tuple[Path, Path, Path]) -> Gate:
    """Return the gate of both."""
    base, new, policy = places
    return verdicts.run(Address(base, "main", "m"), Address(new, "main", "m"), load_policy(policy))


def test_the_json_has_every_claim_and_is_plain(gate: Gate) -> None:
    document = json.loads(json.dumps(as_document(gate), allow_nan=False))
    assert document["format"] == "gate v1"
    assert (document["verdict"], document["exit_code"]) == ("fail", 1)
    assert document["base"]["address"] == "v1/main/m"
    assert document["paired_by"] == ["flow", "template", "order"]
    by_name = {claim["name"]: claim for claim in document["claims"]}
    assert by_name["by-sender: a lock"]["verdict"] == "fail"
    assert by_name["by-sender: a camera"]["verdict"] == "pass"
    moved = by_name["by-sender: a lock"]["flows"]
    assert all("a lock tells" in flow["vignette"] and flow["shift"] > 0 for flow in moved)
    assert by_name["refusals"]["lower_limit"] is None
    assert summary(document).splitlines()[0] == "Gate strict: fail (v1/main/m -> v2/main/m, 60 flows)"


def test_the_junit_file_has_the_elements_and_attributes_that_pytest_writes(
    gate: Gate, tmp_path: Path
) -> None:
    """Every CI reads what pytest writes; it is the independent measure of the format."""
    (tmp_path / "test_three.py").write_text(
        "import pytest\ndef test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pytest.skip('no')\n"
        "def test_d(record_testsuite_property): record_testsuite_property('a', 'b')\n"
    )
    options = ["-p", "no:cacheprovider", "-c", "/dev/null", "--junitxml", "pytest.xml", "test_three.py"]
    subprocess.run([sys.executable, "-m", "pytest", *options], cwd=tmp_path, capture_output=True)
    theirs: dict[str, set[str]] = {}
    for element in ElementTree.parse(tmp_path / "pytest.xml").iter():
        theirs.setdefault(element.tag, set()).update(element.attrib)
    ours = ElementTree.fromstring(as_junit(gate).encode())
    assert {"testsuites", "testsuite", "testcase", "failure", "properties"} <= {e.tag for e in ours.iter()}
    for element in ours.iter():
        extra = {"type"} if element.tag == "failure" else set()  # which verdict it is
        of_suites = (
            {"name", "tests", "failures", "errors", "skipped", "time"}
            if element.tag == "testsuites"
            else set()
        )
        assert set(element.attrib) <= theirs[element.tag] | extra | of_suites, element.tag


def test_the_junit_file_counts_what_it_holds(gate: Gate) -> None:
    root = ElementTree.fromstring(as_junit(gate).encode())
    (suite,) = root
    cases = suite.findall("testcase")
    assert int(suite.get("tests", 0)) == len(cases) == len(gate.claims)
    assert (
        int(suite.get("failures", 0))
        == len(suite.findall("testcase/failure"))
        == sum(c.verdict == "fail" for c in gate.claims)
    )
    assert int(suite.get("skipped", 0)) == len(suite.findall("testcase/skipped"))
    failure = next(case for case in cases if case.get("name") == "by-sender: a lock").find("failure")
    assert failure is not None
    assert failure.text is not None
    assert "a lock tells" in failure.text
    assert "moves by less than 0.3 levels" in failure.get("message", "")


def test_an_undecided_claim_is_skipped_or_a_failure_as_the_policy_says(
    write_study: Write, tmp_path: Path
) -> None:
    folders = [write_study(name, {"main": {"m": planted(i, n_templates=2)}}) for i, name in enumerate("ab")]
    for undecided, tag in (("report", "skipped"), ("fail", "failure")):
        policy = tmp_path / "p.yaml"
        claims = {"overall": {"kind": "shift", "margin": 0.1}}
        policy.write_text(yaml.safe_dump({"claims": claims, "undecided": undecided}), encoding="utf-8")
        found = verdicts.run(*(Address(folder, "main", "m") for folder in folders), load_policy(policy))
        assert ElementTree.fromstring(as_junit(found).encode()).find(f"testsuite/testcase/{tag}") is not None


def test_the_page_needs_nothing_else_and_escapes_what_it_shows(gate: Gate) -> None:
    page = Page(render(gate))
    text = page.text
    assert not [
        v for _, given in page.tags for k, v in given.items() if k in ("src", "href") and str(v)[0] != "#"
    ]
    tags = [tag for tag, _ in page.tags]
    assert "script" not in tags
    assert "Why <b>it</b> matters." in text
    assert tags.count("svg") == len(gate.claims)
    for claim in gate.claims:
        assert claim.finding.name in text
        assert claim.why in text
    assert "a lock tells the police thing" in text
    assert "none [" not in text


def test_the_command_writes_the_files_and_ends_with_the_exit_code(
    places: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    base, new, policy = map(str, places)
    assert main(["--base", base, "--new", new, "--policy", policy]) == 1
    assert "by-sender: a lock" in capsys.readouterr().out
    assert sorted(path.name for path in (places[1] / "gate/strict").iterdir()) == sorted(FILES)
    assert main(["--base", base, "--new", base, "--policy", policy, "--out", str(places[1] / "own")]) in (
        0,
        3,
    )
    assert (places[1] / "own/gate.json").is_file()


def _damaged(**changes: object) -> Callable[[Path, Path], None]:
    """Return what writes ``changes`` of the arm into the study's description."""

    def damage(folder: Path, policy: Path) -> None:
        study = json.loads((folder / "study.json").read_text())
        study["arms"]["main"] |= changes
        (folder / "study.json").write_text(json.dumps(study))

    return damage


def _study_of(text: str) -> Callable[[Path, Path], None]:
    return lambda folder, policy: (folder / "study.json").write_text(text) and None


def _policy_of(text: str) -> Callable[[Path, Path], None]:
    return lambda folder, policy: policy.write_text(text) and None


@pytest.mark.parametrize(
    ("damage", "given", "says"),
    [
        (None, {"new": "nothing"}, "NEW: 'nothing': there are no results of a study here"),
        (None, {"base": "x" * 5000}, "BASE: 'xxx"),
        (None, {"policy": "none.yaml"}, "none.yaml: cannot be read"),
        (None, {"out": "/dev/null/gate"}, "/dev/null"),
        (_policy_of("claims: {a: {kind: [shift]}}"), {}, "claims.a.kind: ['shift'] is not a kind of claim"),
        (_study_of("[1]"), {}, "study.json: is not a study's description"),
        (_study_of("{}"), {}, "study.json: is not a study's description"),
        (_study_of('{"arms": null, "t_val": {}, "t_maj": 0.5}'), {}, "study.json: is not"),
        (_study_of('{"arms": {"main": null}, "t_val": {}, "t_maj": 0.5}'), {}, "study.json: is not"),
        (_damaged(scale="none"), {}, "study.json: is not"),
        (_damaged(scale={"name": 1}), {}, "study.json: is not"),
        (_damaged(models=None), {}, "study.json: is not"),
        (_damaged(dataset="none"), {}, "study.json: is not"),
        (
            lambda folder, _: (folder / "vignettes/iot.parquet").unlink(),
            {},
            "iot.parquet: there is no such file",
        ),
        (
            lambda folder, policy: (folder / "answers/main/m.parquet").write_text("x") and None,
            {},
            "m.parquet",
        ),
    ],
)
def test_what_cannot_be_judged_ends_with_2_and_one_message(
    places: tuple[Path, Path, Path],
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path, Path], None] | None,
    given: dict[str, str],
    says: str,
) -> None:
    base, _, policy = places
    if damage:
        damage(base, policy)
    options = {"base": str(base), "new": str(base), "policy": str(policy)} | given
    assert main([part for name, value in options.items() for part in (f"--{name}", value)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("\nThe gate cannot judge.\n")
    assert says in message
    assert "fault of cinorms" not in message
    assert "Traceback" not in message
    assert len(message) < 1500


def test_a_fault_of_the_gate_itself_has_no_exit_code_of_a_verdict(
    places: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "judge", lambda *_: {}["shift"])
    base, new, policy = map(str, places)
    assert main(["--base", base, "--new", new, "--policy", policy]) == 2
    message = capsys.readouterr().err
    assert "KeyError: 'shift' (test_files.py, line " in message
    assert "please report it" in message


def test_a_gate_without_its_packages_does_not_end_as_one_that_fails(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError(\"No module named 'numpy'\")")
    command = [sys.executable, "-m", "cinorms.gate", "--base", "a", "--new", "b", "--policy", "c"]
    path = f"{tmp_path}:{Path(verdicts.__file__).parents[2]}"
    done = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 2
    assert "No module named 'numpy'" in done.stderr


def test_the_same_gate_gives_the_same_files(gate: Gate, places: tuple[Path, Path, Path]) -> None:
    base, new, policy = places
    again = verdicts.run(Address(base, "main", "m"), Address(new, "main", "m"), load_policy(policy))
    assert as_document(again) == as_document(gate)
    assert render(again) == render(gate)
