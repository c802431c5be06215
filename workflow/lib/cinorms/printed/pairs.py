"""Kind ``pairs``: p-values of every two models as the lower half of a square (LLM-CI Tables 2-4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from cinorms.entries.kinds import Selected
from cinorms.printed.cells import NONE, Cell, Group, Printed, heading, p_times, planted_note

_TESTS = {"wilcoxon_pairs": "Wilcoxon's signed ranks", "paired_t": "paired t-test"}
_CORRECTIONS = {
    "none": "not corrected",
    "bonferroni": "Bonferroni-corrected",
    "holm": "Holm-corrected",
    "bh": "Benjamini-Hochberg-corrected",
}


def pairs(selected: Sequence[Selected], entry: Mapping[str, Any]) -> Printed:
    """Return a row and a column per model, a group of rows per arm; a dash on the diagonal."""
    frames = [one.frame for one in selected]
    whole = pd.concat(frames, ignore_index=True)
    # Pairs of one arm: those of one model in two arms are no square.
    frame = whole[whole["arm_a"] == whole["arm_b"]]
    correction = entry.get("correction", "none")
    column = "log10_p" if correction == "none" else f"log10_p_{correction}"
    models = entry.get("models") or list(dict.fromkeys([*frame["model_a"], *frame["model_b"]]))
    arms = list(dict.fromkeys(frame["arm_a"]))
    tests = ", ".join(_TESTS.get(str(test), str(test)) for test in dict.fromkeys(frame["test"]))
    return Printed(
        title=entry.get("title", ""),
        header=(heading("", *models[:-1]),),
        groups=tuple(
            Group(str(arm) if len(arms) > 1 else "", _square(frame[frame["arm_a"] == arm], models, column))
            for arm in arms
        ),
        notes=(
            f"p-values, {tests}, {_CORRECTIONS[correction]}.",
            *_missing(frame),
            *planted_note(frames),
        ),
        grouped="arm",
    )


def _square(frame: pd.DataFrame, models: Sequence[str], column: str) -> tuple[tuple[Cell, ...], ...]:
    p = {
        frozenset((row["model_a"], row["model_b"])): p_times(row[column]) for row in frame.to_dict("records")
    }
    return tuple(
        (
            Cell(model),
            *(
                Cell("—") if i == j else Cell() if j > i else p.get(frozenset((model, other)), Cell(NONE))
                for j, other in enumerate(models[:-1])
            ),
        )
        for i, model in enumerate(models)
    )


def _missing(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return why pairs have no p-value."""
    without = frame[frame["status"] != "ok"]
    reasons = [
        f"{a} and {b}: {str(status).replace('_', ' ')}"
        for a, b, status in without[["model_a", "model_b", "status"]].to_numpy()
    ]
    return (f"{NONE}: {'; '.join(dict.fromkeys(reasons))}.",) if reasons else ()
