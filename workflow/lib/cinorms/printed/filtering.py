"""Kinds ``discarded`` and ``lost``: flows that the thresholds remove (PETS Tables 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from cinorms.entries.kinds import Selected
from cinorms.printed.cells import (
    NONE,
    Cell,
    Group,
    Printed,
    blank_again,
    decimals,
    heading,
    planted_note,
    share,
    threshold,
    together,
)


def discarded(selected: Sequence[Selected], entry: Mapping[str, Any]) -> Printed:
    """Return a row per model and T_val: flows below it, and flows below each T_maj of those left."""
    frames = [one.frame for one in selected]
    frame = together(frames, entry)
    t_majs = [str(t) for t in entry.get("t_maj") or frame["t_maj"].unique()]
    return Printed(
        title=entry.get("title", ""),
        header=(heading("Models", "T_val", "≥ T_val", *(f"T_maj {threshold(t)}" for t in t_majs)),),
        groups=tuple(
            Group(name, blank_again(_rows_of(of, entry, t_majs))) for name, of in _arms(frame).items()
        ),
        notes=(
            "Flows discarded, of all flows and then of those with enough valid answers.",
            *planted_note(frames),
        ),
        grouped="arm",
    )


def _rows_of(frame: pd.DataFrame, entry: Mapping[str, Any], t_majs: Sequence[str]) -> list[list[Cell]]:
    rows = []
    for model, of in frame.groupby("model", sort=False):
        # A T_val above what the model was asked leaves no flow: it says nothing about the model.
        t_vals = entry.get("t_val_for", {}).get(model) or entry.get("t_val")
        for t_val in t_vals or sorted(of.loc[of["of"] > 0, "t_val"].unique()):
            at = of[of["t_val"] == t_val].set_index("t_maj")
            first = at.iloc[0]
            parts = [share(at.loc[t, "discarded"], at.loc[t, "of"]) for t in t_majs]
            rows.append(
                [Cell(str(model)), Cell(str(t_val)), share(first["below_t_val"], first["flows"]), *parts]
            )
    return rows


def lost(selected: Sequence[Selected], entry: Mapping[str, Any]) -> Printed:
    """Return a row per model: the share of norms lost from each T_maj to a higher one."""
    frames = [one.frame for one in selected]
    frame = together(frames, entry)
    known = list(dict.fromkeys([*frame["from"], *frame["to"]]))
    steps = [(str(a), str(b)) for a, b in entry.get("steps") or combinations(known, 2)]
    t_vals = frame.groupby("model", sort=False)["t_val"].first()
    return Printed(
        title=entry.get("title", ""),
        header=(heading("Models", *(f"{threshold(a)} → {threshold(b)}" for a, b in steps)),),
        groups=tuple(Group(name, _lost_rows(of, steps)) for name, of in _arms(frame).items()),
        notes=(
            "Flows whose norm does not meet the higher majority threshold, in percent of all.",
            _t_val_said(t_vals),
            *planted_note(frames),
        ),
        grouped="arm",
    )


def _lost_rows(frame: pd.DataFrame, steps: Sequence[tuple[str, str]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (
            Cell(str(model)),
            *(_percent(of.set_index(["from", "to"])["share_lost"].get(step)) for step in steps),
        )
        for model, of in frame.groupby("model", sort=False)
    )


def _percent(value: Any) -> Cell:
    cell = decimals(None if value is None else 100 * value)
    return cell if cell.text == NONE else Cell(cell.text + "%")


def _t_val_said(t_vals: pd.Series[Any]) -> str:
    if len(t_vals.unique()) == 1:
        return f"T_val: {t_vals.iloc[0]}." if t_vals.iloc[0] else "No T_val."
    return "T_val: " + ", ".join(f"{t} for {model}" for model, t in t_vals.items()) + "."


def _arms(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each arm by the heading above them; one arm needs none."""
    found = {str(arm): of for arm, of in frame.groupby("arm", sort=False)}
    return found if len(found) > 1 else {"": frame}
