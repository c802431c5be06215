"""Findings: plain sentences computed from a study's tables, each with a number and a link to its evidence."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import tables
from cinorms.core.csv_files import read_csv
from cinorms.core.labels import NORM_LABELS, listed, variant_words
from cinorms.report.answer_codes import tally
from cinorms.report.results import Results
from cinorms.report.words import STATUSES, count, counted, link, mean_count, plain, share
from cinorms.stats.flow_dependence import DEPENDS, SIGNIFICANT, VERDICTS
from cinorms.stats.wordings import CONFIDENCE, FEWEST, Units, interval, spread

Floats = npt.NDArray[np.float64]

#: Valid answers of a model that a level of a factor needs before it can be named as most or least accepted.
ENOUGH = 30
#: Contrasts of one table that are named; of more, only the number is given.
NAMED = 3


@dataclass(frozen=True)
class Finding:
    """A heading, its sentences, the number that matters most, and where the explorer shows it."""

    name: str
    title: str
    number: str
    text: str
    link: str = ""
    see: str = ""


def findings(results: Results) -> list[Finding]:
    """Return the findings of a study; they are about its main arm unless they name another."""
    arm = results.main_arm()
    table = next(results.tables_of("flow_dependence", arm), None)
    left_out = set() if table is None else set(table.loc[~table["verdict"].isin(DEPENDS), "model"])
    models = [model for _, model in results.pairs(arm) if model not in left_out]
    found = [_dependence(table, arm)]
    if models:
        # An arm of people has one group: there is no other to disagree with.
        made = [_acceptance, *([] if results.is_people(arm) else [_disagreement]), _certainty]
        found += [make(results, arm, models) for make in made]
    if engine := repeatability(results):
        found.append(Finding("repeatability", "What the engine alone changes", *engine))
    return [finding for finding in (*found, _delta(results)) if finding is not None]


# --- Whose answers depend on the flow


def _dependence(table: pd.DataFrame | None, arm: str) -> Finding | None:
    if table is None:
        return None
    total = len(table)
    depends = table[table["verdict"].isin(DEPENDS)]
    text = f"The answers of {count(len(depends))} of {counted(total, 'model')} depend on the flow."
    for verdict, rows in table[~table["verdict"].isin(DEPENDS)].groupby("verdict", sort=False):
        who = listed([str(model) for model in rows["model"]])
        text += f" {who}: {VERDICTS[str(verdict)]}."
        for row in rows[rows["norms"] > 0].to_dict("records"):
            text += (
                f" {row['model']} holds a norm on {count(row['norms'])} of {count(row['flows'])} flows. With its "
                "answers shuffled between flows at random, it would hold one on "
                f"{mean_count(row['norms_exchanged'])}."
            )
    few = [str(model) for model in table.loc[table["verdict"] == "depends_few", "model"]]
    if few:
        text += f" Fewer than half of the answers of {listed(few)} could be read."
    if 0 < len(depends) < total:
        text += (
            " The findings up to ‘How consistent the norms are’ leave out the models whose answers do not."
        )
    models = [str(model) for model in table["model"]][:4]
    title, number = "Whose answers depend on the flow", f"{len(depends)} of {total}"
    return Finding("dependence", title, number, text, link(arm, models), "these models in the explorer")


# --- What is accepted


@dataclass(frozen=True)
class Level:
    """A level of a factor, the share of answers that accept it, and what each template adds to that share."""

    factor: str
    level: str
    share: float
    templates: Units

    def __str__(self) -> str:
        return f"{plain(self.factor)} ‘{self.level}’"


def _acceptance(results: Results, arm: str, models: Sequence[str]) -> Finding:
    scale = results.scale(arm)
    says = scale.spoken
    title = f"What is {says.accepted}"
    levels = levels_of(results, arm, models)
    if len(levels) < 2:
        return Finding(
            "acceptance", title, "none", f"No two levels of a factor have {ENOUGH} valid answers to compare."
        )
    most, least = max(levels, key=lambda one: one.share), min(levels, key=lambda one: one.share)
    of = f" of {models[0]}" if len(models) == 1 else f" (mean of {len(models)} models)"
    who = "People" if results.is_people(arm) else "Models"
    upper = [f"‘{option}’" for option, side in zip(scale.options, scale.sides, strict=True) if side > 0]
    text = (
        f"{who} {says.accept} flows with {most} most often: {_accepted(most, len(levels))} of the valid answers{of} "
        f"are {' or '.join(upper)}. They {says.accept} flows with {least} least often: "
        f"{_accepted(least, len(levels))}. "
        f"{_interval_text(most, len(levels), results.is_people(arm))}"
    )
    see = f"the norms by {plain(most.factor)}"
    return Finding(
        "acceptance", title, share(most.share, 1), text, link(arm, list(models)[:4], rows=most.factor), see
    )


def levels_of(results: Results, arm: str, models: Sequence[str]) -> list[Level]:
    """Return the levels of all factors about which a model gave enough valid answers.

    Each model counts equally, however many of its answers are valid.
    """
    flows = results.flows(arm)
    names, groups = [], {}
    for factor in results.factors(arm):
        for level, part in flows.groupby(factor, observed=True):
            names.append((factor, str(level)))
            groups[f"{factor}\t{level}"] = part["flow"].to_numpy(np.int64)
    prompts = results.prompts[arm]
    templates = np.eye(prompts["template_no"].max() + 1)[prompts["template_no"]]
    tallies = [
        [counts @ templates for counts in tally(results.codes[arm, model], groups)] for model in models
    ]
    found = []
    for i, (factor, level) in enumerate(names):
        of_models = [
            share_of(accepts[i], answers[i]) for accepts, answers in tallies if answers[i].sum() >= ENOUGH
        ]
        if of_models:
            shares, units = zip(*of_models, strict=True)
            influence, weight = np.mean(units, axis=0)
            found.append(Level(factor, level, float(np.mean(shares)), Units(influence, weight)))
    return found


def share_of(accepts: Floats, answers: Floats) -> tuple[float, Units]:
    """Return the share of answers that accept, and what each template adds to it."""
    weight = answers / answers.sum()
    accepted = float(accepts.sum() / answers.sum())
    return accepted, Units(accepts / answers.sum() - accepted * weight, weight)


def _accepted(level: Level, n_levels: int) -> str:
    """Return the share that accepts, with its interval where there is one."""
    between = share_interval(level, n_levels)
    return share(level.share, 1) + (
        f" ({100 * between[0]:.0f}% to {100 * between[1]:.0f}%)" if between else ""
    )


def _interval_text(level: Level, n_levels: int, people: bool) -> str:
    if share_interval(level, 1) is None:
        if people:
            return "One person rated them, so the study cannot show how much people differ."
        return "They were asked in one template only, so the study cannot show how much the wording matters."
    over = variant_words(people).many + ("" if people else " (wordings)")
    extremes = f"these are the extremes of {n_levels} levels of all factors"
    return f"Brackets: 95% intervals over {over}, widened because {extremes}."


def share_interval(level: Level, n_levels: int) -> tuple[float, float] | None:
    """Return an interval for a share if other templates asked about the same flows; none for one template.

    The level is an extreme out of ``n_levels``, so Bonferroni's correction makes all their intervals hold at once.
    """
    if (level.templates.weight > 0).sum() < FEWEST:
        return None
    _, low, high = interval(level.share, *spread(level.templates), 1 - (1 - CONFIDENCE) / n_levels)
    return max(low, 0.0), min(high, 1.0)


# --- Where models disagree


def _disagreement(results: Results, arm: str, models: Sequence[str]) -> Finding | None:
    """Return on how many flows models differ; None for a single model, about which there is nothing to say."""
    title = "Where the models disagree"
    held = {model: results.held(arm, model) for model in models}
    if len(held) < 2:
        return None
    values = pd.DataFrame(held)
    both = values[values.notna().sum(axis=1) > 1]
    if both.empty:
        return Finding(
            "disagreement", title, "none", "No flow has norms of two models, so nothing can be compared."
        )
    spread, scale = both.max(axis=1) - both.min(axis=1), results.scale(arm)
    middle, says = scale.middle, scale.spoken
    opposed = (both.max(axis=1) > middle) & (both.min(axis=1) < middle)
    who = "Both models" if len(held) == 2 else f"At least two of the {len(held)} models"
    text = (
        f"{who} hold a norm on {count(len(both))} of "
        f"{count(len(results.norms[arm, models[0]]))} flows. The norms differ on {count(int((spread > 0).sum()))} "
        f"of these ({share(int((spread > 0).sum()), len(both))}). On {count(int(opposed.sum()))} "
        f"({share(int(opposed.sum()), len(both))}), what is {says.accepted} by one model is {says.rejected} by another."
    )
    a, b, pair = _furthest(values)
    if len(held) > 2:
        text += f" {a} and {b} are furthest apart: {pair}"
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
    text = f"they differ on {count(differ)} of the {count(n)} flows on which both hold a norm ({share(differ, n)})."
    return a, b, f"{text} Their mean distance over these {count(n)} flows is {mean:.2f} levels."


# --- How consistent the norms are


def _certainty(results: Results, arm: str, models: Sequence[str]) -> Finding:
    title = "How consistent the norms are"
    sure = {}
    for model in models:
        kept = (results.status(arm, model) == "kept").to_numpy()
        if kept.any():
            sure[model] = float(results.norms[arm, model].loc[kept, "share"].mean())
    if not sure:
        return Finding("certainty", title, "none", "No norm is held under this study's thresholds.")
    first, last = max(sure, key=lambda m: sure[m]), min(sure, key=lambda m: sure[m])
    number = share(sure[last], 1)
    n = int(max(results.norms[arm, model]["n_asked"].max() for model in sure))
    people = results.is_people(arm)
    if len(sure) == 1:
        holds, its = ("people hold", "their") if people else (f"{last} holds", "its")
        text = f"Where {holds} a norm, {number} of {its} valid answers agree with it on average."
    else:
        text = (
            f"A norm is the level of most valid answers, not of all. {first} is the most consistent: on average "
            f"{share(sure[first], 1)} of its valid answers agree with its norm. {last} is the least: {number}."
        )
    text += (
        f" Each flow was rated by up to {n} people. Had one person rated each flow, {share(1 - sure[last], 1)} of "
        "these ratings would differ from the norm."
        if people
        else f" Each flow was asked in up to {n} variants. Had you asked {last} only once per flow, "
        f"{share(1 - sure[last], 1)} of these answers would differ from its norm."
    )
    return Finding(
        "certainty",
        title,
        number,
        text,
        link(arm, [last], sort=f"share:{last}"),
        f"the norms of {last}, least consistent first",
    )


# --- Distance from expected values


def _delta(results: Results) -> Finding | None:
    """Return how far mean answers are from expected values, if an analysis of the study computes it."""
    for whole in results.tables_of("mean_delta"):
        table = whole[whole["status"] == "ok"]
        if table.empty:
            continue
        distance = table["mean_signed"].abs().to_numpy()
        near, far = table.iloc[int(distance.argmin())], table.iloc[int(distance.argmax())]
        arm = results.study.arms[str(far["arm"])]
        dataset, levels = results.study.datasets[arm.dataset], arm.levels
        low, high = dataset.expected_range or levels[:: len(levels) - 1]
        text = (
            f"The dataset ‘{dataset.title}’ states expected values from {low:g} to {high:g}. The mean answers of "
            f"{near['model']} are closest to them ({_signed(near)} on average over {count(int(near['n']))} flows)"
        )
        text += f"; those of {far['model']} are furthest ({_signed(far)})." if len(table) > 1 else "."
        text += f" A positive number: {arm.scale.spoken.more} than expected."
        title, shown = "Distance from expected values", link(str(far["arm"]), [str(far["model"])])
        return Finding("delta", title, _signed(far), text, shown, "the flows with an expected value")
    return None


def _signed(row: Any) -> str:
    return f"{row['mean_signed']:+.2f}".replace("-", "−")


# --- What the engine alone changes


def repeatability(results: Results) -> tuple[str, str] | None:
    """Return the number that matters most and the sentences; None where no table of the study is about repeats."""
    found = list(results.tables_of("repeatability"))
    if not found:
        return None
    table = pd.concat(found, ignore_index=True).drop_duplicates(["arm", "model"])
    asked = table[table["answers_differ"].notna()]
    if asked.empty:
        text = "No arm was asked again with valid answers, so the share that the engine alone changes is not known."
        return "not known", text
    worst = asked.iloc[int(asked["answers_differ"].to_numpy(dtype=float).argmax())]
    text = " ".join([*_repeat_sentences(asked, worst), *_floor_sentences(results)])
    return _percent(worst["answers_differ"]), text


def _repeat_sentences(asked: pd.DataFrame, worst: pd.Series[Any]) -> Iterator[str]:
    n = len(asked)
    yield (
        f"The same prompts were asked again in other batches ({count(n)} {'pair' if n == 1 else 'pairs'} of model and "
        "arm)."
    )
    of = (
        "Of its answers" if n == 1 else f"{worst['model']} in arm {worst['arm']} changed most: of its answers"
    )
    interval = ""
    if pd.notna(worst["conf_low"]):
        interval = f" (95% interval {_percent(worst['conf_low'])} to {_percent(worst['conf_high'])})"
    norms = ""
    if pd.notna(worst["norms_differ"]):
        norms = f", and of its norms {_percent(worst['norms_differ'])}"
    yield f"{of}, {_percent(worst['answers_differ'])} were another level{interval}{norms}."
    drawn = asked[asked["what"] == "engine_and_sampling"]
    if len(drawn):
        who = listed([f"{row['model']} ({row['arm']})" for row in drawn.to_dict("records")])
        yield f"Answers of {who} are drawn at random, so sampling is part of that share."


def _floor_sentences(results: Results) -> Iterator[str]:
    """Yield, for each table of contrasts, how many are no larger than what the engine alone changes."""
    for name, entry in results.study.analyses.items():
        if "engine_status" not in entry.meanings:
            continue
        table = read_csv(results.files["tables"][name])
        judged = table[table["engine_status"].isin(["above", "not_above", "one_side_repeated"])]
        within = judged[judged["engine_status"] == "not_above"]
        if judged.empty:
            yield f"Table {name}: neither side of any contrast was asked again, so this floor is not known there."
        elif within.empty:
            yield f"Table {name}: every contrast with a side that was asked again is larger."
        else:
            yield (
                f"Table {name}: {count(len(within))} of {count(len(judged))} contrasts{_named(within)} are no larger, "
                "so the engine alone may be the reason."
            )


def _percent(part: Any) -> str:
    """Return a share as text; a small one, as engines have, is not rounded to 0."""
    return "below 0.1%" if 0 < part < 0.0005 else f"{float(part):.1%}"


def _named(within: pd.DataFrame) -> str:
    if len(within) > NAMED or "model_a" not in within:
        return ""
    sides = [
        f"{row['model_a']} ({row['arm_a']}) and {row['model_b']} ({row['arm_b']})"
        for row in within.to_dict("records")
    ]
    return f" ({'; '.join(sides)})"


# --- What was discarded


def discarded(results: Results) -> Finding:
    """Return what has no norm, why, and what that means for the rest of the page."""
    arm = results.main_arm()
    statuses = pd.concat([results.status(*pair) for pair in results.pairs(arm)])
    n = {str(status): int(number) for status, number in statuses.value_counts().items()}
    total = len(statuses)
    gone = total - n.get("kept", 0)
    models = {m: float((results.status(arm, m) != "kept").mean()) for _, m in results.pairs(arm)}
    worst = max(models, key=lambda m: models[m])
    text = " ".join(_discarded_sentences(results, arm, n, total, gone))
    if len(models) > 1 and gone:
        text += f" {worst} has the most: it holds no norm on {share(models[worst], 1)} of its flows."
    text += " ".join(["", *_association(results, arm)])
    shown = link(arm, [worst], held="none") if gone else ""
    return Finding(
        "discarded",
        "What was discarded",
        share(gone, total),
        text,
        shown,
        f"the flows on which {'people hold' if results.is_people(arm) else f'{worst} holds'} no norm",
    )


def _discarded_sentences(
    results: Results, arm: str, n: dict[str, int], total: int, gone: int
) -> Iterator[str]:
    codes = [results.codes[pair] for pair in results.pairs(arm)]
    asked, valid = sum(c.n_asked for c in codes), sum(c.n_valid for c in codes)
    kinds: dict[str, int] = {}
    for status, number in itertools.chain.from_iterable(c.invalid().items() for c in codes):
        kinds[status] = kinds.get(status, 0) + number
    most = sorted(kinds, key=lambda s: -kinds[s])[:2]
    yield (
        f"{count(asked - valid)} of {count(asked)} answers ({share(asked - valid, asked)}) have no level"
        + (f", mostly: {listed([STATUSES[s] for s in most])}." if most else ".")
    )
    if not gone:
        yield "Every flow has a norm: the consistency filter discarded nothing."
        return
    of = "flows" if len(results.pairs(arm)) == 1 else "pairs of model and flow"
    who = "people hold" if results.is_people(arm) else "the model holds"
    parts = [f"{count(n[s])} with {NORM_LABELS[s]}" for s in tables.NORM_STATUSES[1:] if n.get(s)]
    yield (
        f"{count(gone)} of {count(total)} {of} ({share(gone, total)}) have no norm: {', '.join(parts)}. "
        f"No norm does not mean neutral: the study cannot tell what {who} there."
    )


def _association(results: Results, arm: str) -> Iterator[str]:
    """Yield whether discarding is associated with a factor, if an analysis of the study tests it."""
    for table in results.tables_of("discarded_association", arm):
        tested = table[table["status"] == "ok"]
        found = tested[tested["p_holm"] < SIGNIFICANT]
        if found.empty:
            continue
        row = tested.iloc[int(tested["cramers_v"].to_numpy().argmax())]
        yield (
            f"The discarded flows are not a random sample. The study tested {count(len(tested))} pairs of model and "
            f"factor; {count(len(found))} are associated (p below {SIGNIFICANT:g} after Holm’s correction over all "
            f"tests), most strongly {plain(row['factor'])} for {row['model']} (Cramér’s V {row['cramers_v']:.2f}). "
            "So averages over norms lean towards the levels that models answer consistently."
        )
        return
