"""The report's page: put together from a study's tables, with everything it needs inside it."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from cinorms.core.filling import render_page
from cinorms.core.labels import share
from cinorms.core.version import version
from cinorms.figures.colours import LOWER, NO_NORM_COLOUR, UPPER, ink_on, level_colours, mixed, rgb
from cinorms.norms.thresholds import norm_needs
from cinorms.report.explorer import class_of, explorer_data
from cinorms.report.findings import Finding, Gap, acts, decides, delta, differs, gaps, how_sure, sharing
from cinorms.report.first_screen import MOST_ROWS, STEPS, Dot, Screen
from cinorms.report.results import StudyResults
from cinorms.report.standing import Standing, standings
from cinorms.report.words import count

#: The page's script, in the order in which its parts build on each other.
SCRIPTS = ("dom", "data", "state", "controls", "heatmap", "flows", "replies", "cell", "main")
#: Steps of the tint of a cell.
TINTS = 9


def render(results: StudyResults) -> str:
    """Return the page. Everything that comes from data, models or settings is escaped."""
    templates = files("cinorms.report") / "templates"
    parts = "\n".join((templates / f"report_{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{parts}\n}})();\n'
    data, found = explorer_data(results), findings(results)
    screen, arm = found.screen, found.screen.arm
    acted = [_acted(row) for row in sharing(results)[0]]
    return render_page(
        "report",
        "report",
        study=results.study,
        style=_colours(results),
        script=script,
        beside=_loads(data),
        data=embedded(data),
        screen=screen,
        headline=found.headline,
        nouns=screen.nouns,
        sentences=found.others,
        says=results.scale(arm).spoken,
        decided=found.decided.text[:1].upper() + found.decided.text[1:] if found.decided else "",
        factors=screen.factors,
        differ=differences(found.apart, found.holding),
        sure=how_sure(results, screen.standings),
        needed=_needed(results, screen, bool(acted)),
        acted=acted,
        reworded=screen.reworded,
        legend=_legend(results, arm),
        held=[_held(results, row) for row in screen.standings],
        version=version(),
    )


class Findings(NamedTuple):
    """What the page says: its first screen, what decides, who differs and how much, and the other findings."""

    screen: Screen
    decided: Finding | None
    holding: list[str]
    apart: dict[tuple[str, str], Gap]
    others: list[Finding]

    @property
    def headline(self) -> str:
        """The page's first sentence."""
        return next((found.headline for found in self.others if found.headline), self.screen.headline)

    def to_paste(self) -> list[str]:
        """Return a text per finding that can be pasted into a paper."""
        every = filter(None, (self.decided, *self.others))
        said = [f"{self.headline}.", self.screen.trust, *(f"{found.title}: {found.text}" for found in every)]
        return list(filter(None, said))


def findings(results: StudyResults) -> Findings:
    """Return what the page says of a study."""
    rows = standings(results)
    screen, arm = Screen(results, rows), rows[0].arm
    holding = [row.model for row in rows if row.norms]
    apart = gaps(results, arm, holding)
    decided = decides(results, arm, [row.model for row in rows if row.valid])
    others = (acts(results), differs(results, arm, apart), delta(results))
    return Findings(screen, decided, holding, apart, list(filter(None, others)))


def _legend(results: StudyResults, arm: str) -> list[tuple[str, str]]:
    """Return what the colours of the levels, and of no norm by reason, mean."""
    scale = results.scale(arm)
    levels = ((class_of(scale, at), option) for at, option in enumerate(scale.options))
    return [*levels, ("b-none", "no majority"), ("b-few", "too few replies")]


def _acted(row: Mapping[Any, Any]) -> tuple[str, Dot]:
    """Return how often an agent shares a sensitive item in flows called unacceptable, and its mark."""
    names = ("shares_given_no", "shares_given_no_low", "shares_given_no_high")
    of, low, high = (row[name] for name in names)
    text = f"{share(of, 1)} ({share(low, 1)} to {share(high, 1)})"
    return share(of, 1), Dot("dot", 100 * of, 100 * low, 100 * high, row["model"], text)


def _needed(results: StudyResults, screen: Screen, acted: bool) -> str:
    """Return what a norm needs, and what norms do not show; ``acted``: the page also has what models do as agents."""
    study, wordings = results.study, "these wordings" if screen.reworded else "this wording"
    says = "people say" if screen.people else f"{screen.nouns} say in {wordings}"
    needs = norm_needs({model: study.t_val[model] for model in screen.models}, study.t_maj)
    beyond = "and do as agents in these tasks, not" if acted else "not what they do, nor"
    return f"A norm on a flow needs {needs}. Norms show what {says}{' ' if acted else ', '}{beyond} what is right."


def _held(results: StudyResults, row: Standing) -> dict[str, Any]:
    """Return a model's line about its norms: a bar of them, and on which share of its flows it has one."""
    scale, status = results.scale(row.arm), results.status(row.arm, row.model)
    few = int((status == "below_t_val").sum())
    parts = [(class_of(scale, at), name, float(n)) for at, (name, n) in enumerate(row.levels.items())]
    parts += [
        ("b-none", "no majority", float(row.flows - row.norms - few)),
        ("b-few", "too few replies", float(few)),
    ]
    return {"model": row.model, "parts": _placed(parts), "share": row.with_norm}


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
    """Return the part of the page's style with the colours that all figures have, those of shares, and tints."""
    scales = {scale.name: scale for scale in map(results.scale, results.study.arms)}
    colours = {
        class_of(scale, at): colour
        for scale in scales.values()
        for at, colour in enumerate(level_colours(scale).values())
    }
    stops = [*LOWER, *UPPER[-2::-1]]
    colours |= {f"s{n}": mixed(stops, n / STEPS) for n in range(STEPS + 1)}
    # On a dark page the dark browns are lighter: at least 3:1 to the page.
    orange = LOWER[1]
    dark = {
        name: mixed((colour, orange), 0.55)
        for name, colour in colours.items()
        if rgb(colour)[2] < rgb(orange)[2]
    }
    levels = _rules({**colours, "l-none": NO_NORM_COLOUR})
    levels += f"@media screen and (prefers-color-scheme: dark) {{\n{_rules(dark)}}}\n"
    tints = (
        f".t{n} {{ background: color-mix(in srgb, var(--accent) {5 * n}%, var(--paper)); }}\n"
        for n in range(1, TINTS + 1)
    )
    return levels + "".join(tints)


def _rules(colours: Mapping[str, str]) -> str:
    return "".join(
        f".{name} {{ background: {colour}; fill: {colour}; color: {ink_on(colour, '#ffffff', '#000000')}; }}\n"
        for name, colour in colours.items()
    )


# --- Who differs from whom


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
