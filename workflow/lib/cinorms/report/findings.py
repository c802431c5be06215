"""Findings: plain sentences computed from a study's tables, each with a number and a link to its evidence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from cinorms.core import tables
from cinorms.core.labels import NORM_LABELS, STATUS_LABELS, listed, share
from cinorms.report.results import StudyResults
from cinorms.report.screen import nouns_of
from cinorms.report.standing import Standing
from cinorms.report.words import FEWEST_SAID, count, counted, in_words, plain
from cinorms.stats.components import over_models
from cinorms.stats.flow_dependence import DEPENDS, FEW_MISSING, SIGNIFICANT, VERDICTS
from cinorms.stats.say_do import ALL_FLOWS
from cinorms.vignettes.factors import JOINT


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


def decides(results: StudyResults, arm: str, models: Sequence[str]) -> Finding | None:
    """Return what goes with most of the variance, and its levels that are accepted most and least: kind ``finding``."""
    row = next(results.tables_of("finding", arm), pd.DataFrame())
    if row.empty or pd.isna(row["factor"].iloc[0]):
        return None
    found = row.iloc[0]
    most, together, rest = (share(found[name], 1) for name in ("share", "combinations", "rest"))
    whose, n = "people's ratings" if results.is_people(arm) else models[0], int(found["models"])
    if n > 1:
        ends = [share(found[f"share_{end}"], 1) for end in ("from", "to")]
        whose = f"mean of {in_words(n)} {results.nouns(models)}, from {ends[0]} to {ends[1]}"
    goes = f"{most} of the variance of the answers ({whose})"
    singles = "raters and single ratings" if results.is_people(arm) else "wordings, orders and single answers"
    others = f"combinations of factors with {together}; {singles} with {rest}"
    factor = plain(found["factor"])
    shown = results.link(arm, models[:4], rows=found["factor"].partition(JOINT)[0])
    title, see = "What decides", f"the norms by {factor}"
    if found["status"] == "combinations":
        text = f"no factor alone: combinations. Of single factors, {factor} goes with most: {goes}; {others}."
        return Finding("decides", title, text, shown, see)
    text = f"{factor}. It goes with {goes}, more than any other factor; {others}."
    accept = results.scale(arm).spoken.accept
    if found["status"] == "ok":
        ends = [f"‘{found[f'{end}_level']}’ {share(found[end], 1)}" for end in ("most", "least")]
        text += f" With {ends[0]} of the answers with a level {accept} the flow, with {ends[1]}."
    else:
        text += " These wordings do not show which of its levels is accepted most and least."
    return Finding("decides", title, text, shown, see)


def factor_shares(results: StudyResults, arm: str, models: Iterable[str]) -> "pd.Series[float]":
    """Return the share of the variance that goes with each source, mean over models: kind ``variance_components``."""
    table = next(
        results.tables_of("variance_components", arm), pd.DataFrame(columns=["model", "source", "share"])
    )
    return over_models(table, models)


# --- Who differs


class Gap(NamedTuple):
    """On how many flows two models hold a norm (0: a model and itself), and on which share they are opposed."""

    flows: int
    opposed: float


def gaps(results: StudyResults, arm: str, models: Sequence[str]) -> dict[tuple[str, str], Gap]:
    """Return the gap of every two models that share enough flows, and of each model from itself in other wordings.

    Of the first table of kind ``agreement_pairs`` that compares all models of the arm.
    """
    found: dict[tuple[str, str], Gap] = {}
    for table in () if results.is_people(arm) else results.tables_of("agreement_pairs"):
        rows = table[(table["arm_a"] == arm) & (table["arm_b"] == arm)]
        if "factor" in table or not {*models} <= {*rows["model_a"], *rows["model_b"]}:
            continue
        rows = rows[rows["n_flows"] >= FEWEST_SAID]
        for row in rows[rows["model_a"].isin(models) & rows["model_b"].isin(models)].to_dict("records"):
            a, b = sorted((row["model_a"], row["model_b"]), key=models.index)
            found[a, b] = Gap(int(row["n_flows"]), row["opposed"])
            own = ((row[f"model_{side}"], row[f"opposed_{side}"]) for side in "ab")
            found |= {(model, model): Gap(0, opposed) for model, opposed in own if not pd.isna(opposed)}
        break
    return found


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
    for verdict, others in table[~depends].groupby("verdict", sort=False):
        text += f" {listed(list(map(str, others['model'])))}: {VERDICTS[str(verdict)]}."
    few = [str(model) for model in table.loc[table["verdict"] == "depends_few", "model"]]
    if few:
        text += f" Fewer than half of the answers of {listed(few)} could be read."
    gaps = [str(model) for model in table.loc[depends & (table["valid"] < FEW_MISSING), "model"]]
    if gaps and not rows[0].people:  # a person need not rate every flow
        text += (
            f" More than a tenth of the answers of {listed(gaps)} could not be read. If this happens more often for "
            "some flows and some answers than for others, that alone can look like dependence."
        )
    return text


# --- How sure


def how_sure(results: StudyResults, rows: Sequence[Standing]) -> list[str]:
    """Return whether answers depend on the flow, and what is missing."""
    text = list(filter(None, [_dependence(results, rows)]))
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
