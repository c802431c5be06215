"""Kinds ``models`` and ``pairs``: the models of the study (Table 1 of both papers), and tests of every two of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import pandas as pd
from pydantic import Field

from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names
from cinorms.printed.cells import (
    NONE,
    Cell,
    FromAnalyses,
    Group,
    Printed,
    PrintedOptions,
    heading,
    marked,
    p_times,
)

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace

_NOT_PUBLISHED, _NOT_STATED = "NA", "unknown"
NOTE = "Capacity: parameters in billions; NA: not published. unknown: config/models.yaml does not state it."
_TESTS = {"wilcoxon_pairs": "Wilcoxon's signed ranks", "paired_t": "paired t-test"}
_CORRECTIONS = {
    "none": "not corrected",
    "bonferroni": "Bonferroni-corrected",
    "holm": "Holm-corrected",
    "bh": "Benjamini-Hochberg-corrected",
}


class ModelsOptions(PrintedOptions):
    """Options of the table of models."""

    models: LeftOut[Names] = Field(
        None, description="Models, in this order; default: all models of the study."
    )


def models(selected: Sequence[Selected], entry: Entry[ModelsOptions]) -> Printed:
    """Return a row per model of ``entry.registry``."""
    rows = tuple(
        (
            Cell(name),
            Cell(stated["family"] or _NOT_STATED),
            Cell(_NOT_PUBLISHED if stated["capacity"] is None else f"{stated['capacity']:g}B"),
            Cell(optimisation(stated["alignment"], stated["quantisation"])),
            Cell(stated["origin"]),
        )
        for name, stated in entry.registry.items()
    )
    return Printed(
        title=entry.options.title,
        header=(heading("Model", "Family", "Capacity", "Optimisation", "Source"),),
        groups=(Group("", rows),),
        notes=(NOTE, *marked(entry)),
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

    correction: Literal["none", "bonferroni", "holm", "bh"] = Field(
        "none", description="Correction of the p-values for the number of tests; the paper uses none."
    )

    def check(self, place: EntryPlace) -> None:
        """Refuse pairs that differ in an attribute: they are not all pairs of some models."""
        super().check(place)
        analyses = place.study.settings.analyses
        if any("factor" in analyses[source] for source in self.sources):
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
    correction = entry.options.correction
    column = "log10_p" if correction == "none" else f"log10_p_{correction}"
    models = list(entry.options.models or ()) or list(dict.fromkeys([*frame["model_a"], *frame["model_b"]]))
    arms = list(dict.fromkeys(frame["arm_a"]))
    without = frame.loc[frame["status"] != "ok", ["model_a", "model_b", "status"]]
    reasons = [f"{a} and {b}: {str(status).replace('_', ' ')}" for a, b, status in without.to_numpy()]
    tests = ", ".join(_TESTS.get(str(test), str(test)) for test in dict.fromkeys(frame["test"]))
    return Printed(
        title=entry.options.title,
        header=(heading("", *models[:-1]),),
        groups=tuple(
            Group(str(arm) if len(arms) > 1 else "", _square(frame[frame["arm_a"] == arm], models, column))
            for arm in arms
        ),
        notes=(
            f"p-values, {tests}, {_CORRECTIONS[correction]}.",
            *((f"{NONE}: {'; '.join(dict.fromkeys(reasons))}.",) if reasons else ()),
            *marked(entry),
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


KINDS = (
    Kind(
        name="models",
        about="The models with their family, capacity, optimisation and source from config/models.yaml "
        "(Table 1 of both papers).",
        options=ModelsOptions,
        function=models,
        reads="registry",
    ),
    Kind(
        name="pairs",
        about="p-values of each pair of models as the lower half of a square, for each arm (LLM-CI Tables 2 to 4).",
        options=PairsOptions,
        function=pairs,
        reads="tables",
    ),
)
