"""The report's page: put together from a study's tables, with everything it needs inside it."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from cinorms.core.filling import render_page
from cinorms.core.labels import NO_NORM
from cinorms.core.version import version
from cinorms.figures.colours import NO_NORM_COLOUR, ink_on, level_colours
from cinorms.report.explorer import class_of, explorer_data
from cinorms.report.findings import (
    Gap,
    LevelShare,
    acts,
    decides,
    delta,
    differs,
    factor_shares,
    gaps,
    how_sure,
    levels_of,
    recurs,
    share_interval,
    sharing,
)
from cinorms.report.results import StudyResults
from cinorms.report.screen import Standing, asked, headline, nouns_of, standings, who_of
from cinorms.report.words import count, plain, share

#: The page's script, in the order in which its parts build on each other.
SCRIPTS = ("dom", "data", "state", "controls", "heatmap", "flows", "replies", "cell", "main")
#: Models whose dots a reader can still tell apart, and models of a table that fits a page.
MOST_DOTS, MOST_ROWS = 4, 12
#: Steps of the tint of a cell.
TINTS = 9


def render(results: StudyResults) -> str:
    """Return the page. Everything that comes from data, models or settings is escaped."""
    templates = files("cinorms.report") / "templates"
    parts = "\n".join((templates / f"report_{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{parts}\n}})();\n'
    data, rows = explorer_data(results), standings(results)
    arm, reading = rows[0].arm, [row.model for row in rows if row.reads_flow]
    holding = [row.model for row in rows if row.norms and row.reads_flow]
    apart = gaps(results, arm, holding)
    done, acted = acts(results), [_acted(row) for row in sharing(results)[0]]
    found = (done, decides(results, arm, reading), differs(results, arm, apart), delta(results))
    return render_page(
        "report",
        "report",
        study=results.study,
        style=_colours(results),
        script=script,
        beside=_loads(data),
        data=embedded(data),
        title=headline(rows) or (done and done.headline) or f"Privacy norms of {who_of(rows)}",
        legend=_legend(results, arm),
        rows=rows,
        nouns=nouns_of(rows),
        computed=any(row.status != "not_computed" for row in rows),
        unknown=any(row.needs for row in rows),
        asked=asked(results, rows, acted=bool(acted)),
        acted=acted,
        reworded=any(row.templates > 1 for row in rows),
        bars={row.model: _bars(results, row) for row in rows},
        sentences=list(filter(None, found)),
        says=results.scale(arm).spoken,
        accepted=accepted(results, arm, reading),
        differ=differences(apart, holding),
        sure=how_sure(results, rows),
        recurs=recurrence(results, arm, [row.model for row in rows]),
        version=version(),
    )


def _legend(results: StudyResults, arm: str) -> list[tuple[str, str]]:
    """Return what the colours of the levels and of no norm mean."""
    scale = results.scale(arm)
    return [*((class_of(scale, at), option) for at, option in enumerate(scale.options)), ("b-none", NO_NORM)]


def _bars(results: StudyResults, row: Standing) -> dict[str, list[dict[str, Any]]]:
    """Return the bars of a model on the first screen: parts with a look, a name and a place."""
    scale = results.scale(row.arm)
    again, may_change, none = row.parts
    computed = row.status != "not_computed"
    held = ("b-held", "norm that may change" if row.told else "norm") if computed else ("b-again", "norm")
    looks = {option: class_of(scale, at) for at, option in enumerate(row.levels)}
    bars: dict[str, list[tuple[str, str, float]]] = {
        "norms": [
            ("b-again", "norm expected again", again),
            (*held, may_change),
            ("b-none", NO_NORM, none),
        ],
        "levels": [(looks[name], name, n) for name, n in row.levels.items()] + [("b-none", NO_NORM, none)],
        "read": [
            ("b-read", "could be read", row.valid),
            ("b-refused", "refused", row.refused),
            ("b-asks", "asked for context", row.asks),
            ("b-none", "other", row.answers - row.valid - row.refused - row.asks),
        ],
    }
    return {name: _placed(parts) for name, parts in bars.items()}


def _placed(parts: Sequence[tuple[str, str, float]]) -> list[dict[str, Any]]:
    """Return where each part of a bar from 0 to 100 begins and how wide it is; none that are empty."""
    whole, placed, at = sum(n for *_, n in parts), [], 0.0
    for look, name, n in parts:
        if n:
            width = 100 * n / whole
            placed.append({"look": look, "name": name, "share": share(n, whole), "x": at, "width": width})
            at += width
    return placed


def _loads(data: Mapping[str, Any]) -> bool:
    """Tell whether the page loads replies from files beside it."""
    replies = [model["replies"] for arm in data["arms"] for model in arm["models"] if model["replies"]]
    return any(len(list(filter(None, part["inside"]))) < len(part["last"]) for part in replies)


def embedded(data: Any) -> str:
    """Return ``data`` as JSON that can stand in a script element: it cannot end it, nor begin a comment."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _colours(results: StudyResults) -> str:
    """Return the part of the page's style with the colours that all figures have, and the tints of cells."""
    scales = {scale.name: scale for scale in map(results.scale, results.study.arms)}
    colours = {
        class_of(scale, at): colour
        for scale in scales.values()
        for at, colour in enumerate(level_colours(scale).values())
    }
    levels = (
        f".{name} {{ background: {colour}; fill: {colour}; color: {ink_on(colour, '#ffffff', '#000000')}; }}\n"
        for name, colour in {**colours, "l-none": NO_NORM_COLOUR}.items()
    )
    tints = (
        f".t{n} {{ background: color-mix(in srgb, var(--accent) {5 * n}%, var(--paper)); }}\n"
        for n in range(1, TINTS + 1)
    )
    return "".join((*levels, *tints))


# --- The drawings: who accepts what, who differs from whom, and what other wordings were seen to give


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


def _acted(row: Mapping[Any, Any]) -> tuple[str, Dot]:
    """Return how often an agent shares a sensitive item in flows called unacceptable, and its mark."""
    names = ("shares_given_no", "shares_given_no_low", "shares_given_no_high")
    of, low, high = (row[name] for name in names)
    text = f"{share(of, 1)} ({share(low, 1)} to {share(high, 1)})"
    return share(of, 1), Dot(0, 100 * of, 100 * low, 100 * high, row["model"], text)


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
