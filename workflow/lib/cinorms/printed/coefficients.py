"""Kind ``coefficients``: the terms of ordinal regressions, models side by side (PETS Table 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from cinorms.core.labels import model_labels
from cinorms.core.scales import spoken_of
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.printed.cells import (
    NONE,
    STARS_TEXT,
    Cell,
    FromAnalyses,
    Group,
    Printed,
    decimals,
    heading,
    marked,
    p_starred,
    together,
)

#: The term of the cutpoints between values, which the paper does not print.
THRESHOLD = "threshold"
_COLUMNS = ("Coef.", "Std. err.", "z", "p")
#: Why a term has no numbers.
_REASONS = {
    "separated": "no finite estimate, as all flows of the level have the lowest or highest value",
    "aliased": "cannot be separated from other terms",
    "constant_factor": "one level only",
    "not_estimated": "the fit gave none",
}


class CoefficientsOptions(FromAnalyses):
    """Options of the table of coefficients."""

    made_from = ("ordinal_regression", "response_regression")


def coefficients(selected: Sequence[Selected], entry: Entry[CoefficientsOptions]) -> Printed:
    """Return a group per factor, with its baseline; a row per level; four columns per model.

    In each group come the levels above the baseline of the first model first, then those below it; in
    both the largest coefficient first, as in the paper.
    """
    frame = together(selected, entry)
    frame = frame[frame["term"] != THRESHOLD]
    frame = frame.assign(fit=model_labels(zip(frame["arm"], frame["model"], strict=True)))
    fits = list(dict.fromkeys(frame["fit"]))
    missing = sorted(set(frame["status"]) - {"ok"})
    reasons = "; ".join(f"{status.replace('_', ' ')}: {_REASONS.get(status, status)}" for status in missing)
    return Printed(
        title=entry.options.title,
        header=(
            (Cell(""), *(Cell(fit, span=len(_COLUMNS)) for fit in fits)),
            heading("Parameters", *_COLUMNS * len(fits)),
        ),
        groups=tuple(_group(term, part, fits) for term, part in frame.groupby("term", sort=False)),
        notes=(
            f"Ordinal regression; positive coefficients: {spoken_of(entry.scales.values()).more} than the baseline. "
            + STARS_TEXT,
            *((f"{NONE}: {reasons}.",) if reasons else ()),
            *marked(entry),
        ),
        grouped="factor",
    )


def _group(term: Any, frame: pd.DataFrame, fits: Sequence[str]) -> Group:
    baseline = next((str(b) for b in frame["baseline"].dropna()), "")
    rows_of = {(row["level"], row["fit"]): row for row in frame.to_dict("records")}
    first = frame[frame["fit"] == fits[0]].set_index("level")["estimate"]

    def order(level: Any) -> tuple[int, float]:
        """Above 0, below 0, none; in each the largest first."""
        estimate = first.get(level)
        if estimate is None or pd.isna(estimate):
            return 2, 0.0
        return (0 if estimate > 0 else 1), -abs(float(estimate))

    rows = []
    for level in sorted(dict.fromkeys(frame["level"]), key=order):
        cells = [Cell(str(level)[:1].upper() + str(level)[1:])]
        for fit in fits:
            row = rows_of.get((level, fit))
            if row is None:
                cells += [Cell(NONE)] * len(_COLUMNS)
            else:
                numbers = [decimals(row[name]) for name in ("estimate", "std_err", "statistic")]
                cells += [*numbers, p_starred(row["log10_p"])]
        rows.append(tuple(cells))
    name = str(term).replace("_", " ").capitalize()
    return Group(f"{name} (baseline: {baseline})" if baseline else name, tuple(rows))


KINDS = (
    Kind(
        name="coefficients",
        about="Terms of ordinal regressions with stars, models side by side (PETS Table 4).",
        options=CoefficientsOptions,
        function=coefficients,
        reads="tables",
    ),
)
