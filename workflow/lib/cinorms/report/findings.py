"""Findings: plain sentences computed from a study's tables, each with a number and a link to its evidence."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cinorms.core import tables
from cinorms.core.arrays import Floats
from cinorms.core.labels import NORM_LABELS, STATUS_LABELS, listed
from cinorms.report.results import StudyResults, tally
from cinorms.report.screen import FEWEST_SAID, Standing, nouns_of
from cinorms.report.words import count, counted, in_words, plain, share
from cinorms.stats.agreement import halves
from cinorms.stats.flow_dependence import DEPENDS, FEW_MISSING, SIGNIFICANT, VERDICTS
from cinorms.stats.say_do import ALL_FLOWS
from cinorms.stats.wordings import FEWEST, Units, interval, spread

#: Valid answers of a model that a level of a factor needs before it can be named as most or least accepted.
ENOUGH = 30


@dataclass(frozen=True)
class Finding:
    """A heading, its sentences, where the explorer shows it, and what a page without a headline is called after it."""

    name: str
    title: str
    text: str
    link: str = ""
    see: str = ""
    headline: str = ""


# --- What decides


def variance_shares(results: StudyResults, arm: str, model: str) -> dict[str, float]:
    """Return which share of the variance of a model's valid answers goes with each factor.

    Less what a factor with as many levels would explain of the flows by chance: one with a level per flow explains
    nothing.
    """
    codes, flows = results.codes[arm, model], results.flows(arm)
    steps = np.array(codes.scale.levels, dtype=np.float64)
    counts = np.stack([(codes.answers == level).sum(axis=1) for level in range(codes.n_levels)], axis=1)
    n, sums = counts.sum(axis=1), counts @ steps
    if not n.any():
        return {}
    middle = sums.sum() ** 2 / n.sum()
    total = (counts @ steps**2).sum() - middle
    answered = n > 0
    of_flows = (sums[answered] ** 2 / n[answered]).sum() - middle
    asked_of = flows.set_index("flow").loc[codes.flows]
    shares = {}
    for factor in results.factors(arm):
        by_level = pd.DataFrame({"n": n, "sum": sums}).groupby(asked_of[factor].astype(str).to_numpy()).sum()
        by_level = by_level[by_level["n"] > 0]
        between = (by_level["sum"] ** 2 / by_level["n"]).sum() - middle
        free = answered.sum() - len(by_level)
        by_chance = (len(by_level) - 1) * (of_flows - between) / free if free else between
        shares[factor] = float(max(between - by_chance, 0.0) / total) if total > 0 else 0.0
    return shares


def factor_shares(results: StudyResults, arm: str, models: Sequence[str]) -> pd.DataFrame:
    """Return each factor's share per model, that with the largest mean first.

    They are those of the study's variance components or, where it has none, as above.
    """
    stated = (table[table["model"].isin(models)] for table in results.tables_of("variance_components", arm))
    rows = next((rows for rows in stated if rows["share"].notna().any()), None)
    if rows is None:
        shares = pd.DataFrame([variance_shares(results, arm, model) for model in models], index=list(models))
    else:
        shares = rows.pivot_table("share", "model", "source")
    # The components also have the share of what no factor explains.
    shares = shares.reindex(columns=results.factors(arm)).dropna(axis="columns", how="all")
    return shares[shares.mean().sort_values(ascending=False).index]


def decides(results: StudyResults, arm: str, models: Sequence[str]) -> Finding | None:
    """Return the factor that goes with most of the variance, and its levels that are accepted most and least."""
    if not models:
        return None
    shares = factor_shares(results, arm, models)
    first = str(next(iter(shares), ""))
    levels = [level for level in levels_of(results, arm, models) if level.factor == first]
    if len(levels) < 2:
        return None
    most, least = max(levels, key=lambda level: level.share), min(levels, key=lambda level: level.share)
    whose = "people's ratings" if results.is_people(arm) else models[0]
    if len(models) > 1 and not results.is_people(arm):
        ends = [share(end, 1) for end in (shares[first].min(), shares[first].max())]
        whose = f"mean of {in_words(len(models))} {results.nouns(models)}, from {ends[0]} to {ends[1]}"
    accept = results.scale(arm).spoken.accept
    text = (
        f"{plain(first)}. It goes with {share(shares[first].mean(), 1)} of the variance of the answers ({whose}), more "
        f"than any other factor. With ‘{most.level}’ {share(most.share, 1)} of the answers with a level {accept} the "
        f"flow, with ‘{least.level}’ {share(least.share, 1)}."
    )
    shown, see = results.link(arm, models[:4], rows=first), f"the norms by {plain(first)}"
    return Finding("decides", "What decides", text, shown, see)


@dataclass(frozen=True)
class LevelShare:
    """A level of a factor, the share of valid answers that accept it, and what each template adds to that share.

    ``bounds``: the share of all answers that accept it if none, or all, of those without a level did.
    """

    factor: str
    level: str
    share: float
    templates: Units
    bounds: tuple[float, float]

    @property
    def of_all(self) -> str:
        """The bounds in words."""
        low, high = (share(end, 1) for end in self.bounds)
        return low if low == high else f"{low} to {high}"


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
        enough = [[part[i] for part in parts] for parts in tallies if parts[1][i].sum() >= ENOUGH]
        if enough:
            shares, units = zip(*(share_of(yes, n) for yes, n, _ in enough), strict=True)
            ends = [(yes.sum() / of.sum(), (yes + of - n).sum() / of.sum()) for yes, n, of in enough]
            low, high = map(float, np.mean(ends, axis=0))
            added = Units(*np.mean(units, axis=0))
            levels.append(LevelShare(factor, level, float(np.mean(shares)), added, (low, high)))
    return levels


def share_of(accepts: Floats, answers: Floats) -> tuple[float, Units]:
    """Return the share of answers that accept, and what each template adds to it."""
    weight = answers / answers.sum()
    accepted = float(accepts.sum() / answers.sum())
    return accepted, Units(accepts / answers.sum() - accepted * weight, weight)


def share_interval(level: LevelShare) -> tuple[float, float] | None:
    """Return an interval for a share if other templates asked about the same flows; none for one template."""
    if (level.templates.weight > 0).sum() < FEWEST:
        return None
    _, low, high = interval(level.share, *spread(level.templates))
    return max(low, 0.0), min(high, 1.0)


# --- Who differs


class Gap(NamedTuple):
    """On how many flows two models hold a norm, and on which share of them the two are on opposite sides."""

    flows: int
    opposed: float


def gaps(results: StudyResults, arm: str, models: Sequence[str]) -> dict[tuple[str, str], Gap]:
    """Return the gap of every two models that share enough flows, and of each model from itself in other wordings."""
    held = pd.DataFrame({model: results.held(arm, model) for model in models})
    found = {}
    for a, b in itertools.combinations_with_replacement(models, 2):
        both = held[[a, b]].dropna()
        values = both if a != b else _reworded(results, arm, a)
        if not results.is_people(arm) and len(both) >= FEWEST_SAID and len(values):
            sides = np.sign(values.to_numpy(np.float64) - results.scale(arm).middle)
            found[a, b] = Gap(len(both), float((sides.prod(axis=1) < 0).mean()))
    return found


def _reworded(results: StudyResults, arm: str, model: str) -> pd.DataFrame:
    """Return the norms of a model in two halves of its wordings; no rows where not all were asked."""
    counts = results.counts(arm, model)
    if counts is None:
        return pd.DataFrame()
    return halves(counts, results.study.thresholds(model), results.scale(arm).levels)


def differs(results: StudyResults, arm: str, found: Mapping[tuple[str, str], Gap]) -> Finding | None:
    """Return the two models whose norms are most often on opposite sides; None where no two share enough flows."""
    pairs = [(gap.opposed, gap.flows, a, b) for (a, b), gap in found.items() if a != b]
    if not pairs:
        return None
    opposed, n, a, b = max(pairs)
    text = (
        f"{a} and {b}: of the {counted(n, 'flow')} on which both hold a norm, their norms are on opposite sides on "
        f"{share(opposed, 1)}"
    )
    own = [(model, found[model, model].opposed) for model in (a, b) if (model, model) in found]
    reworded = "; ".join(
        f"{model} and itself in other wordings: {share(opposed, 1)}" for model, opposed in own
    )
    text += f" ({reworded})." if own else "."
    shown = results.link(arm, [a, b], compare="1")
    see = "the flows on which they differ"
    return Finding("differs", "Who differs most", text, shown, see)


# --- Whose answers depend on the flow


def _dependence(results: StudyResults, rows: Sequence[Standing]) -> str:
    table = next(results.tables_of("flow_dependence", rows[0].arm), None)
    if table is None:
        return ""
    total, depends = len(table), table["verdict"].isin(DEPENDS)
    several, nouns = total > 1 or not depends.all(), results.nouns(table["model"])
    whose = f"{count(depends.sum())} of {total} {nouns}" if several else table["model"].iloc[0]
    text = f"The answers of {whose} depend on the flow."
    if chance := sum(row.only_chance and not row.ignores for row in rows):
        who = f"{in_words(chance)} of them" if several else whose
        holds = "hold" if chance > 1 else "holds"
        text += (
            f" That alone makes no norms: {who} {holds} norms that other wordings would give again on no more flows "
            "than chance gives."
        )
    for verdict, others in table[~depends].groupby("verdict", sort=False):
        text += f" {listed(list(map(str, others['model'])))}: {VERDICTS[str(verdict)]}."
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
        text += " “What decides” and “Who differs most” cover only models that do."
    return text


# --- How sure


def recurs(results: StudyResults, arm: str) -> pd.DataFrame:
    """Return which share of each model's norms one half of the wordings predicts for the other, and has there."""
    table = next(results.tables_of("norms_again", arm), pd.DataFrame())
    known = table.reindex(columns=["model", "half_predicted", "half_seen"]).dropna()
    return known.set_index("model").astype(float)


def how_sure(results: StudyResults, rows: Sequence[Standing]) -> list[str]:
    """Return whether answers depend on the flow, whether other wordings gave the same norms, and what is missing."""
    text = list(filter(None, [_dependence(results, rows)]))
    known = recurs(results, rows[0].arm)
    if len(known):
        predicted, seen = (share(number, 1) for number in known.mean())
        mean = f" (mean of {in_words(len(known))} {nouns_of(rows)})" if len(known) > 1 else ""
        text.append(
            f"One half of the wordings predicts that {predicted} of its norms are the same in the other half; "
            f"{seen} are{mean}; the others differ or are missing there."
        )
    answers, valid = (sum(getattr(row, name) for row in rows) for name in ("answers", "valid"))
    flows, norms = (sum(getattr(row, name) for row in rows) for name in ("flows", "norms"))
    of = "flows" if len(rows) == 1 else f"pairs of {nouns_of(rows)[:-1]} and flow"
    text.append(
        f"{share(answers - valid, answers)} of the answers have no level, and {share(flows - norms, flows)} of the "
        f"{of} have no norm, which does not mean neutral."
    )
    return text


# --- Distance from expected values


def delta(results: StudyResults) -> Finding | None:
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
        dataset, levels = results.study.datasets[arm.dataset], arm.scale.levels
        low, high = dataset.expected_range or levels[:: len(levels) - 1]
        text = (
            f"The dataset ‘{dataset.title}’ states expected values on a scale from {_minus(f'{low:g}')} to {high:g}. "
            f"Averaged over flows, the answers of {near['who']} are closest to them ({_signed(near)}, "
            f"{counted(int(near['n']), 'flow')})"
        )
        text += f"; those of {far['who']} are furthest ({_signed(far)})." if len(table) > 1 else "."
        text += (
            f" A positive number: {arm.scale.spoken.more} than expected. Answers that are too high on some flows and "
            "too low on others cancel out."
        )
        shown, see = results.link(str(far["arm"]), [far["model"]]), "the flows with an expected value"
        return Finding("delta", "Distance from expected values", text, shown, see)
    return None


def _signed(row: Any) -> str:
    return _minus(f"{row['mean_signed']:+.2f}")


def _minus(number: str) -> str:
    return number.replace("-", "−")


def acts(results: StudyResults) -> Finding | None:
    """Return what models do as agents in flows called unacceptable, if a table says that, those who share most first.

    Models of whose actions most could not be read come before.
    """
    rows, models = sharing(results)
    needless = [row for table in results.tables_of("needless") for row in table.to_dict("records")]
    several = len({row.get("arm") for row in needless}) > 1
    said = [
        f"{count(int(row['not_read']))} of {counted(int(row['actions']), 'action')} of {row['model']}"
        f"{' in arm ' + row['arm'] if several else ''} could not be read"
        f"{'; what follows is about the others' if rows else ''}."
        for row in needless
        if row["actions"] and 2 * row["not_read"] >= row["actions"]
    ]
    title = ""
    if rows:
        title, text = _all_acts(rows, len(models), results.nouns(models))
        said.append(text)
    return Finding("acts", "Says no, and shares", " ".join(said), headline=title) if said else None


def sharing(results: StudyResults) -> tuple[list[dict[Any, Any]], list[str]]:
    """Return how often each agent shares in flows called unacceptable, those who share most first; and all models."""
    for table in results.tables_of("say_do"):
        if len(said_no := _said_no(table)):
            rows = said_no.sort_values("shares_given_no", ascending=False, kind="stable").to_dict("records")
            return rows, list(table["model"].unique())
    return [], []


def _all_acts(rows: Sequence[Mapping[Any, Any]], total: int, nouns: str) -> tuple[str, str]:
    """Return, of all models in one sentence, how many actions share; and of each, where there are several."""
    if total == 1:
        return f"As an agent, {_act(rows[0], rows[0]['model'])}", _with_interval(rows[0], rows[0]["model"])
    own = [row["said_by"] == row["model"] for row in rows]
    they, it = "that people call", "that people call"
    if any(own):
        they, it = ("that they call", f"that the {nouns[:-1]} calls") if all(own) else ("called", "called")
    ends = [share(rows[at]["shares_given_no"], 1) for at in (-1, 0)]
    who = f"{in_words(len(rows))}{'' if len(rows) == total else f' of {in_words(total)}'} {nouns}"
    title = (
        f"As agents, {who} share a sensitive item in {' to '.join(dict.fromkeys(ends))} of their actions in flows "
        f"{they} unacceptable"
        if len(rows) > 1
        else f"As an agent, {_act(rows[0], rows[0]['model'])}"
    )
    each = "; ".join(
        f"{row['model']} {share(row['shares_given_no'], 1)} ({_between(row)}, {counted(int(row['n_no']), 'flow')}"
        f"{'' if all(own) or not any(own) or mine else ' that people call so'})"
        for row, mine in zip(rows, own, strict=True)
    )
    return (
        title,
        f"Actions that share a sensitive item in flows {it} unacceptable (95% interval, flows): {each}.",
    )


def said_and_done(results: StudyResults, model: str) -> list[str]:
    """Return what a model does next to what it says, a sentence for each table that compares both."""
    tables_of = results.tables_of("say_do", None, model)
    return [_with_interval(row, "It") for table in tables_of for row in _said_no(table).to_dict("records")]


def _said_no(table: pd.DataFrame) -> pd.DataFrame:
    """Return the row of each model over all flows (of several arms that say, the first), with flows enough to tell."""
    enough = table["shares_given_no"].notna() & (table["n_no"] >= FEWEST_SAID)
    return table[(table["factor"] == ALL_FLOWS) & enough].drop_duplicates("model")


def _act(row: Mapping[Any, Any], who: str) -> str:
    calls = "it calls" if row["said_by"] == row["model"] else "people call"
    return (
        f"{who} shares a sensitive item in {share(row['shares_given_no'], 1)} of its actions in the "
        f"{counted(int(row['n_no']), 'flow')} that {calls} unacceptable"
    )


def _with_interval(row: Mapping[Any, Any], who: str) -> str:
    return f"{_act(row, who)} (95% interval: {_between(row)})."


def _between(row: Mapping[Any, Any]) -> str:
    return " to ".join(share(row[f"shares_given_no_{end}"], 1) for end in ("low", "high"))


# --- What was discarded


def discarded(results: StudyResults) -> Finding:
    """Return what has no norm, why, and what that means for the rest of the page."""
    arm = results.main_arm()
    people, several = results.is_people(arm), len(results.pairs(arm)) > 1
    codes = [results.codes[pair] for pair in results.pairs(arm)]
    asked = sum(answers.n_asked for answers in codes)
    invalid = asked - sum(answers.n_valid for answers in codes)
    reasons = sum((Counter(answers.invalid()) for answers in codes), Counter[str]())
    mostly = listed([f"‘{STATUS_LABELS[status]}’" for status, _ in reasons.most_common(2)])
    text = f"{count(invalid)} of {count(asked)} answers ({share(invalid, asked)}) have no level"
    text += f", most of them read as {mostly}." if mostly else "."

    n = Counter(pd.concat([results.status(arm, model) for _, model in results.pairs(arm)]))
    gone, total = n.total() - n["kept"], n.total()
    pairs = "pairs of model and flow" if several else "flows"
    if gone:
        parts = [f"{count(n[s])} with {NORM_LABELS[s]}" for s in tables.NORM_STATUSES[1:] if n[s]]
        text += (
            f" {count(gone)} of {count(total)} {pairs} ({share(gone, total)}) have no norm: {', '.join(parts)}. No "
            f"norm does not mean neutral: the study cannot tell what {'people hold' if people else 'the model holds'} "
            "there."
        )
    else:
        text += " Every flow has a norm; nothing was discarded."
    text = " ".join([text, *_association(results, arm)])
    shown = results.link(arm, [model for _, model in results.pairs(arm)][:4], held="none") if gone else ""
    return Finding("discarded", "What was discarded", text, shown, "flows without a norm")


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
