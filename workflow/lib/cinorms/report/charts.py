"""The drawings of the page: who accepts what, who differs from whom, and what other wordings were seen to give."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cinorms.report.findings import (
    LevelShare,
    factor_shares,
    halves,
    levels_of,
    own_agreement,
    share_interval,
)
from cinorms.report.results import StudyResults
from cinorms.report.screen import FEWEST_SAID
from cinorms.report.words import count, plain, share

#: Models whose dots a reader can still tell apart, and models of a table that fits a page.
MOST_DOTS, MOST_ROWS = 4, 12
#: Steps of the tint of a cell.
TINTS = 9


class Dot(NamedTuple):
    """A mark on a line from 0 to 100: the number of its look, where it and the ends of its interval are, in words."""

    look: int
    at: float
    low: float
    high: float
    says: str


# --- What decides


def accepted(results: StudyResults, arm: str, models: Sequence[str]) -> dict[str, Any]:
    """Return the share of answers that accept at each level of each factor, what decides most first.

    A row per level, that which is accepted most first, with the mean of the models and a dot for each of the first.
    """
    shown, means = list(models[:MOST_DOTS]), levels_of(results, arm, models) if models else []
    by_model = [{(of.factor, of.level): of for of in levels_of(results, arm, [model])} for model in shown]
    shares = (
        factor_shares(results, arm, models).reindex(columns=results.factors(arm))
        if models
        else pd.DataFrame()
    )
    weights = shares.mean().dropna().sort_values(ascending=False)
    factors = []
    for factor, weight in weights.items():
        rows: list[dict[str, Any]] = []
        for mean in (level for level in means if level.factor == factor):
            of = ((k, each.get((mean.factor, mean.level))) for k, each in enumerate(by_model))
            dots = [_dot(k, shown[k], level) for k, level in of if level]
            rows.append(
                {"level": mean.level, "mean": mean.share, "share": share(mean.share, 1), "dots": dots}
            )
        rows.sort(key=lambda row: -row["mean"])
        if len(rows) > 1:
            factors.append({"name": plain(str(factor)), "weight": share(weight, 1), "rows": rows})
    return {"models": shown, "all": len(models), "factors": factors}


def _dot(look: int, model: str, level: LevelShare) -> Dot:
    low, high = share_interval(level, 1) or (level.share, level.share)
    says = f"{model}: {share(level.share, 1)}"
    return Dot(
        look, 100 * level.share, 100 * low, 100 * high, f"{says} ({100 * low:.0f}% to {100 * high:.0f}%)"
    )


# --- Who differs


def differences(results: StudyResults, arm: str, models: Sequence[str]) -> list[dict[str, Any]]:
    """Return on which share of their flows each two models hold different norms, as the upper half of a table.

    On its diagonal is each model compared with itself reworded; a cell without a number has too few flows.
    """
    if results.is_people(arm) or len(models) < 2:
        return []
    values = pd.DataFrame({model: results.held(arm, model) for model in models[:MOST_ROWS]})
    rows = []
    for i, a in enumerate(values):
        cells = []
        for b in list(values)[i:]:
            both = values[[a, b]].dropna().to_numpy()
            differ, n = float((both[:, 0] != both[:, -1]).mean()) if len(both) else np.nan, len(both)
            if a == b:
                differ = 1 - own_agreement(results, arm, str(a))[0]
            known = n >= FEWEST_SAID and not np.isnan(differ)
            text = share(differ, 1) if known else "–"
            cells.append({"text": text, "tint": round(TINTS * differ) if known else 0, "flows": count(n)})
        rows.append({"model": a, "below": i, "cells": cells})
    return rows


# --- How sure


def recurrence(results: StudyResults, arm: str, models: Sequence[str]) -> list[dict[str, Any]]:
    """Return a line for each model of `halves`: the dot is what was seen, its interval what was predicted."""
    known, rows = halves(results, arm), []
    for model in models:
        if model not in known.index:
            continue
        predicted, seen = known.loc[[model]].to_numpy()[0].tolist()
        says = f"{model}: predicted {share(predicted, 1)}, seen {share(seen, 1)}"
        rows.append({"model": model, "dot": Dot(0, 100 * seen, 100 * predicted, 100 * predicted, says)})
    return rows
