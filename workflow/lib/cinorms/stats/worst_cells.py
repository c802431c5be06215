"""The worst cell that was measured of each promise, as ``benchmarks/adversaries/run.py --write`` wrote it."""

from __future__ import annotations

from typing import NamedTuple


class WorstCell(NamedTuple):
    """How often a promise was kept (an interval) or broken (a test, a claim) where it holds worst."""

    rate: float
    where: str
    studies: int

    @property
    def words(self) -> str:
        """The cell in words."""
        return f"{self.rate:.1%} ({self.where}; {self.studies:,} studies)"


WORST: dict[str, WorstCell] = {
    "g": WorstCell(
        rate=0.917,
        where="5 templates, bimodal wordings, skewed flows, complete",
        studies=60,
    ),
    "mean distance": WorstCell(
        rate=0.905,
        where="26 normal raters, 5 per flow",
        studies=200,
    ),
    "mean distance, 8 raters": WorstCell(
        rate=0.892,
        where="8 skewed raters, all rate all",
        studies=400,
    ),
    "people for each flow, 12 rated": WorstCell(
        rate=0.908,
        where="12 of 100 flows rated by 20 each, own parts 0.2",
        studies=400,
    ),
    "people with a model that saw the ratings": WorstCell(
        rate=0.0,
        where="20 skewed raters, 30 rated flows, useless model",
        studies=30,
    ),
    "phi": WorstCell(
        rate=0.85,
        where="30 templates, student wordings, normal flows, complete",
        studies=60,
    ),
    "phi, few wordings move much": WorstCell(
        rate=0.783,
        where="30 templates, rare wordings, skewed flows, complete",
        studies=60,
    ),
    "shift": WorstCell(
        rate=0.197,
        where="7 templates, reaction of wordings: a fifth moved",
        studies=600,
    ),
    "shift, a tenth of the wordings": WorstCell(
        rate=0.453,
        where="7 templates, reaction of wordings: a tenth moved",
        studies=600,
    ),
    "side": WorstCell(
        rate=0.048,
        where="30 templates, reaction of wordings: a fifth moved",
        studies=600,
    ),
    "side, a tenth of the wordings": WorstCell(
        rate=0.215,
        where="15 templates, reaction of wordings: a tenth moved",
        studies=600,
    ),
    "stable norms": WorstCell(
        rate=0.973,
        where="30 templates, effects of flow and template together 0.5",
        studies=10,
    ),
    "stable norms, one order": WorstCell(
        rate=0.926,
        where="11 templates, effects of flow and template together 0.2",
        studies=10,
    ),
    "status": WorstCell(
        rate=0.215,
        where="7 templates, reaction of wordings: a fifth moved",
        studies=600,
    ),
    "status, a tenth of the wordings": WorstCell(
        rate=0.482,
        where="7 templates, reaction of wordings: a tenth moved",
        studies=600,
    ),
    "trace slopes": WorstCell(
        rate=0.975,
        where="20 templates, 200 flows",
        studies=200,
    ),
    "trace slopes over flows": WorstCell(
        rate=0.57,
        where="11 templates, 200 flows",
        studies=200,
    ),
    "until decided": WorstCell(
        rate=0.014,
        where="45% of the answers take the first option, 720 flows",
        studies=3,
    ),
}
