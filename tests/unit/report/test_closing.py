"""Closing words name what a run made, and nothing else."""

from __future__ import annotations

import pytest

from cinorms.report.closing import closing_words

PLACES = {
    "Comparison": ["results/s/index.html"],
    "Report": ["results/s/report/index.html"],
    "Tables": [f"results/s/tables/{name}.csv" for name in "abcde"],
    "Figures": ["results/s/figures/x.png", "results/s/figures/y.png"],
}


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        ([], []),
        (["results/s/answers/main/m.parquet"], []),
        (["results/s/report/index.html"], ["Report  results/s/report/index.html"]),
        (PLACES["Tables"], ["Tables  results/s/tables/"]),
        (PLACES["Tables"][:2], ["Tables  results/s/tables/a.csv, results/s/tables/b.csv"]),
        (PLACES["Tables"][:4], ["Tables  results/s/tables/"]),
        (
            ["results/s/index.html", *PLACES["Figures"]],
            ["Comparison  results/s/index.html", "Figures     results/s/figures/"],
        ),
    ],
)
def test_only_what_this_run_made_is_named(made: list[str], lines: list[str]) -> None:
    words = closing_words(PLACES, made)
    assert [line.strip() for line in words.splitlines() if line] == lines


def test_the_mark_is_below_what_was_made_only() -> None:
    assert closing_words(PLACES, [], "Planted.") == ""
    assert closing_words(PLACES, ["results/s/index.html"], "Planted.").rstrip().endswith("  Planted.")
