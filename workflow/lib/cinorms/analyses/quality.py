"""Kinds on how good the answers are: reliability, dependence on the flow, position effects, missing answers."""

from __future__ import annotations

from typing import Literal

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import ESTIMATE, FACTOR, INTERVAL, LEVEL, STATUS, WHO, P, names
from cinorms.analyses.options import Factors
from cinorms.analyses.shared import add_factors, factors_of, for_each_model, named, stack, templates_of
from cinorms.core import tables
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfArms, OfFlows, OfNorms
from cinorms.norms.assessment import level_matrix
from cinorms.stats import reliability, survivorship
from cinorms.stats.flow_dependence import ENOUGH_VALID, ONE_ANSWER, SIGNIFICANT, VERDICTS, dependence
from cinorms.stats.wordings import template_numbers


class BoundsOptions(Factors, OfFlows):
    """Options of worst-case bounds."""


class DependenceOptions(OfNorms):
    """Options of the test that answers depend on the flow."""

    draws: int = Field(199, ge=19, le=100_000, description="Draws of the permutation test.")


class TraceOptions(OfArms):
    """Options of position bias against the length of the trace."""

    unit: Literal["flow", "template"] = Field(
        "flow",
        description="What an interval generalises to: answers to one flow, or in one template, depend on each other.",
    )
    parts: int = Field(
        3,
        ge=2,
        le=20,
        description="Parts of about the same size that the answers are in by length of the trace.",
    )


@for_each_model
def reliability_of_models(
    one: Selected, entry: Entry[OfArms], norms: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return `reliability.panel` of every model: alpha, split halves, shares of variance, orders."""
    people = (one.arm, one.model) in entry.people
    return reliability.panel(one.frame, norms, prompts, entry.scales[one.arm], entry.seed, people=people)


@for_each_model
def position_effects(one: Selected, entry: Entry[OfArms]) -> pd.DataFrame:
    """Return `reliability.position_effects` of every model."""
    return reliability.position_effects(one.frame, entry.scales[one.arm])


@for_each_model
def missing_answers(one: Selected, entry: Entry[OfArms], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return how many answers are missing, by status, template, order and variant."""
    status = survivorship.by_status(one.frame).rename(columns={"status": "level"})
    status = status[
        (status["level"] != "ok") & (~status["level"].isin(tables.RARE_STATUSES) | (status["n"] > 0))
    ]
    variant = survivorship.by_variant(one.frame, prompts)
    variant["n"] = variant["n_asked"] - variant["n_valid"]
    variant["share"] = variant["n"] / variant["n_asked"]
    variant = variant.rename(columns={"n_asked": "of"})
    status = status.assign(by="status", of=len(one.frame))
    return stack([part[["by", "level", "n", "of", "share"]] for part in (status, variant)])


@for_each_model
def missing_bounds(one: Selected, entry: Entry[BoundsOptions], vignettes: pd.DataFrame) -> pd.DataFrame:
    """Return worst-case bounds on the mean level, over all flows and at each level of each factor."""
    factors = factors_of(entry, one.arm, vignettes)
    frame = add_factors(one.frame, vignettes, factors)
    parts = [named(survivorship.mean_bounds(frame), {"factor": "all"})]
    parts += [named(survivorship.mean_bounds(frame, frame[name]), {"factor": name}) for name in factors]
    return stack(parts).rename(columns={"group": "level"})


@for_each_model
def flow_dependence(one: Selected, entry: Entry[DependenceOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return, per model, how much its answers depend on the flow, and its norms next to those of exchanged answers."""
    templates = template_numbers(prompts)
    thresholds = entry.thresholds[one.model]
    levels, scale = level_matrix(one.frame), entry.scales[one.arm]
    found = dependence(levels, templates, scale, thresholds, entry.seed, entry.options.draws)
    row = {**vars(found), "verdict": found.verdict, "verdict_text": VERDICTS[found.verdict]}
    return pd.DataFrame([row])


@for_each_model
def bias_by_trace(one: Selected, entry: Entry[TraceOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return `stats.reliability.trace_bias` of every model in every arm."""
    options, frame = entry.options, one.frame
    units = templates_of(frame, prompts) if options.unit == "template" else frame["flow"]
    return reliability.trace_bias(frame, pd.Series(units).to_numpy(), entry.scales[one.arm], options.parts)


_MEASURE = Column(
    "measure",
    "slope: what 1,000 tokens of trace add to the excess; excess: how much more often the option at the position is "
    "chosen than its level is among the other answers to the flow.",
)
_PART = Column(
    "part", "Part of the answers by length of the trace, 1 the shortest; 0 for the slope, which is over all."
)
_POSITION = Column("position", "Position at which an option was shown; 1 is the first.")
_MEAN = Column("tokens_mean", "Mean length of the traces of the part, in tokens.")
_N = Column("n", "Valid answers of the part whose order and trace length are known.")
_STATUS = Column(
    "status",
    "ok, or why there is no number: no_answers, no_order, no_trace_lengths, one_length (all traces are as long), "
    "one_answer_per_flow, no_such_length (equal lengths leave the part empty), one_unit (no interval).",
)

KINDS = (
    Kind(
        name="reliability",
        about="How consistent a model's answers are across wordings.",
        options=OfArms,
        function=reliability_of_models,
        reads="answers",
        also=("norms", "prompts"),
        decided="pilot",
        report_section="reliability",
        key=("arm", "model", "measure"),
        columns=(
            *WHO,
            Column(
                "measure",
                "alpha (Krippendorff's), icc_1 and icc_k (of people: intraclass correlation of one rating and of a "
                "flow's mean), split_half, spearman_brown, valid (share of valid answers), the share of the "
                "variance from one source, or how often the orders of a template give different levels or signs.",
            ),
            ESTIMATE,
            Column("n", "Flows in the estimate; for the orders, flows times templates."),
            STATUS,
        ),
    ),
    Kind(
        name="position_effects",
        about="How often the option at each position was chosen, compared with the share expected without an effect "
        "of position.",
        options=OfArms,
        function=position_effects,
        reads="answers",
        decided="block",
        report_section="sensitivity",
        key=("arm", "model", "position"),
        columns=(
            *WHO,
            Column("position", "Position at which an option was shown; 1 is the first."),
            Column("chosen", "Answers that chose the option at this position."),
            Column("share", "Share of the valid answers whose order is known."),
            Column(
                "expected",
                "The share if each flow's answers were assigned at random to the orders it was asked in.",
            ),
            Column("balanced", "The share under balanced orders without an effect of position: one fifth."),
            Column("excess", "share minus the expected share."),
            Column("n", "Valid answers whose order is known."),
            STATUS,
        ),
    ),
    Kind(
        name="missing_answers",
        about="Missing answers by status, template, order and variant.",
        options=OfArms,
        function=missing_answers,
        reads="answers",
        also=("prompts",),
        decided="block",
        report_section="answers",
        key=("arm", "model", "by", "level"),
        columns=(
            *WHO,
            Column("by", "How the answers are grouped: by status, template_no, order_no or variant."),
            Column("level", "Which status, template, order or variant."),
            Column("n", "Missing answers."),
            Column("of", "Answers that were asked for."),
            Column("share", "n / of."),
        ),
    ),
    Kind(
        name="missing_bounds",
        about="Worst-case bounds on each mean level if answers are not missing at random.",
        options=BoundsOptions,
        function=missing_bounds,
        reads="norms",
        also=("vignettes",),
        decided="pilot",
        report_section="answers",
        key=("arm", "model", "factor", "level"),
        columns=(
            *WHO,
            FACTOR._replace(
                about="Name of the factor (linked factors have their names joined); all for all flows together."
            ),
            LEVEL._replace(about="Level of the factor; all for all flows together."),
            Column("n_flows", "Flows with this level."),
            Column("mean", "Mean level of their valid answers."),
            Column("low", "The mean if every missing answer were the lowest level."),
            Column("high", "The mean if every missing answer were the highest level."),
            Column("width", "high less low."),
            Column("n_asked", "Answers that were asked for."),
            Column("n_valid", "Valid answers."),
            STATUS,
        ),
    ),
    Kind(
        name="flow_dependence",
        about="Whether a model's answers depend on the flow, and how many norms it would hold if they did not.",
        options=DependenceOptions,
        function=flow_dependence,
        reads="answers",
        also=("prompts",),
        decided="pilot",
        report_section="reliability",
        key=("arm", "model"),
        columns=(
            *WHO,
            Column("flows", "Flows that were asked."),
            Column("valid", "Share of the answers that are valid."),
            Column("top_share", "Share of the valid answers that have the most frequent level."),
            Column(
                "share",
                "Share of the variance of the valid answers that the flow explains, corrected for chance by shuffling "
                "answers between flows; about 0 if answers do not depend on the flow.",
            ),
            P,
            Column("norms", "Flows that hold a norm."),
            Column(
                "norms_exchanged",
                "Flows that would hold a norm on average if the valid answers of each template were shuffled between "
                "its flows and orders.",
            ),
            STATUS,
            Column(
                "verdict",
                f"one_answer (one level has {ONE_ANSWER:.0%} of the valid answers), no_dependence (p is not below "
                f"{SIGNIFICANT}), depends, depends_few (valid is below {ENOUGH_VALID}), or no_answers.",
            ),
            Column("verdict_text", "The verdict in words."),
        ),
    ),
    Kind(
        name="trace_bias",
        about="Position bias against the length of the trace: how far answers after longer reasoning follow the "
        "position of an option.",
        options=TraceOptions,
        function=bias_by_trace,
        reads="answers",
        also=("prompts",),
        decided="block",
        report_section="sensitivity",
        key=("arm", "model", "measure", "part", "position"),
        columns=(
            *WHO,
            _MEASURE,
            _PART,
            _POSITION,
            Column("tokens_low", "Shortest trace of the part, in tokens."),
            Column("tokens_high", "Longest trace of the part, in tokens."),
            _MEAN,
            ESTIMATE,
            *INTERVAL,
            _N,
            Column(
                "n_unknown",
                "Valid answers whose order is known but not the length of their trace; in no row.",
            ),
            Column("n_units", "Flows or templates, as the option unit states, in the interval."),
            _STATUS,
        ),
        shown=names(*WHO, _MEASURE, _PART, _POSITION, _MEAN, ESTIMATE, *INTERVAL, _N, _STATUS),
    ),
)
