"""A small grid of the bench of adversaries: no interval is worse than what the docs say."""

import sys
import warnings
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


def test_the_worst_cell_of_an_interval_is_its_lowest(bench):
    cells = [
        bench.Cell("mean", "a", 0.9, 1),
        bench.Cell("mean", "b", 0.5, 1),
        bench.Cell("alpha", "c", 0.7, 1),
    ]
    assert [cell.where for cell in bench.worst(cells)] == ["b", "c"]


def test_a_claim_is_worst_where_most_pass(bench):
    cells = [bench.Cell("shift", "a", 0.1, 1), bench.Cell("shift", "b", 0.2, 1)]
    assert [cell.where for cell in bench.worst(cells)] == ["b"]


def test_the_docs_and_the_library_show_the_cells_that_were_measured(bench):
    found, marks = bench.known(), 0
    for page in (BENCH.parents[1] / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert bench.with_cells(text, found) == text, f"{page}: run benchmarks/adversaries/run.py 0 --write"
        marks += text.count("<!-- worst: ")
    assert marks >= 19
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
    where = (
        "5 wordings, rare wordings, complete",
        "11 wordings, rare wordings, complete",
        "8 skewed raters",
    )
    cells = [
        bench.Cell("mean", place, rate, 400) for place, rate in zip(where, (0.9, 0.844, 0.91), strict=True)
    ]
    assert bench.by_process(cells) == "rare (84 to 90), 8 skewed raters (91)"
    row = bench.summary([*cells, bench.Cell("mean", "30 wordings, rare wordings", 0.99, 400)]).splitlines()[
        -1
    ]
    assert "| 0 of 4 | rare (84 to 90), 8 skewed raters (91) | rare (99) | 400 |" in row
    claims = [bench.Cell("shift", "a", rate, 400) for rate in (0.07, 0.05)]
    assert "| 1 of 2 | a (7) | none | 400 |" in bench.summary(claims)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wording", "lowest"),
    [
        ("mean", "normal", 0.90),
        ("mean", "bimodal", 0.86),
        ("alpha", "bimodal", 0.84),
    ],
)
def test_intervals_cover_what_the_docs_say(bench, name, wording, lowest):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell = bench.coverage(name, 150, 11, wording, "by flow and answer")
    assert cell.rate >= lowest, cell


@pytest.mark.slow
@pytest.mark.parametrize(
    ("templates", "wording", "reacts", "highest"),
    [(11, "normal", "both", 0.05), (30, "bimodal", "both", 0.08), (11, "rare", "one", 0.15)],
)
def test_models_that_differ_by_the_margin_are_called_equivalent_as_rarely_as_the_docs_say(
    bench, templates, wording, reacts, highest
):
    assert bench.measurement.equivalence(300, templates, wording, reacts).rate <= highest
