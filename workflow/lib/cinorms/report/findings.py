"""Findings: plain sentences computed from a study's tables, each with a number and a link to its evidence."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core import scales, tables
from cinorms.core.csv_files import read_csv
from cinorms.core.labels import NORM_LABELS
from cinorms.report.answer_codes import tally
from cinorms.report.results import Results, dependence_table
from cinorms.report.words import STATUSES, count, link, listed, plain, share
from cinorms.stats.flow_dependence import DEPENDS, VERDICTS

#: Valid answers that a level of a factor needs to be named as the one accepted most or least.
ENOUGH = 30
#: Draws of the interval over wordings.
DRAWS = 2000


@dataclass(frozen=True)
class Finding:
    """A heading, its sentences, the one number that matters, and where the explorer shows it."""

    name: str
    title: str
    number: str
    text: str
    link: str = ""
    see: str = ""


def findings(results: Results) -> list[Finding]:
    """Return the findings of a study, of its main arm where nothing else is said."""
    arm = results.main_arm()
    table = dependence_table(results, arm)
    left_out = set() if table is None else set(table.loc[~table["verdict"].isin(DEPENDS), "model"])
    models = [model for _, model in results.pairs(arm) if model not in left_out]
    found = [_dependence(table, arm)]
    if models:
        found += [make(results, arm, models) for make in (_acceptance, _disagreement, _certainty)]
    return [finding for finding in (*found, _delta(results)) if finding is not None]


# --- Whose answers depend on the flow


def _dependence(table: pd.DataFrame | None, arm: str) -> Finding | None:
    if table is None or table.empty:
        return None
    of = len(table)
    depends = table[table["verdict"].isin(DEPENDS)]
    who = "model" if of == 1 else "models"
    text = f"The answers of {count(len(depends))} of {count(of)} {who} depend on the flow that was asked."
    for verdict, rows in table[~table["verdict"].isin(DEPENDS)].groupby("verdict", sort=False):
        who = listed([str(model) for model in rows["model"]])
        text += f" {who}: {VERDICTS[str(verdict)]}."
        for row in rows[rows["norms"] > 0].to_dict("records"):
            text += (
                f" {row['model']} holds a norm on {count(row['norms'])} of {count(row['flows'])} flows; with its "
                f"answers exchanged between flows at random it would on {row['norms_exchanged']:.1f}."
            )
    few = [str(model) for model in table.loc[table["verdict"] == "depends_few", "model"]]
    if few:
        text += f" Fewer than half of the answers of {listed(few)} could be read."
    if len(depends) < of:
        text += " The findings below leave them out."
    models = [str(model) for model in table["model"]][:4]
    title, number = "Whose answers depend on the flow", f"{len(depends)} of {of}"
    return Finding("dependence", title, number, text, link(arm, models), "all of them")


# --- What is accepted


def _acceptance(results: Results, arm: str, models: Sequence[str]) -> Finding:
    title = "What is accepted"
    levels = [level for level in _levels(results, arm, models) if level["valid"] >= ENOUGH]
    if len(levels) < 2:
        return Finding(
            "acceptance", title, "none", f"No two levels of a factor have {ENOUGH} valid answers to compare."
        )
    most, least = max(levels, key=_by_share), min(levels, key=_by_share)
    who = models[0] if len(models) == 1 else f"the {len(models)} models together"
    options = results.study["arms"][arm]["options"]
    text = (
        f"Of all factors, {_level(most)} is accepted most: {_accepted(most)} of the valid answers that {who} "
        f"gave about it are ‘{options[3]}’ or ‘{options[4]}’. {_capital(_level(least))} is accepted least, "
        f"with {_accepted(least)}. {_interval_said(most)}"
    )
    see = f"the norms by {plain(most['factor'])}"
    return Finding(
        "acceptance", title, _percent(most), text, link(arm, list(models)[:4], rows=most["factor"]), see
    )


def _levels(results: Results, arm: str, models: Sequence[str]) -> list[dict[str, Any]]:
    """Return for every level of every factor how many valid answers there are, and how many accept."""
    flows = results.flows(arm)
    names, groups = [], {}
    for factor in results.factors(arm):
        for level, part in flows.groupby(factor, observed=True):
            names.append({"factor": factor, "level": str(level)})
            groups[f"{factor}\t{level}"] = part["flow"].to_numpy(np.int64)
    tallies = [tally(results.codes[arm, model], groups) for model in models]
    accepts = np.sum([accepting for accepting, _ in tallies], axis=0)
    valid = np.sum([answered for _, answered in tallies], axis=0)
    seed = results.study["seed"]
    return [
        {**name, "accepts": accepts[i], "answers": valid[i], "valid": int(valid[i].sum()), "seed": seed}
        for i, name in enumerate(names)
    ]


def _by_share(level: dict[str, Any]) -> tuple[float, int]:
    return float(level["accepts"].sum() / level["valid"]), level["valid"]


def _level(level: dict[str, Any]) -> str:
    return f"{plain(level['factor'])} ‘{level['level']}’"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _percent(level: dict[str, Any]) -> str:
    return share(int(level["accepts"].sum()), level["valid"])


def _accepted(level: dict[str, Any]) -> str:
    """Return the share that accepts, with its interval where there is one."""
    between = interval(level["accepts"], level["answers"], level["seed"])
    return _percent(level) + (f" ({100 * between[0]:.0f}% to {100 * between[1]:.0f}%)" if between else "")


def _interval_said(level: dict[str, Any]) -> str:
    if (level["answers"] > 0).sum() < 2:
        return "It was asked in one variant only, so nothing says how much the wording matters."
    return "In brackets: 95% intervals over the variants (wordings and answer orders)."


def interval(accepts: Any, answers: Any, seed: int) -> tuple[float, float] | None:
    """Return the 95% bootstrap interval of a share when wordings are drawn anew; none for one wording.

    ``accepts`` and ``answers`` are counts per variant; the flows stay as they are.
    """
    used = answers > 0
    n = int(used.sum())
    if n < 2:
        return None
    drawn = np.random.default_rng(seed).multinomial(n, [1 / n] * n, size=DRAWS)
    shares = (drawn @ accepts[used]) / (drawn @ answers[used])
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)


# --- Where models disagree


def _disagreement(results: Results, arm: str, models: Sequence[str]) -> Finding:
    title = "Where the models disagree"
    held = {model: results.held(arm, model) for model in models}
    if len(held) < 2:
        return Finding(
            "disagreement", title, "none", "One model is left: there is no other to compare it with."
        )
    values = pd.DataFrame(held)
    both = values[values.notna().sum(axis=1) > 1]
    if both.empty:
        return Finding(
            "disagreement", title, "none", "On no flow do two models hold a norm: nothing can be compared."
        )
    spread = both.max(axis=1) - both.min(axis=1)
    opposed = (both.max(axis=1) > 0) & (both.min(axis=1) < 0)
    text = (
        f"On {count(len(both))} of {count(len(results.norms[arm, models[0]]))} flows at least two of "
        f"the {len(held)} models hold a norm. On {count(int((spread > 0).sum()))} of these "
        f"({share(int((spread > 0).sum()), len(both))}) the norms differ, and on {count(int(opposed.sum()))} "
        f"({share(int(opposed.sum()), len(both))}) one model accepts what another one rejects."
    )
    a, b, pair = _furthest(values)
    if len(held) > 2:
        text += f" Furthest apart are {a} and {b}: {pair}"
    return Finding(
        "disagreement",
        title,
        count(int((spread > 0).sum())),
        text,
        link(arm, [a, b], compare="1"),
        f"the flows on which {a} and {b} differ",
    )


def _furthest(values: pd.DataFrame) -> tuple[str, str, str]:
    """Return the two models whose norms are furthest apart on average, and how far."""
    found = []
    for a, b in itertools.combinations(values.columns, 2):
        gap = (values[a] - values[b]).abs().dropna()
        if len(gap):
            found.append((float(gap.mean()), len(gap), int((gap > 0).sum()), str(a), str(b)))
    mean, n, differ, a, b = max(found)
    said = f"on {count(differ)} of the {count(n)} flows on which both hold a norm ({share(differ, n)}) they differ."
    return a, b, f"{said} The mean distance is {mean:.2f} levels."


# --- How sure that is


def _certainty(results: Results, arm: str, models: Sequence[str]) -> Finding:
    title = "How sure that is"
    sure = {}
    for model in models:
        kept = (results.status(arm, model) == "kept").to_numpy()
        if kept.any():
            sure[model] = float(results.norms[arm, model].loc[kept, "share"].mean())
    if not sure:
        return Finding(
            "certainty", title, "none", "No model holds a norm under the thresholds of this study."
        )
    first, last = max(sure, key=lambda m: sure[m]), min(sure, key=lambda m: sure[m])
    number = share(sure[last], 1)
    n = len(results.prompts[arm])
    if len(sure) == 1:
        text = f"Where {last} holds a norm, on average {number} of its valid answers are that level."
    else:
        text = (
            f"Where a model holds a norm, the level is what most of its valid answers say, but not all: on average "
            f"{share(sure[first], 1)} of them for {first}, the most consistent, and {number} for {last}, the least."
        )
    text += (
        f" Each flow was asked in up to {n} variants: in a single one of them, {last} would have given another valid "
        f"answer in {share(1 - sure[last], 1)} of the cases."
    )
    return Finding(
        "certainty",
        title,
        number,
        text,
        link(arm, [last], sort=f"share:{last}"),
        f"the norms of {last}, least sure first",
    )


# --- How far from what is expected


def _delta(results: Results) -> Finding | None:
    """Return how far mean answers are from expected values, where an analysis of the study says it."""
    for name, entry in results.study["analyses"].items():
        if entry["kind"] != "mean_delta":
            continue
        table = read_csv(results.tables[name])
        table = table[table["status"] == "ok"]
        if table.empty:
            continue
        distance = table["mean_signed"].abs().to_numpy()
        near, far = table.iloc[int(distance.argmin())], table.iloc[int(distance.argmax())]
        dataset = results.study["datasets"][results.study["arms"][str(far["arm"])]["dataset"]]
        low, high = dataset["expected_range"] or scales.LEVELS[:: len(scales.LEVELS) - 1]
        text = (
            f"{dataset['title']} states expected values from {low:g} to {high:g}. The mean answers of {near['model']} "
            f"are nearest to them ({_signed(near)} on average over {count(int(near['n']))} flows)"
        )
        text += f" and those of {far['model']} furthest ({_signed(far)})." if len(table) > 1 else "."
        text += " Above zero a model accepts more than is expected."
        see = "the flows with an expected value"
        return Finding(
            "delta",
            "Against what is expected",
            _signed(far),
            text,
            link(str(far["arm"]), [str(far["model"])]),
            see,
        )
    return None


def _signed(row: Any) -> str:
    return f"{row['mean_signed']:+.2f}".replace("-", "−")


# --- What was discarded


def discarded(results: Results) -> Finding:
    """Return what has no norm, why, and what that means for everything else on the page."""
    arm = results.main_arm()
    statuses = pd.concat([results.status(*pair) for pair in results.pairs(arm)])
    n = {str(status): int(number) for status, number in statuses.value_counts().items()}
    of = len(statuses)
    gone = of - n.get("kept", 0)
    models = {m: float((results.status(arm, m) != "kept").mean()) for _, m in results.pairs(arm)}
    worst = max(models, key=lambda m: models[m])
    text = " ".join(_discarded_said(results, arm, n, of, gone))
    if len(models) > 1 and gone:
        text += f" Most are {worst}’s: it holds no norm on {share(models[worst], 1)} of its flows."
    text += " ".join(["", *_association(results, arm)])
    shown = link(arm, [worst], held="none") if gone else ""
    return Finding(
        "discarded",
        "What was discarded",
        share(gone, of),
        text,
        shown,
        f"the flows without a norm of {worst}",
    )


def _discarded_said(results: Results, arm: str, n: dict[str, int], of: int, gone: int) -> Iterator[str]:
    codes = [results.codes[pair] for pair in results.pairs(arm)]
    asked, valid = sum(c.n_asked for c in codes), sum(c.n_valid for c in codes)
    kinds: dict[str, int] = {}
    for status, number in itertools.chain.from_iterable(c.invalid().items() for c in codes):
        kinds[status] = kinds.get(status, 0) + number
    most = sorted(kinds, key=lambda s: -kinds[s])[:2]
    yield (
        f"{count(asked - valid)} of {count(asked)} answers ({share(asked - valid, asked)}) have no level"
        + (f" (mostly: {listed([STATUSES[s] for s in most])})." if most else ".")
    )
    if not gone:
        yield "Every flow has a norm: the consistency filter discarded nothing."
        return
    parts = [f"{NORM_LABELS[s]} {count(n[s])}" for s in tables.NORM_STATUSES[1:] if n.get(s)]
    yield (
        f"{count(gone)} of {count(of)} pairs of model and flow ({share(gone, of)}) have no norm: {', '.join(parts)}."
        " That is no neutral norm: this page says nothing about what the model holds there."
    )


def _association(results: Results, arm: str) -> Iterator[str]:
    """Yield whether discarding goes with a factor, where an analysis of the study tested it."""
    for name, entry in results.study["analyses"].items():
        if entry["kind"] != "discarded_association":
            continue
        table = read_csv(results.tables[name])
        table = table[(table["arm"] == arm) & (table["status"] == "ok") & (table["p"] < 0.05)]
        if table.empty:
            continue
        row = table.iloc[int(table["cramers_v"].to_numpy().argmax())]
        yield (
            f"What is discarded is not a random part: it goes most with {plain(row['factor'])} "
            f"({row['model']}, Cramér’s V {row['cramers_v']:.2f}), so averages over norms lean towards the levels that "
            "models answer consistently."
        )
        return
