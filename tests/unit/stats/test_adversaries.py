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
    page = (BENCH.parents[1] / "docs/method/stats/bench.md").read_text(encoding="utf-8")
    for promise in promised:
        cells = [cell for cell in bench.known() if cell.promise == promise]
        assert cells, f"{promise}: run benchmarks/adversaries/run.py 400 '{promise}' --write"
        assert f"| {promise} |" in page
        excluded = [line for line in page.splitlines() if line.startswith(f"- **{promise}**: ")]
        for cell in cells:
            first, _, rest = cell.where.partition(", ")
            named = any(f"{first} {cell.rate:.1%}" in line and rest in line for line in excluded)
            assert named != bench.kept(cell), cell


def test_a_cell_outside_of_what_is_promised_is_excluded_by_name(bench):
    cells = [
        bench.Cell("mean", f"{n} templates, rare wordings", rate, 400) for n, rate in ((5, 0.9), (11, 0.95))
    ]
    assert bench.named(cells[:1]) == "rare wordings: 5 templates 90.0%"
    narrow, _, wide = bench.summary([*cells, bench.Cell("mean", "3 templates, x", 0.99, 400)]).rpartition(
        "## Wider"
    )
    assert "- **mean**: rare wordings: 5 templates 90.0%." in narrow
    assert "- **mean**: x: 3 templates 99.0%." in wide
    assert not bench.kept(bench.Cell("shift", "", 0.07, 400))
    assert bench.kept(bench.Cell("shift", "", 0.05, 400))


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
