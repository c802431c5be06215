"""Kinds ``discarded`` and ``lost``: flows that the thresholds remove (PETS Tables 2 and 3)."""

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated

import pandas as pd
from pydantic import Field

from cinorms.core.schema import Distinct, ModelName, NotRequired
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import TMaj, TVal
from cinorms.entries.place import EntryLocation
from cinorms.printed.cells import (
    NONE,
    Cell,
    FromAnalyses,
    Printed,
    RowGroup,
    blank_again,
    check_thresholds,
    decimals,
    heading,
    marked,
    share,
    threshold,
    together,
)

_TVals = Annotated[Distinct[TVal], Field(min_length=1)]
_Step = Annotated[Distinct[TMaj], Field(min_length=2, max_length=2)]


class DiscardedOptions(FromAnalyses):
    """Options of the table of discarded flows."""

    made_from = ("discarded",)

    t_val: NotRequired[_TVals] = None
    """The T_val to print, from those under norms; default: each that keeps a flow."""
    t_val_for: NotRequired[
        dict[ModelName, Annotated[_TVals, Field(description="The T_val to print for this model.")]]
    ] = Field(None, description="T_val for single models, instead of t_val.")
    t_maj: NotRequired[Annotated[Distinct[TMaj], Field(min_length=1)]] = None
    """The T_maj to print, from those under norms; default: all."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the models with a T_val of their own, and the thresholds."""
        super().check_options(place)
        for_models = self.t_val_for or {}
        place.check_names("models", for_models, self.known_models(place), "model of these analyses")
        check_thresholds(place, "t_val", self.t_val or (), t_maj=False)
        for model, t_vals in for_models.items():
            check_thresholds(place, f"t_val_for.{model}", t_vals, t_maj=False)
        check_thresholds(place, "t_maj", self.t_maj or (), t_maj=True)


class PrintedLostOptions(FromAnalyses):
    """Options of the table of lost norms."""

    made_from = ("lost",)

    steps: NotRequired[Annotated[tuple[_Step, ...], Field(min_length=1)]] = None
    """Pairs of T_maj from those under norms, the lower one first (plurality is the lowest). Default: every pair."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the thresholds, and whether the lower one of each pair comes first."""
        super().check_options(place)
        t_majs = list(place.study.thresholds()[1])
        for step in self.steps or ():
            check_thresholds(place, "steps", step, t_maj=True)
            if t_majs.index(step[0]) > t_majs.index(step[1]):
                stated, right = list(step), list(step[::-1])
                raise place.error("steps", f"{stated} has the higher threshold first; write {right}")


def discarded(selected: Sequence[Selected], entry: Entry[DiscardedOptions]) -> Printed:
    """Return a row per model and T_val: flows below it, and flows below each T_maj of those left."""
    frame = together(selected, entry)
    t_majs = [str(t) for t in entry.options.t_maj or frame["t_maj"].unique()]
    return Printed(
        title=entry.options.title,
        header=(heading("Models", "T_val", "≥ T_val", *(f"T_maj {threshold(t)}" for t in t_majs)),),
        groups=tuple(
            RowGroup(name, blank_again(_rows_of(part, entry.options, t_majs)))
            for name, part in _arms(frame).items()
        ),
        notes=(
            "Discarded flows as a share of all flows, then of those with enough valid answers.",
            *marked(entry),
        ),
        grouped="arm",
    )


def _rows_of(frame: pd.DataFrame, options: DiscardedOptions, t_majs: Sequence[str]) -> list[list[Cell]]:
    rows = []
    for model, part in frame.groupby("model", sort=False):
        # No flow reaches a T_val above the model's number of variants: that shows nothing about the model.
        t_vals = (options.t_val_for or {}).get(str(model)) or options.t_val
        for t_val in t_vals or sorted(part.loc[part["of"] > 0, "t_val"].unique()):
            by_t_maj = part[part["t_val"] == t_val].set_index("t_maj")
            first = by_t_maj.iloc[0]
            parts = [share(by_t_maj.loc[t, "discarded"], by_t_maj.loc[t, "of"]) for t in t_majs]
            below = share(first["below_t_val"], first["flows"])
            rows.append([Cell(str(model)), Cell(str(t_val)), below, *parts])
    return rows


def lost(selected: Sequence[Selected], entry: Entry[PrintedLostOptions]) -> Printed:
    """Return a row per model: the share of norms lost from each T_maj to a higher one."""
    frame = together(selected, entry)
    tried = list(dict.fromkeys([*frame["from"], *frame["to"]]))
    steps = [(str(a), str(b)) for a, b in entry.options.steps or combinations(tried, 2)]
    t_vals = frame.groupby("model", sort=False)["t_val"].first()
    text = "T_val: " + ", ".join(f"{t} for {model}" for model, t in t_vals.items()) + "."
    if len(t_vals.unique()) == 1:
        text = f"T_val: {t_vals.iloc[0]}." if t_vals.iloc[0] else "No T_val."
    return Printed(
        title=entry.options.title,
        header=(heading("Models", *(f"{threshold(a)} → {threshold(b)}" for a, b in steps)),),
        groups=tuple(RowGroup(name, _lost_rows(part, steps)) for name, part in _arms(frame).items()),
        notes=(
            "Flows whose norm does not reach the higher majority threshold, in percent of all flows.",
            text,
            *marked(entry),
        ),
        grouped="arm",
    )


def _lost_rows(frame: pd.DataFrame, steps: Sequence[tuple[str, str]]) -> tuple[tuple[Cell, ...], ...]:
    rows = []
    for model, part in frame.groupby("model", sort=False):
        lost = 100 * part.set_index(["from", "to"])["share_lost"].reindex(list(steps))
        texts = [decimals(share).text for share in lost]
        rows.append((Cell(str(model)), *(Cell(text if text == NONE else f"{text}%") for text in texts)))
    return tuple(rows)


def _arms(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each arm by the heading above them; one arm needs none."""
    arms = {str(arm): part for arm, part in frame.groupby("arm", sort=False)}
    return arms if len(arms) > 1 else {"": frame}


KINDS = (
    Kind(
        name="discarded",
        about="Flows discarded per model under each T_val and T_maj (PETS Table 2).",
        function=discarded,
        reads="tables",
    ),
    Kind(
        name="lost",
        about="Share of norms lost from one T_maj to a higher one (PETS Table 3).",
        function=lost,
        reads="tables",
    ),
)
