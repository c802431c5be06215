"""The models (Table 1 of both papers), tests of every two of them, and the terms of their regressions."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from cinorms.core.labels import model_labels
from cinorms.core.scales import spoken_of
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.place import EntryLocation
from cinorms.printed.cells import (
    NONE,
    STARS_TEXT,
    Cell,
    FromAnalyses,
    Printed,
    PrintedOptions,
    RowGroup,
    decimals,
    heading,
    marked,
    p_starred,
    p_times,
    together,
)

_NOT_STATED = "unknown"
NOTE = "Capacity: parameters in billions; NA: not published. unknown: config/models.yaml does not state it."
SPECULATED = "*: speculated, not published; no analysis uses it."
_TESTS = {"wilcoxon_pairs": "Wilcoxon's signed ranks", "paired_t": "paired t-test"}
#: The term of the cutpoints between values, which the paper does not print.
THRESHOLD = "threshold"
_OF_TERM = ("Coef.", "Std. err.", "z", "p")
#: Why a term has no numbers.
_REASONS = {
    "separated": "no finite estimate, as all flows of the level have the lowest or highest value",
    "aliased": "cannot be separated from other terms",
    "constant_factor": "one level only",
    "not_estimated": "the fit gave none",
}


class ModelsOptions(PrintedOptions):
    """Options of the table of models."""

    speculated: bool = False
    """Show a capacity that is only speculated, with a mark, where none is published (LLM-CI Table 1)."""


def models(selected: Sequence[Selected], entry: Entry[ModelsOptions]) -> Printed:
    """Return a row per model of ``entry.registry``."""
    rows: list[tuple[Cell, ...]] = []
    notes: tuple[str, ...] = (NOTE,)
    for name, stated in entry.registry.items():
        published, speculated = (stated.get(key) for key in ("capacity", "speculated_capacity"))
        capacity = "NA" if published is None else f"{published:g}B"
        if published is None and speculated is not None and entry.options.speculated:
            capacity, notes = f"{speculated:g}B*", (NOTE, SPECULATED)
        done = optimisation(stated["alignment"], stated["quantisation"])
        rows.append(heading(name, stated["family"] or _NOT_STATED, capacity, done, stated["origin"]))
    return Printed(
        title=entry.options.title,
        header=(heading("Model", "Family", "Capacity", "Optimisation", "Source"),),
        groups=(RowGroup("", tuple(rows)),),
        notes=(*notes, *marked(entry)),
        texts=range(5),
    )


def optimisation(alignment: str | None, quantisation: str | None) -> str:
    """Return what was done to a base model: "DPO", "AWQ", "DPO + AWQ"; "Base" only where both are stated as none."""
    stated = [part for part in (alignment, quantisation) if part is not None]
    done = [part.upper() for part in stated if part != "none"]
    if done:
        return " + ".join(done)
    return "Base" if len(stated) == 2 else _NOT_STATED


class PairsOptions(FromAnalyses):
    """Options of the square of p-values."""

    made_from = ("model_pairs",)

    def check_options(self, place: EntryLocation) -> None:
        """Refuse pairs that differ in an attribute: they are not all pairs of some models."""
        super().check_options(place)
        analyses = place.study.entries["analyses"]
        if any(analyses[source].factor for source in self.sources):
            raise place.error(
                "from",
                f"{', '.join(self.sources)}: has the key 'factor', so it lacks pairs that a square needs; name "
                "analyses without that key",
            )


def pairs(selected: Sequence[Selected], entry: Entry[PairsOptions]) -> Printed:
    """Return a row and a column per model, a group of rows per arm; a dash on the diagonal."""
    whole = pd.concat([table.frame for table in selected], ignore_index=True)
    # Only pairs within an arm: pairs of one model in two arms do not form a square.
    frame = whole[whole["arm_a"] == whole["arm_b"]]
    models = list(entry.options.models or ()) or list(dict.fromkeys([*frame["model_a"], *frame["model_b"]]))
    arms = list(dict.fromkeys(frame["arm_a"]))
    without = frame.loc[frame["status"] != "ok", ["model_a", "model_b", "status"]]
    reasons = [f"{a} and {b}: {str(status).replace('_', ' ')}" for a, b, status in without.to_numpy()]
    tests = ", ".join(_TESTS.get(str(test), str(test)) for test in dict.fromkeys(frame["test"]))
    return Printed(
        title=entry.options.title,
        header=(heading("", *models[:-1]),),
        groups=tuple(
            RowGroup(str(arm) if len(arms) > 1 else "", _square(frame[frame["arm_a"] == arm], models))
            for arm in arms
        ),
        notes=(
            f"p-values, {tests}, not corrected.",
            *((f"{NONE}: {'; '.join(dict.fromkeys(reasons))}.",) if reasons else ()),
            *marked(entry),
        ),
        grouped="arm",
    )


def _square(frame: pd.DataFrame, models: Sequence[str]) -> tuple[tuple[Cell, ...], ...]:
    pairs = frame[["model_a", "model_b", "log10_p"]].itertuples(index=False)
    p = {frozenset((a, b)): p_times(log10_p) for a, b, log10_p in pairs}
    columns, rows = models[:-1], []
    for i, model in enumerate(models):
        below = [p.get(frozenset((model, other)), Cell(NONE)) for other in columns[:i]]
        diagonal = [Cell("—") for _ in columns[i : i + 1]]
        rows.append((Cell(model), *below, *diagonal, *(Cell() for _ in columns[i + 1 :])))
    return tuple(rows)


class PrintedCoefficientsOptions(FromAnalyses):
    """Options of the table of coefficients."""

    made_from = ("ordinal_regression",)


def coefficients(selected: Sequence[Selected], entry: Entry[PrintedCoefficientsOptions]) -> Printed:
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
            (Cell(""), *(Cell(fit, span=len(_OF_TERM)) for fit in fits)),
            heading("Parameters", *_OF_TERM * len(fits)),
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


def _group(term: Any, frame: pd.DataFrame, fits: Sequence[str]) -> RowGroup:
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
            row = rows_of.get((level, fit), {})  # without a number in a fit that lacks the level
            cells += [decimals(row.get(name)) for name in ("estimate", "std_err", "statistic")]
            cells.append(p_starred(row.get("log10_p")))
        rows.append(tuple(cells))
    name = str(term).replace("_", " ").capitalize()
    return RowGroup(f"{name} (baseline: {baseline})" if baseline else name, tuple(rows))


KINDS = (
    Kind(
        name="models",
        about="The models with their family, capacity, optimisation and source from config/models.yaml "
        "(Table 1 of both papers).",
        function=models,
        reads="registry",
    ),
    Kind(
        name="pairs",
        about="p-values of each pair of models as the lower half of a square, for each arm (LLM-CI Tables 2 to 4).",
        function=pairs,
        reads="tables",
    ),
    Kind(
        name="coefficients",
        about="Terms of ordinal regressions with stars, models side by side (PETS Table 4).",
        function=coefficients,
        reads="tables",
    ),
)
