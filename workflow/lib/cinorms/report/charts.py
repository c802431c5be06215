"""The drawings of the page: who accepts what, who differs from whom, and what other wordings were seen to give."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cinorms.report.findings import Gap, LevelShare, factor_shares, levels_of, recurs, share_interval
from cinorms.report.results import StudyResults
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
    model: str
    text: str

    @property
    def says(self) -> str:
        """Whose it is, and its number."""
        return f"{self.model}: {self.text}"


# --- What decides


def accepted(
    results: StudyResults, arm: str, models: Sequence[str], most: int | None = MOST_DOTS
) -> dict[str, Any]:
    """Return the share of answers that accept at each level of each factor, what decides most first.

    A row per level, that which is accepted most first, with the mean of the models and a dot for each of the first.
    """
    if not models:
        return {"models": [], "all": 0, "factors": []}
    shown, means = list(models[:most]), levels_of(results, arm, models)
    by_model = [{(of.factor, of.level): of for of in levels_of(results, arm, [model])} for model in shown]
    factors = []
    for factor, weight in factor_shares(results, arm, models).mean().items():
        rows: list[dict[str, Any]] = []
        for mean in (level for level in means if level.factor == factor):
            of = ((k, each.get((mean.factor, mean.level))) for k, each in enumerate(by_model))
            dots = [_dot(k, shown[k], level) for k, level in of if level]
            rows.append(
                {"level": mean.level, "mean": mean.share, "share": share(mean.share, 1), "dots": dots}
                | {"text": _with_interval(mean), "of_all": mean.of_all}
            )
        rows.sort(key=lambda row: -row["mean"])
        if len(rows) > 1:
            factors.append({"name": plain(str(factor)), "weight": share(weight, 1), "rows": rows})
    return {"models": shown, "all": len(models), "factors": factors}


def _dot(look: int, model: str, level: LevelShare) -> Dot:
    low, high = share_interval(level) or (level.share, level.share)
    return Dot(look, 100 * level.share, 100 * low, 100 * high, model, _with_interval(level))


def _with_interval(level: LevelShare) -> str:
    """Return a share with its interval, where it has one."""
    text, ends = share(level.share, 1), share_interval(level)
    return f"{text} ({100 * ends[0]:.0f}% to {100 * ends[1]:.0f}%)" if ends else text


# --- Who differs


def differences(gaps: Mapping[tuple[str, str], Gap], models: Sequence[str]) -> list[dict[str, Any]]:
    """Return the upper half of a table: on which share of their flows the norms of each two models are opposed.

    On its diagonal is each model compared with itself in other wordings; a cell without a number has too few flows.
    """
    if len(models) < 2 or not gaps:
        return []
    shown, rows = models[:MOST_ROWS], []
    for i, a in enumerate(shown):
        cells = []
        for b in shown[i:]:
            flows, opposed = gaps.get((a, b), (0, None))
            cells.append(
                {
                    "text": share(opposed, 1) if opposed is not None else "–",
                    "tint": round(TINTS * (opposed or 0)),
                    "flows": count(flows) if opposed is not None else "",
                }
            )
        rows.append({"model": a, "below": i, "cells": cells})
    return rows


# --- How sure


def recurrence(results: StudyResults, arm: str, models: Sequence[str]) -> list[dict[str, Any]]:
    """Return a line for each model of `recurs`: the dot is what was seen, its interval what was predicted."""
    known, rows = recurs(results, arm), []
    for model in models:
        if model not in known.index:
            continue
        predicted, seen = known.loc[[model]].to_numpy()[0].tolist()
        text = f"predicted {share(predicted, 1)}, seen {share(seen, 1)}"
        rows.append(
            {"model": model, "dot": Dot(0, 100 * seen, 100 * predicted, 100 * predicted, model, text)}
        )
    return rows
