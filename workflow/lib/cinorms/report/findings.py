"""Findings: plain sentences computed from a study's tables, each with a number and a link to its evidence."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import tables
from cinorms.core.csv_files import read_csv
from cinorms.core.labels import NORM_LABELS, listed, variant_words
from cinorms.report.results import StudyResults, tally
from cinorms.report.words import STATUSES, count, counted, link, mean_count, plain, share, share_between
from cinorms.stats.flow_dependence import DEPENDS, FEW_MISSING, SIGNIFICANT, VERDICTS
from cinorms.stats.say_do import ALL_FLOWS
from cinorms.stats.wordings import (
    CONFIDENCE,
    FEWEST,
    FEWEST_HALVED,
    ShareBetween,
    Units,
    interval,
    own_disagreement,
    spread,
)

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
    #: What the number counts.
    unit: str = ""


def findings(results: StudyResults) -> list[Finding]:
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
        unit = "of a model's answers changed, at most" if engine[0] != "not known" else ""
        found.append(Finding("repeatability", "What the engine alone changes", *engine, unit=unit))
    return [finding for finding in (*found, _delta(results), _acts(results)) if finding is not None]


# --- Whose answers depend on the flow


def _dependence(table: pd.DataFrame | None, arm: str) -> Finding | None:
    if table is None:
        return None
    total, depends = len(table), table["verdict"].isin(DEPENDS)
    whose = (
        f"{count(depends.sum())} of {counted(total, 'model')}"
        if total > 1 or not depends.all()
        else table["model"].iloc[0]
    )
    text = f"The answers of {whose} depend on the flow."
    for verdict, rows in table[~depends].groupby("verdict", sort=False):
        text += f" {listed(list(map(str, rows['model'])))}: {VERDICTS[str(verdict)]}."
        for row in rows[rows["norms"] > 0].to_dict("records"):
            text += (
                f" {row['model']} holds a norm on {count(row['norms'])} of {count(row['flows'])} flows. With its "
                "answers shuffled between flows at random, it would hold one on "
                f"{mean_count(row['norms_exchanged'])}."
            )
    few = [str(model) for model in table.loc[table["verdict"] == "depends_few", "model"]]
    if few:
        text += f" Fewer than half of the answers of {listed(few)} could be read."
    gaps = [str(model) for model in table.loc[depends & (table["valid"] < FEW_MISSING), "model"]]
    if gaps:
        text += (
            f" More than a tenth of the answers of {listed(gaps)} could not be read. If this happens more often for "
            "some flows and some answers than for others, that alone can look like dependence."
        )
    if 0 < depends.sum() < total:
        text += " The next findings, up to ‘How consistent the norms are’, leave out the other models."
    title, number = "Whose answers depend on the flow", f"{depends.sum()} of {total}"
    shown = link(arm, list(map(str, table["model"][:4])))
    return Finding("dependence", title, number, text, shown, "these models in the explorer", "models")


# --- What is accepted


@dataclass(frozen=True)
class LevelShare:
    """A level of a factor, the share of answers that accept it, and what each template adds to that share."""

    factor: str
    level: str
    share: float
    templates: Units

    def __str__(self) -> str:
        return f"{plain(self.factor)} ‘{self.level}’"


def _acceptance(results: StudyResults, arm: str, models: Sequence[str]) -> Finding | None:
    """Return which levels are accepted most and least; None where no two have enough answers."""
    scale, people = results.scale(arm), results.is_people(arm)
    says = scale.spoken
    title = f"What is {says.accepted}"
    levels = levels_of(results, arm, models)
    if len(levels) < 2:
        return None
    most, least = max(levels, key=lambda level: level.share), min(levels, key=lambda level: level.share)
    whose = f" of {models[0]}" if len(models) == 1 else f" (mean of {len(models)} models)"
    upper = [f"‘{option}’" for option, side in zip(scale.options, scale.sides, strict=True) if side > 0]
    if share_interval(most, 1) is None:
        why = "One person rated them, so the study cannot show how much people differ."
        if not people:
            why = (
                "They were asked in one wording only, so the study cannot show how much the wording matters."
            )
    else:
        why = (
            f"Brackets: 95% intervals over {variant_words(people).many}, widened because these two levels were picked "
            f"from {len(levels)} (all factors)."
        )
    text = (
        f"{'People' if people else 'Models'} {says.accept} flows with {most} most often: "
        f"{_accepted(most, len(levels))} of the valid answers{whose} are {' or '.join(upper)}. "
        f"They {says.accept} flows with {least} least often: {_accepted(least, len(levels))}. {why}"
    )
    shown = link(arm, list(models)[:4], rows=most.factor)
    see = f"the norms by {plain(most.factor)}"
    unit = f"of the valid answers{whose} {says.accept} flows with {most}"
    return Finding("acceptance", title, share(most.share, 1), text, shown, see, unit)


def levels_of(results: StudyResults, arm: str, models: Sequence[str]) -> list[LevelShare]:
    """Return the levels of all factors about which a model gave enough valid answers.

    Each model counts equally, however many of its answers are valid.
    """
    groups = {
        (factor, str(level)): part["flow"].to_numpy(np.int64)
        for factor in results.factors(arm)
        for level, part in results.flows(arm).groupby(factor, observed=True)
    }
    prompts = results.prompts[arm]
    templates = np.eye(prompts["template_no"].max() + 1)[prompts["template_no"]]
    tallies = [[n @ templates for n in tally(results.codes[arm, model], groups)] for model in models]
    levels = []
    for i, (factor, level) in enumerate(groups):
        of_models = [share_of(yes[i], n[i]) for yes, n in tallies if n[i].sum() >= ENOUGH]
        if of_models:
            shares, units = zip(*of_models, strict=True)
            levels.append(LevelShare(factor, level, float(np.mean(shares)), Units(*np.mean(units, axis=0))))
    return levels


def share_of(accepts: Floats, answers: Floats) -> tuple[float, Units]:
    """Return the share of answers that accept, and what each template adds to it."""
    weight = answers / answers.sum()
    accepted = float(accepts.sum() / answers.sum())
    return accepted, Units(accepts / answers.sum() - accepted * weight, weight)


def _accepted(level: LevelShare, n_levels: int) -> str:
    """Return the share that accepts, with its interval where there is one."""
    text, ends = share(level.share, 1), share_interval(level, n_levels)
    return f"{text} ({100 * ends[0]:.0f}% to {100 * ends[1]:.0f}%)" if ends else text


def share_interval(level: LevelShare, n_levels: int) -> tuple[float, float] | None:
    """Return an interval for a share if other templates asked about the same flows; none for one template.

    The level is an extreme out of ``n_levels``, so Bonferroni's correction makes all their intervals hold at once.
    """
    if (level.templates.weight > 0).sum() < FEWEST:
        return None
    _, low, high = interval(level.share, *spread(level.templates), 1 - (1 - CONFIDENCE) / n_levels)
    return max(low, 0.0), min(high, 1.0)


# --- Where models disagree


def _disagreement(results: StudyResults, arm: str, models: Sequence[str]) -> Finding | None:
    """Return on how many flows models differ; None where no flow has norms of two models."""
    title = "Where the models disagree"
    held = {model: results.held(arm, model) for model in models}
    if len(held) < 2:
        return None
    values = pd.DataFrame(held)
    both = values[values.notna().sum(axis=1) > 1]
    if both.empty:
        return None
    highest, lowest, scale = both.max(axis=1), both.min(axis=1), results.scale(arm)
    differ = int((highest > lowest).sum())
    opposed = int(((highest > scale.middle) & (lowest < scale.middle)).sum())
    who = "Both models" if len(held) == 2 else f"At least two of the {len(held)} models"
    text = (
        f"{who} hold a norm on {count(len(both))} of {count(len(results.norms[arm, models[0]]))} flows. The norms "
        f"differ on {count(differ)} of these ({share(differ, len(both))}). On {count(opposed)} "
        f"({share(opposed, len(both))}), the flow is {scale.spoken.accepted} by one model and {scale.spoken.rejected} "
        "by another."
    )
    text += _own_disagreement(results, arm, models)
    pairs = []
    for a, b in itertools.combinations(values.columns, 2):
        gap = (values[a] - values[b]).abs().dropna()
        if len(gap):
            pairs.append((float(gap.mean()), len(gap), int((gap > 0).sum()), str(a), str(b)))
    mean, n, n_differ, a, b = max(pairs)
    if len(held) > 2:
        text += (
            f" {a} and {b} are furthest apart: they differ on {count(n_differ)} of the {count(n)} flows on which both "
            f"hold a norm ({share(n_differ, n)}). Their mean distance over these {count(n)} flows is {mean:.2f} levels."
        )
    see, unit = (
        f"the flows on which {a} and {b} differ",
        f"of {counted(len(both), 'flow')} have different norms",
    )
    return Finding("disagreement", title, count(differ), text, link(arm, [a, b], compare="1"), see, unit)


def _own_disagreement(results: StudyResults, arm: str, models: Sequence[str]) -> str:
    """Return a sentence on how much one model differs from itself, where it was asked in enough templates."""
    every = [results.counts(arm, model) for model in models]
    parts = [
        own_disagreement(counts, results.study.thresholds(model), len(models), results.scale(arm).sides)
        for model, counts in zip(models, every, strict=True)
        if counts is not None and counts.shape[2] >= FEWEST_HALVED
    ]
    found = [part for part in parts if not np.isnan(part).any()]
    if not found:
        return ""
    differ, opposed = np.mean(found, axis=0)
    n = "two" if len(models) == 2 else len(models)
    return (
        f" Compared in the same way with itself ({n} random halves of its wordings instead of {n} models), a model has "
        f"different norms on {share(differ, 1)} of the flows, and norms on opposite sides of the scale on "
        f"{share(opposed, 1)} (mean of {counted(len(found), 'model')})."
    )


# --- How consistent the norms are


def _certainty(results: StudyResults, arm: str, models: Sequence[str]) -> Finding | None:
    """Return how many answers agree with the norms; None without a norm, which `discarded` tells."""
    title = "How consistent the norms are"
    held = {model: results.held_share(arm, model) for model in models}
    sure = {model: agree.value for model, (_, agree) in held.items() if agree.value > 0}
    if not sure:
        return None
    first, last = max(sure, key=lambda model: sure[model]), min(sure, key=lambda model: sure[model])
    number = share(sure[last], 1)
    # Over all flows: those without a norm are those of whose answers most differ.
    others = share(1 - results.norms[arm, last]["share"].mean(), 1)
    n = int(max(results.norms[arm, model]["n_asked"].max() for model in sure))
    people = results.is_people(arm)
    if len(sure) == 1:
        holds, its = ("people hold", "their") if people else (f"{last} holds", "its")
        text = f"Where {holds} a norm, {number} of {its} valid answers agree with it on average."
    else:
        text = (
            f"A norm is the most frequent level, so other answers can differ from it. {first} is the most "
            f"consistent: on average {share(sure[first], 1)} of its valid answers agree with its norm. {last} is the "
            f"least: {number}."
        )
    text += (
        f" Each flow was rated by up to {n} people. Had only one person rated each flow, {others} of the ratings "
        "would differ from the flow's most frequent one"
        if people
        else f" Each flow was asked in up to {n} variants. Had you asked {last} only once per flow, in one of them, "
        f"{others} of its answers would differ from the flow's most frequent one"
    )
    text += " (all flows, with or without a norm)."
    text += _held({model: part for model, (part, _) in held.items()}, people)
    shown, see = link(arm, [last], sort=f"share:{last}"), f"the norms of {last}, least consistent first"
    unit = "of people's ratings agree with their norm"
    if not people:
        unit = f"of the valid answers of {last} agree with its norm"
    return Finding("certainty", title, number, text, shown, see, unit)


def _held(held: Mapping[str, ShareBetween], people: bool) -> str:
    """Return a sentence on the smallest and the largest share of flows with a norm."""
    of = {model: share_between(part.value, part.low, part.high, people) for model, part in held.items()}
    few, many = min(held, key=lambda model: held[model].value), max(held, key=lambda model: held[model].value)
    if few == many:
        return f" {'People hold' if people else f'{few} holds'} a norm on {of[few]} of the flows."
    return f" {few} holds a norm on the fewest flows, {of[few]}, and {many} on the most, {of[many]}."


# --- Distance from expected values


def _delta(results: StudyResults) -> Finding | None:
    """Return how far mean answers are from expected values, if an analysis of the study computes it."""
    for whole in results.tables_of("mean_delta"):
        table = whole[whole["status"] == "ok"]
        if table.empty:
            continue
        distance = table["mean_signed"].abs().to_numpy()
        of_arm = "" if set(table["arm"]) == {results.main_arm()} else " (arm " + table["arm"] + ")"
        table = table.assign(who=table["model"] + of_arm)
        near, far = table.iloc[int(distance.argmin())], table.iloc[int(distance.argmax())]
        arm = results.study.arms[str(far["arm"])]
        dataset, levels = results.study.datasets[arm.dataset], arm.levels
        low, high = dataset.expected_range or levels[:: len(levels) - 1]
        text = (
            f"The dataset ‘{dataset.title}’ states expected values on a scale from {low:g} to {high:g}. Averaged over "
            f"flows, the answers of {near['who']} are closest to them ({_signed(near)}, "
            f"{counted(int(near['n']), 'flow')})"
        )
        text += f"; those of {far['who']} are furthest ({_signed(far)})." if len(table) > 1 else "."
        text += (
            f" A positive number: {arm.scale.spoken.more} than expected. Answers that are too high on some flows and "
            "too low on others cancel out."
        )
        title, shown = ("Distance from expected values", link(str(far["arm"]), [str(far["model"])]))
        see, unit = (
            "the flows with an expected value",
            f"from what is expected, {far['who']} (scale {low:g} to {high:g})",
        )
        return Finding("delta", title, _signed(far), text, shown, see, unit)
    return None


def _signed(row: Any) -> str:
    return f"{row['mean_signed']:+.2f}".replace("-", "−")


def _acts(results: StudyResults) -> Finding | None:
    """Return what each model does as an agent in flows that it calls unacceptable, if a table says that.

    Models of whose actions most could not be read come first.
    """
    rows = [row for table in results.tables_of("needless") for row in table.to_dict("records")]
    unread = {row["model"]: row for row in rows if row["actions"] and 2 * row["not_read"] >= row["actions"]}
    said = [
        f"{count(int(row['not_read']))} of {counted(int(row['actions']), 'action')} of {model} could not be read; "
        "what follows is about the others."
        for model, row in unread.items()
    ]
    for whole in results.tables_of("say_do"):
        table = whole[(whole["factor"] == ALL_FLOWS) & whole["shares_given_no"].notna()]
        table = table.drop_duplicates("model")  # of several arms that say, the first
        if table.empty:
            continue
        sentences = said + [
            f"{row['model']} shares a sensitive item in {share(row['shares_given_no'], 1)} of its actions in the "
            f"{count(int(row['n_no']))} flows that {'it calls' if row['said_by'] == row['model'] else 'people call'} "
            f"unacceptable (95% interval: {share(row['shares_given_no_low'], 1)} to "
            f"{share(row['shares_given_no_high'], 1)})."
            for row in table.to_dict("records")
        ]
        most = share(table["shares_given_no"].max(), 1)
        unit = "of a model's actions in flows called unacceptable, at most"
        return Finding("acts", "Says no, and shares", most, " ".join(sentences), unit=unit)
    if said:
        worst = max(unread.values(), key=lambda row: float(row["not_read"] / row["actions"]))
        unit = f"of the actions of {worst['model']} could not be read"
        number = share(worst["not_read"], worst["actions"])
        return Finding("acts", "Says no, and shares", number, " ".join(said), unit=unit)
    return None


# --- What the engine alone changes


def repeatability(results: StudyResults) -> tuple[str, str] | None:
    """Return the number that matters most and the sentences; None where no table of the study is about repeats."""
    found = list(results.tables_of("repeatability"))
    if not found:
        return None
    table = pd.concat(found, ignore_index=True).drop_duplicates(["arm", "model"])
    asked = table[table["answers_differ"].notna()]
    if asked.empty:
        text = "No arm has valid answers to a second asking, so the share that the engine alone changes is not known."
        return "not known", text
    worst = asked.iloc[int(asked["answers_differ"].to_numpy(dtype=float).argmax())]
    n, number = len(asked), _percent(worst["answers_differ"])
    text = f"The same prompts were asked again in other batches ({counted(n, 'pair')} of model and arm). "
    text += "Of" if n == 1 else f"{worst['model']} in arm {worst['arm']} changed most: of"
    text += f" its answers, {number} changed to another level"
    if pd.notna(worst["conf_low"]):
        text += f" (95% interval {_percent(worst['conf_low'])} to {_percent(worst['conf_high'])})"
    if pd.notna(worst["norms_differ"]):
        text += f", and of its norms {_percent(worst['norms_differ'])}"
    sentences = [f"{text}."]
    drawn = asked[asked["what"] == "engine_and_sampling"]
    if len(drawn):
        who = listed([f"{row['model']} ({row['arm']})" for row in drawn.to_dict("records")])
        sentences.append(f"Answers of {who} are drawn at random, so sampling is part of that share.")
    return number, " ".join([*sentences, *_floor_sentences(results)])


def _floor_sentences(results: StudyResults) -> Iterator[str]:
    """Yield, for each table of contrasts, how many are no larger than what the engine alone changes."""
    for name, entry in results.study.analyses.items():
        if "engine_status" not in entry.meanings:
            continue
        table = read_csv(results.files["tables"][name])
        judged = table[table["engine_status"].isin(["above", "not_above", "one_side_repeated"])]
        within = judged[judged["engine_status"] == "not_above"]
        if judged.empty:
            yield (
                f"Table {name}: no side of a contrast was asked again, so it is not known whether a contrast is larger "
                "than what the engine alone changes."
            )
        elif within.empty:
            yield (
                f"Table {name}: every contrast with a side that was asked again is larger than what the engine alone "
                "changes."
            )
        else:
            named = ""
            if len(within) <= NAMED and "model_a" in within:
                sides = within[["model_a", "arm_a", "model_b", "arm_b"]].to_numpy()
                named = f" ({'; '.join(f'{a} ({of_a}) and {b} ({of_b})' for a, of_a, b, of_b in sides)})"
            yield (
                f"Table {name}: {count(len(within))} of {count(len(judged))} contrasts{named} are no larger than what "
                "the engine alone changes, so the engine may be the only reason."
            )


def _percent(part: Any) -> str:
    """Return a share as text; a small one, as engines have, is not rounded to 0."""
    return "below 0.1%" if 0 < part < 0.0005 else f"{float(part):.1%}"


# --- What was discarded


def discarded(results: StudyResults) -> Finding:
    """Return what has no norm, why, and what that means for the rest of the page."""
    arm = results.main_arm()
    people, several = results.is_people(arm), len(results.pairs(arm)) > 1
    codes = [results.codes[pair] for pair in results.pairs(arm)]
    asked = sum(answers.n_asked for answers in codes)
    invalid = asked - sum(answers.n_valid for answers in codes)
    reasons = sum((Counter(answers.invalid()) for answers in codes), Counter[str]())
    mostly = listed([f"‘{STATUSES[status]}’" for status, _ in reasons.most_common(2)])
    text = f"{count(invalid)} of {count(asked)} answers ({share(invalid, asked)}) have no level"
    text += f", most of them read as {mostly}." if mostly else "."

    by_model = {model: results.status(arm, model) for _, model in results.pairs(arm)}
    n = Counter(pd.concat(by_model.values()))
    gone, total = n.total() - n["kept"], n.total()
    missing = {model: float((status != "kept").mean()) for model, status in by_model.items()}
    worst = max(missing, key=lambda model: missing[model])
    if gone:
        parts = [f"{count(n[s])} with {NORM_LABELS[s]}" for s in tables.NORM_STATUSES[1:] if n[s]]
        text += (
            f" {count(gone)} of {count(total)} {'pairs of model and flow' if several else 'flows'} "
            f"({share(gone, total)}) have no norm: {', '.join(parts)}. No norm does not mean neutral: the study cannot "
            f"tell what {'people hold' if people else 'the model holds'} there."
        )
        if several:
            text += f" {worst} has the most: it holds no norm on {share(missing[worst], 1)} of its flows."
    else:
        text += " Every flow has a norm: the consistency filter discarded nothing."
    text = " ".join([text, *_association(results, arm)])
    shown = link(arm, [worst], held="none") if gone else ""
    see = f"the flows on which {'people hold' if people else f'{worst} holds'} no norm"
    unit = f"of all {'pairs of model and flow' if several else 'flows'} have no norm"
    return Finding("discarded", "What was discarded", share(gone, total), text, shown, see, unit)


def _association(results: StudyResults, arm: str) -> Iterator[str]:
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
