"""Kinds on how good the answers are, how many wordings are enough, and how well a design tells flows apart."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.shared import Frames, alike_words, for_each_model, marked_alike, named, stack
from cinorms.core.schema import Distinct
from cinorms.core.tables import AGAIN
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms, OfFlows, OfNorms
from cinorms.norms.assessment import grid, level_matrix
from cinorms.stats import reliability, survivorship
from cinorms.stats.flow_dependence import (
    ENOUGH_VALID,
    FEW_MISSING,
    SIGNIFICANT,
    dependence,
)
from cinorms.stats.generalizability import (
    FEWEST_TEMPLATES,
    Coefficients,
    DesignSize,
    coefficients,
    of_norms,
)
from cinorms.stats.wordings import ALIKE_TEMPLATES, level_counts, template_numbers, template_sums
from rewordings import ENOUGH, FEWEST_ITEMS, FEWEST_WORDINGS, WIDEST, WRONG, Consistency, worth_of
from rewordings import consistency as consistency_of


class DependenceOptions(OfFlows):
    """Options of the test that answers depend on the flow."""

    draws: int = Field(199, ge=19, le=100_000, description="Draws of the permutation test.")


@for_each_model
def consistency(one: Selected, entry: Entry[OfFlows], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return, per model, how often its answers to a flow in two wordings agree; people are asked in one wording."""
    scale = entry.scales[one.arm]
    counts = level_counts(level_matrix(one.frame), template_numbers(prompts), scale)
    if one.pair in entry.people:
        found, effective = Consistency("people", 1), np.nan
    else:
        found = consistency_of(counts, scale.binned.sides)
        effective = worth_of(counts).effective if found.items else np.nan
        if found.status == "ok" and effective < ENOUGH * counts.shape[2]:
            found = found._replace(status=ALIKE_TEMPLATES)
    row = found._asdict() | {"flows": found.items, "effective_templates": effective}
    return pd.DataFrame([row]).drop(columns="items")


@for_each_model
def reliability_of_models(one: Selected, entry: Entry[OfArms], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return `reliability.panel` of every model: alpha, shares of variance, orders."""
    return reliability.panel(one.frame, prompts, entry.scales[one.arm], one.pair in entry.people)


@for_each_model
def position_effects(one: Selected, entry: Entry[OfArms]) -> pd.DataFrame:
    """Return `reliability.position_effects` of every model."""
    return reliability.position_effects(one.frame, entry.scales[one.arm])


@for_each_model
def missing_answers(one: Selected, entry: Entry[OfArms], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return `survivorship.missing` of every model."""
    return survivorship.missing(one.frame, prompts)


@for_each_model
def flow_dependence(one: Selected, entry: Entry[DependenceOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return, per model, how much its answers depend on the flow."""
    levels, templates, scale = level_matrix(one.frame), template_numbers(prompts), entry.scales[one.arm]
    found = dependence(levels, templates, scale, entry.seed, entry.options.draws)
    return pd.DataFrame([{**vars(found), "verdict": found.verdict, "verdict_text": found.words}])


# --- How many norms other wordings would give again

Counts = Annotated[Distinct[Annotated[int, Field(ge=1, le=1_000_000)]], Field(min_length=1)]


@for_each_model
def norms_again(one: Selected, entry: Entry[OfArms]) -> pd.DataFrame:
    """Return, per model, how many of its norms as many fresh wordings would give again."""
    return one.frame.drop(columns=["flow", "p_again"]).head(1)


# --- Kind ``generalizability``: how well a study tells flows apart, and how well another design of it would


class GeneralizabilityOptions(OfNorms):
    """Options of kind ``generalizability``."""

    templates: Counts = (1, 3, 5, 11, 30)
    """Numbers of wordings to try, besides that of the study."""
    orders: Counts = (1,)
    """Numbers of orders per wording to try, besides that of the study."""


def generalizability(
    selected: Sequence[Selected], entry: Entry[GeneralizabilityOptions], prompts: Frames
) -> pd.DataFrame:
    """Return G and Phi of each model's means, of the difference of every two models of an arm, and of norms."""
    levels = {one.pair: level_matrix(one.frame) for one in selected}
    asked = {one.pair: grid(one.frame, np.ones(len(one.frame))) for one in selected}
    alike = {one.pair: alike_words(one.frame, prompts[one.arm], entry.scales[one.arm]) for one in selected}
    parts: list[pd.DataFrame] = []

    def add(rows: Iterable[dict[str, Any]], one: Selected, *other: Selected) -> None:
        who = {"arm": one.arm, "model": one.model, "other": "".join(second.model for second in other)}
        table = marked_alike(pd.DataFrame([*rows]), [alike[side.pair] for side in (one, *other)])
        parts.append(named(table, who))

    for one in selected:
        matrix, design = levels[one.pair], _asked(asked[one.pair], prompts[one.arm])
        means = _means("mean", matrix, prompts[one.arm], entry, design)
        add([*means, *_of_norms(one, matrix, prompts[one.arm], entry, design)], one)
    for one, other in itertools.combinations(selected, 2):
        if one.arm == other.arm:
            a, b = levels[one.pair].align(levels[other.pair], join="inner")
            both = asked[one.pair] + asked[other.pair]  # NaN where one was not asked
            design = _asked(both.reindex_like(a), prompts[one.arm])
            add(_means("difference", a - b, prompts[one.arm], entry, design), one, other)
    return stack(parts).reindex(columns=list(entry.declared.columns))


def _asked(cells: pd.DataFrame, prompts: pd.DataFrame) -> DesignSize:
    """Return in how many templates, and orders of each, the median flow was asked; ``cells`` is NaN where it was not.

    A model may have fewer templates than its arm, and a flow fewer than its model.
    """
    orders = template_sums(cells, template_numbers(prompts))[1]
    there = orders > 0
    if not there.any():
        return DesignSize(1, 1)
    return DesignSize(int(np.median(there.sum(axis=1))), int(np.median(orders[there])))


def _means(
    measure: str,
    levels: pd.DataFrame,
    prompts: pd.DataFrame,
    entry: Entry[GeneralizabilityOptions],
    asked: DesignSize,
) -> Iterator[dict[str, Any]]:
    templates, orders = {*entry.options.templates, asked.templates}, {*entry.options.orders, asked.orders}
    designs = [DesignSize(*sizes) for sizes in itertools.product(sorted(templates), sorted(orders))]
    found = coefficients(levels, template_numbers(prompts), designs)
    for design, of_means in zip(designs, found, strict=True):
        yield _row(measure, design, asked, of_means)


def _of_norms(
    one: Selected,
    levels: pd.DataFrame,
    prompts: pd.DataFrame,
    entry: Entry[GeneralizabilityOptions],
    asked: DesignSize,
) -> Iterator[dict[str, Any]]:
    counts = level_counts(levels, template_numbers(prompts), entry.scales[one.arm])
    complete = len(one.frame) == levels.size  # else the flows are no sample of the same templates
    for n in sorted({*entry.options.templates, asked.templates}):
        found, share = Coefficients("few_templates"), np.nan
        if complete:
            found, share = of_norms(counts, entry.thresholds[one.model], n)
        yield _row("norm", DesignSize(n, asked.orders), asked, found) | {"share_norms": share}


def _row(measure: str, design: DesignSize, asked: DesignSize, found: Coefficients) -> dict[str, Any]:
    return {"measure": measure, **design._asdict(), "asked": design == asked, **found._asdict()}


KINDS = (
    Kind(
        name="consistency",
        about="How often a model's answers to a flow in two wordings are on the same side of the scale.",
        function=consistency,
        reads="answers",
        report_section="reliability",
        key=("arm", "model"),
        columns={
            **WHO,
            "same_side": "Probability that two answers to a flow, in two different wordings, are on the same side "
            "(accept, neither, reject): mean over pairs of wordings within a flow, then over flows. Answers of a "
            "wording in several orders are averaged; replies that could not be read are no answers.",
            "low": "Lower end of the 95% interval of same_side over wordings like these.",
            "high": "Upper end of that interval.",
            "blind_side": "same_side without reading the flow: its expectation if the answers of each wording were "
            "shuffled between the flows.",
            "same_level": "As same_side, for the same level of the scale.",
            "blind_level": "same_level without reading the flow.",
            "wordings": "Wordings with an answer.",
            "effective_templates": "What these wordings are worth: alike ones count less.",
            "flows": "Flows with answers in two wordings or more.",
            "pairs": "Pairs of wordings compared, over all flows.",
            "status": f"ok; alike_templates (the wordings are worth less than {ENOUGH} of their number: same_side is "
            "too high, its interval too narrow); no_interval (two wordings); or why there is no number: one_wording, "
            "no_pairs (no flow has an answer in two wordings), people (asked in one wording).",
        },
        always=True,
    ),
    Kind(
        name="reliability",
        about="How consistent a model's answers are across wordings.",
        function=reliability_of_models,
        reads="answers",
        report_section="reliability",
        key=("arm", "model", "measure"),
        columns={
            **WHO,
            "measure": "wordings: their number, what they are worth (alike ones count less), and how much the two most "
            "alike correlate; alpha (Krippendorff's), icc_1 (of people: intraclass correlation of one rating), valid "
            "(share of valid answers), the share of the variance from one source, or how often orders of a wording "
            "give different levels or signs.",
            **usual("estimate"),
            "conf_low": "Lower end of the 95% interval over wordings or raters (alpha, icc_1).",
            "conf_high": "Upper end of that interval.",
            "n": "Flows in the estimate; for the orders, flows times wordings.",
            "status": "ok, or why the row has no numbers; alike_templates: the wordings are worth less than "
            f"{ENOUGH} of their number, so intervals and tests over wordings do not hold.",
        },
    ),
    Kind(
        name="position_effects",
        about="How often the option at each position was chosen, compared with the share expected without an effect "
        "of position.",
        function=position_effects,
        reads="answers",
        report_section="sensitivity",
        key=("arm", "model", "position"),
        columns={
            **WHO,
            "position": "Position at which an option was shown; 1 is the first.",
            "chosen": "Answers that chose the option at this position.",
            "share": "Share of the valid answers whose order is known.",
            "expected": "The share if each flow's answers were assigned at random to the orders it was asked in.",
            "balanced": "The share under balanced orders without an effect of position: one fifth.",
            "excess": "share minus the expected share.",
            "n": "Valid answers whose order is known.",
            **usual("status"),
        },
    ),
    Kind(
        name="missing_answers",
        about="Missing answers by status, wording, order and variant.",
        function=missing_answers,
        reads="answers",
        report_section="answers",
        key=("arm", "model", "by", "level"),
        columns={
            **WHO,
            "by": "How the answers are grouped: by status, template_no, order_no or variant.",
            "level": "Which status, wording, order or variant.",
            "n": "Missing answers.",
            "of": "Answers that were asked for.",
            "share": "n / of.",
        },
    ),
    Kind(
        name="flow_dependence",
        about="Whether a model's answers depend on the flow.",
        function=flow_dependence,
        reads="answers",
        report_section="reliability",
        key=("arm", "model"),
        columns={
            **WHO,
            "flows": "Flows that were asked.",
            "valid": "Share of the answers that are valid.",
            "top_share": "Share of the valid answers that have the most frequent level.",
            "share": "Share of the variance of the valid answers that the flow explains, corrected for "
            "chance by shuffling answers between flows; about 0 if answers do not depend on the flow.",
            **usual("p"),
            "status": "ok, alike_templates (wordings are alike, so the test finds too much), or why there is "
            "no number.",
            "verdict": f"depends; depends_few (valid is below {ENOUGH_VALID}); no_dependence (p is not below "
            f"{SIGNIFICANT}); one_answer (all answers are the same); or no_answers.",
            "verdict_text": f"The share and the verdict in words; where valid is below {FEW_MISSING} it adds that "
            "missing answers can look like dependence.",
        },
        always=True,
    ),
    Kind(
        name="norms_again",
        about="How many of a model's norms as many fresh wordings would give again.",
        function=norms_again,
        reads="again",
        report_section="sensitivity",
        key=("arm", "model"),
        columns={
            **WHO,
            **{name: about for name, about in AGAIN.about.items() if name not in ("flow", "p_again")},
            "status": f"ok, or why there is no number: few_templates (fewer than {FEWEST_WORDINGS}), few_flows "
            f"(fewer than {FEWEST_ITEMS}), no_norms, people (asked in one wording); or wide: the interval is wider "
            f"than {WIDEST:.0%} of the norms, or halves of the wordings predict each other wrongly by more than "
            f"{WRONG:.0%}, so these wordings cannot show the number.",
        },
    ),
    Kind(
        name="generalizability",
        about="Generalisability: how well a study tells flows apart, and how well one with other numbers of "
        "wordings and orders would.",
        function=generalizability,
        reads="answers",
        report_section="reliability",
        key=("arm", "model", "other", "measure", "templates", "orders"),
        columns={
            **WHO,
            "other": "The second model of a difference; else empty.",
            "measure": "What is compared. mean: the mean answer of each flow; difference: by how much the means of "
            "two models differ in each flow; norm: whether each flow holds a norm under the thresholds.",
            "templates": "Wordings of the design.",
            "orders": "Orders of each wording.",
            "asked": "Whether this is the design of the study itself: as many wordings and orders as the median flow "
            "was asked in, with an answer or without.",
            "g": "Coefficient G: share of the variance of these values between flows that another study like it would "
            "repeat. It is about which flows are higher.",
            "g_low": f"Lower end of its 95% interval, over flows and wordings; from {FEWEST_TEMPLATES} wordings on.",
            "g_high": "Upper end of that interval.",
            "phi": "Coefficient Phi: the same for how high each flow is, which also depends on what wordings do to "
            "all flows alike.",
            "phi_low": "Lower end of its interval, which is often too narrow with 30 wordings or where few wordings "
            "move much (docs/method/stats/generalizability.md).",
            "phi_high": "Upper end of that interval.",
            "share_norms": "Share of the flows that hold a norm by so many wordings, mean over random parts of the "
            "study's (measure norm).",
            "status": "ok; no_interval; alike_templates (wordings are alike: the intervals do not hold, and "
            "coefficients are too high); or why there is no coefficient: few_templates (norms need twice as many, and "
            "every flow asked in all of them), negative (flows differ by no more than noise), "
            "one_order, one_template, no_flows, no_variance.",
        },
        shown=(
            *("arm", "model", "other", "measure", "templates", "orders", "g", "g_low", "g_high"),
            *("phi", "phi_low", "phi_high", "status"),
        ),
    ),
)
