"""The bench of adversaries: its page and the library show what was measured."""

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "benchmarks" / "adversaries"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import measurement
    import run

    run.measurement = measurement
    yield run
    for name in ("run", "processes", "promises", "measurement"):
        sys.modules.pop(name, None)


def test_the_worst_cell_is_the_lowest_of_an_interval_and_the_highest_of_a_claim(bench):
    rates = [
        ("mean", "a", 0.9),
        ("mean", "b", 0.5),
        ("alpha", "c", 0.7),
        ("shift", "d", 0.1),
        ("shift", "e", 0.2),
    ]
    cells = [bench.Cell(*cell, 1) for cell in rates]
    assert [cell.where for cell in bench.worst(cells)] == ["b", "c", "e"]


def test_the_docs_and_the_library_show_the_cells_that_were_measured(bench):
    found, marks = bench.known(), 0
    for page in (BENCH.parents[1] / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert bench.with_cells(text, found) == text, f"{page}: run benchmarks/adversaries/run.py 0 --write"
        marks += text.count("<!-- worst: ")
    assert marks >= 16
    assert bench.OF_GATES.read_text(encoding="utf-8") == bench.of_gates(found)


def test_every_promise_is_measured_and_is_a_row_of_the_page(bench):
    promised = [*bench.INTERVALS, *bench.promises.INTERVALS, *bench.promises.TESTS]
    assert set(bench.promises.ABOUT) == set(promised)
    for promise in promised:
        cells = [cell for cell in bench.known() if cell.promise == promise]
        assert cells, f"{promise}: run benchmarks/adversaries/run.py 400 '{promise}' --write"
    page = (BENCH.parents[1] / "docs/method/stats/bench.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert {row.split(" | ")[0].removeprefix("| ") for row in rows} == set(promised)


def test_the_page_names_the_processes_in_which_a_promise_is_not_kept(bench):
    rates = {
        "5 wordings, rare wordings, complete": 0.9,
        "11 wordings, rare wordings, complete": 0.844,
        "11 wordings, normal wordings": 0.95,
        "8 skewed raters": 0.91,
        "30 wordings, rare wordings": 0.99,
    }
    row = bench.summary([bench.Cell("mean", where, rate, 400) for where, rate in rates.items()])
    assert "| 1/2 | 1/5 | rare 84–90, 8 skewed raters 91 | rare 99 |" in row
    claims = [bench.Cell("shift", "a", rate, 400) for rate in (0.07, 0.05)]
    assert "| – | 1/2 | a 7 | – |" in bench.summary(claims)
