"""Who coded the answers of a study with a coder, and whether the coder's codes count."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from cinorms.coding.agreement import COUNTS, INCOMPLETE, NONE, TOO_LOW
from cinorms.coding.codes import BY_HAND, rule_of
from cinorms.report.results import Results
from cinorms.report.words import count

VERDICTS = {
    COUNTS: "these codes count",
    INCOMPLETE: "these codes do not count until the whole sample is coded by hand (coding/to_code.csv)",
    TOO_LOW: "these codes do not count: the agreement is too low",
    NONE: "the coder gave none",
}
KINDS = {"level": "codes with a level", "no level": "codes without a level"}


def readers(results: Results) -> list[tuple[str, str]]:
    """Return who coded how many answers, and how often a person agrees with the coder; empty without a coder."""
    if results.readers is None or results.agreement is None:
        return []
    coder = str(results.study.coder)
    by = results.readers
    n_coder, n_hand = int(by.get(rule_of(coder), 0)), int(by.get(BY_HAND, 0))
    rows = [
        ("Read by rules", f"{count(int(by.sum()) - n_coder - n_hand)} answers"),
        ("Read by a person", f"{count(n_hand)} answers"),
        (f"Read by {coder}", f"{count(n_coder)} answers that no rule could read"),
    ]
    return rows + [_verdict(coder, row) for row in results.agreement.to_dict("records")]


def _verdict(coder: str, row: Mapping[Hashable, Any]) -> tuple[str, str]:
    """Return how one kind of code did in the sample."""
    checked = f"{count(row['codes'])} given; {count(row['coded_by_hand'])} of {count(row['sample'])} checked by hand"
    if row["coded_by_hand"]:
        checked += (
            f", {row['agreed']} confirmed ({row['share']:.3f}, 95% interval {row['low']:.3f} to {row['high']:.3f} over "
            f"replies; needed: {row['needed']:g} at its lower end)"
        )
    return f"{coder}, {KINDS[row['kind']]}", f"{checked}; {VERDICTS[row['status']]}"
