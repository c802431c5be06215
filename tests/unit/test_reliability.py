"""The page of promises: its figures are what the script makes of a test run, and its tests exist."""

import json
import os
import re
from pathlib import Path

from ..modules import module_at

ROOT = Path(__file__).parents[2]
reliability = module_at(ROOT / "docs/tools/reliability.py")
PAGE = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
MEASURED = json.loads((ROOT / "docs/tools/measured.json").read_text(encoding="utf-8"))

JUNIT = """<testsuites><testsuite>
<testcase classname="tests.faults.test_kill" name="test_a_job[live]"><properties>
<property name="prompts" value="{}"/><property name="kills" value="3"/></properties></testcase>
<testcase classname="tests.faults.test_kill" name="test_failed"><properties>
<property name="kills" value="1"/></properties><failure/></testcase>
<testcase classname="tests.faults.test_kill" name="test_silent"/>
</testsuite></testsuites>"""
TABLE = """# Page

| promise | tested by | last measured |
|---|---|---|
| a \\| b | `tests/faults/test_kill.py` |{}|
| c | `tests/faults/test_kill.py::test_b` | |
| d | `tests/faults/soak.py`, `make soak` |{}|

| promise | tested by |
|---|---|
| e | `tests/faults/test_kill.py` |
"""


def test_the_figures_are_those_that_the_script_writes():
    assert reliability.with_figures(PAGE, MEASURED) == PAGE
    assert len(MEASURED) >= 5
    for test, figures in MEASURED.items():
        assert reliability._shown(test, figures) in PAGE, f"no promise names {test}"


def test_every_test_that_the_page_names_exists():
    named = set(re.findall(r"`(tests/[\w/]+(?:\.py)?)(?:::(\w+))?`", PAGE))
    assert len(named) > 20
    assert [file for file, _ in sorted(named) if not (ROOT / file).exists()] == []
    for file, name in named | {tuple(test.partition("[")[0].split("::")) for test in MEASURED}:
        there = "make soak MINUTES" if name == "make soak" else f"def {name}("
        assert not name or there in (ROOT / file).read_text(encoding="utf-8")


def test_passed_tests_have_figures_and_a_smaller_or_missing_run_changes_none(tmp_path, monkeypatch):
    page, junit, soak = (tmp_path / name for name in ("page.md", "faults.xml", "soak.json"))
    page.write_text(TABLE.format(" ", ""), encoding="utf-8")
    monkeypatch.setattr(reliability, "PAGE", page)
    monkeypatch.setattr(reliability, "MEASURED", tmp_path / "measured.json")

    def run(path: Path, content: str) -> str:
        path.write_text(content, encoding="utf-8")
        os.utime(path, (1_800_000_000, 1_800_000_000))
        reliability.main([str(path)])
        return page.read_text(encoding="utf-8")

    of_job = " live: prompts 1,234, kills 3, on 2027-01-15 "
    assert run(junit, JUNIT.format(1234)) == TABLE.format(of_job, " ")
    assert run(junit, JUNIT.format(40)) == TABLE.format(of_job, " ")
    found = run(soak, json.dumps({"tests/faults/soak.py::make soak": {"minutes": "60", "differing": "0"}}))
    assert found == TABLE.format(of_job, " minutes 60, differing 0, on 2027-01-15 ")
