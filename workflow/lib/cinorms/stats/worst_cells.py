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
    "side": WorstCell(
        rate=0.06,
        where="11 templates, reaction of wordings: a fifth moved",
        studies=100,
    ),
    "side, a tenth of the wordings": WorstCell(
        rate=0.215,
        where="15 templates, reaction of wordings: a tenth moved",
        studies=600,
    ),
}
