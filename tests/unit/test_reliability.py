"""The page of promises: its figures are what the script makes of a test run, and its tests exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ..modules import module_at

ROOT = Path(__file__).parents[2]
reliability = module_at(ROOT / "docs/tools/reliability.py")
PAGE = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
MEASURED = json.loads((ROOT / "docs/tools/measured.json").read_text(encoding="utf-8"))

JUNIT = """<testsuites><testsuite>
<testcase classname="tests.faults.test_kill" name="test_a_job"><properties>
<property name="kills" value="1234"/></properties></testcase>
<testcase classname="tests.faults.test_kill" name="test_failed"><properties>
<property name="kills" value="1"/></properties><failure/></testcase>
<testcase classname="tests.faults.test_kill" name="test_silent"/>
</testsuite></testsuites>"""


def test_the_figures_are_those_that_the_script_writes() -> None:
    assert reliability.with_section(PAGE, MEASURED) == PAGE
    assert len(MEASURED) >= 5


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(tests/[\w/]+(?:\.py)?)`", PAGE))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    for test in MEASURED:
        file, _, name = test.partition("::")
        there = "make soak MINUTES" if name == "make soak" else f"def {name.partition('[')[0]}("
        assert there in (ROOT / file).read_text(encoding="utf-8")


def test_only_passed_tests_have_figures(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(JUNIT)
    found = reliability.figures_in(tmp_path / "junit.xml")
    assert found == {"tests/faults/test_kill.py::test_a_job": {"kills": "1234"}}
    assert "| a job | kills 1,234 | `tests/faults/test_kill.py` |" in reliability.section(found)
