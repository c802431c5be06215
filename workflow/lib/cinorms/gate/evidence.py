"""The flows behind a verdict: what each side answers to them, those first that decide most."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.gate.matched import Matched, has_status, level_counts, mean_over
from cinorms.stats.flips import Change, Rule, differ, norms

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: How many flows are shown behind a verdict.
SHOWN = 12


def rules_of(matched: Matched, change: Change) -> tuple[Rule, Rule]:
    """Return when base and new hold a norm (the thresholds of their studies, ties never) and when norms differ."""
    rules = []
    for side, answers in ((matched.base, matched.of_base), (matched.new, matched.of_new)):
        signs = tuple(int(np.sign(level - side.midpoint)) for level in side.levels)
        t_val, t_maj, _ = side.thresholds
        rules.append(Rule(signs, change, t_maj, t_val / max(len(answers.units), 1)))
    return rules[0], rules[1]


def counts_of(matched: Matched) -> tuple[Floats, Floats]:
    """Return how often each level was answered in base and new: levels x flows x units."""
    return (
        level_counts(matched.of_base, matched.base.levels),
        level_counts(matched.of_new, matched.new.levels),
    )


def moved(matched: Matched, rows: Bools, direction: int) -> pd.DataFrame:
    """Return the flows that moved most in ``direction``, or in either for 0."""
    frame = _frame(matched, rows)
    size = frame["shift"] * direction if direction else frame["shift"].abs()
    return _first(frame, size)


def on_a_side(matched: Matched, rows: Bools, wrong: int) -> pd.DataFrame:
    """Return the flows that are farthest on the wrong side in new, or nearest to it."""
    frame = _frame(matched, rows)
    return _first(frame, frame["new_mean"] * wrong)


def risen(matched: Matched, rows: Bools, statuses: list[str]) -> tuple[pd.DataFrame, float, float]:
    """Return the flows where the share of answers with these statuses rose most, and the share on each side."""
    base, new = (
        mean_over(has_status(each, statuses)[rows], axis=(1, 2)) for each in (matched.of_base, matched.of_new)
    )
    frame = _frame(matched, rows).assign(base_share=base, new_share=new)
    return _first(frame, frame["new_share"] - frame["base_share"]), _mean(base), _mean(new)


def changed(matched: Matched, rows: Bools, change: Change) -> tuple[pd.DataFrame, int, int]:
    """Return the flows whose norm in all answers changed, those first that moved most; how many, and of how many."""
    rules = rules_of(matched, change)
    (base, held_base), (new, held_new) = (
        norms(counts[:, rows].sum(axis=2), rule, counts.shape[2])
        for counts, rule in zip(counts_of(matched), rules, strict=True)
    )
    both = held_base & held_new
    flipped = both & differ(base, new, rules[1])
    frame = _frame(matched, rows)[flipped]
    return _first(frame, frame["shift"].abs()), int(flipped.sum()), int(both.sum())


def _frame(matched: Matched, rows: Bools) -> pd.DataFrame:
    """Return flow, vignette, mean levels, shift, and the norm in words of the flows ``rows``."""
    frame = matched.flows.loc[rows, ["flow", "vignette"]].reset_index(drop=True)
    base, new = (mean_over(each.level[rows], axis=(1, 2)) for each in (matched.of_base, matched.of_new))
    frame = frame.assign(base_mean=base, new_mean=new, shift=new - base)
    for name, side, counts, rule in zip(
        ("base", "new"),
        (matched.base, matched.new),
        counts_of(matched),
        rules_of(matched, "level"),
        strict=True,
    ):
        level, held = norms(counts[:, rows].sum(axis=2), rule, counts.shape[2])
        frame[f"{name}_norm"] = np.where(held, np.array(side.options)[level], "")
    return frame


def _first(frame: pd.DataFrame, size: pd.Series) -> pd.DataFrame:
    """Return the `SHOWN` rows of the largest ``size``, in its order; rows without a size are left out."""
    order = size.dropna().sort_values(ascending=False, kind="stable").index[:SHOWN]
    return frame.loc[order].reset_index(drop=True)


def _mean(x: Floats) -> float:
    return float(np.nanmean(x)) if (~np.isnan(x)).any() else float("nan")
