"""Kinds on how good the answers are: reliability, dependence on the flow, position effects, missing answers."""

from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import INTERVAL, WHO, usual
from cinorms.analyses.options import Factors
from cinorms.analyses.shared import add_factors, factors_of, for_each_model, named, stack, templates_of
from cinorms.core import tables
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms, OfFlows, OfNorms
from cinorms.norms.assessment import level_matrix
from cinorms.stats import reliability, survivorship
from cinorms.stats.flow_dependence import ENOUGH_VALID, FEW_MISSING, ONE_ANSWER, SIGNIFICANT, dependence
from cinorms.stats.wordings import template_numbers


class BoundsOptions(Factors, OfFlows):
    """Options of worst-case bounds."""


class DependenceOptions(OfNorms):
    """Options of the test that answers depend on the flow."""

    draws: int = Field(199, ge=19, le=100_000, description="Draws of the permutation test.")


class TraceOptions(OfArms):
    """Options of position bias against the length of the trace."""

    unit: Literal["both", "flow", "template"] = "both"
    """What an interval generalises to: answers to one flow, and in one template, depend on each other. flow: to other
    flows, in these templates; template: to other templates, of these flows."""
    parts: int = Field(3, ge=2, le=20)
    """Parts of about the same size that the answers are in by length of the trace."""


@for_each_model
def reliability_of_models(
    one: Selected, entry: Entry[OfArms], norms: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return `reliability.panel` of every model: alpha, split halves, shares of variance, orders."""
    people = one.pair in entry.people
    return reliability.panel(one.frame, norms, prompts, entry.scales[one.arm], entry.seed, people=people)


@for_each_model
def position_effects(one: Selected, entry: Entry[OfArms]) -> pd.DataFrame:
    """Return `reliability.position_effects` of every model."""
    return reliability.position_effects(one.frame, entry.scales[one.arm])


@for_each_model
def missing_answers(one: Selected, entry: Entry[OfArms], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return how many answers are missing, by status, template, order and variant."""
    status = survivorship.by_status(one.frame).rename(columns={"status": "level"})
    shown = ~status["level"].isin(tables.RARE_STATUSES) | (status["n"] > 0)
    status = status[(status["level"] != "ok") & shown].assign(by="status", of=len(one.frame))
    variant = survivorship.by_variant(one.frame, prompts).rename(columns={"n_asked": "of"})
    variant["n"] = variant["of"] - variant["n_valid"]
    variant["share"] = variant["n"] / variant["of"]
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
    levels, templates, scale = level_matrix(one.frame), template_numbers(prompts), entry.scales[one.arm]
    thresholds = entry.thresholds[one.model]
    found = dependence(levels, templates, scale, thresholds, entry.seed, entry.options.draws)
    return pd.DataFrame([{**vars(found), "verdict": found.verdict, "verdict_text": found.words}])


@for_each_model
def bias_by_trace(one: Selected, entry: Entry[TraceOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return `stats.reliability.trace_bias` of every model in every arm."""
    options, frame = entry.options, one.frame
    units = {"flow": frame["flow"].to_numpy(), "template": np.asarray(templates_of(frame, prompts))}
    ways = [units[name] for name in units if options.unit in (name, "both")]
    return reliability.trace_bias(frame, ways, entry.scales[one.arm], options.parts)


KINDS = (
    Kind(
        name="reliability",
        about="How consistent a model's answers are across wordings.",
        function=reliability_of_models,
        reads="answers",
        decided="pilot",
        report_section="reliability",
        key=("arm", "model", "measure"),
        columns={
            **WHO,
            "measure": "alpha (Krippendorff's), icc_1 and icc_k (of people: intraclass correlation of one rating "
            "and of a flow's mean), split_half, spearman_brown, valid (share of valid answers), the share of the "
            "variance from one source, or how often the orders of a template give different levels or signs.",
            **usual("estimate"),
            "conf_low": "Lower end of the 95% interval over templates or raters (alpha, halves, icc).",
            "conf_high": "Upper end of that interval.",
            "n": "Flows in the estimate; for the orders, flows times templates.",
            **usual("status"),
        },
    ),
    Kind(
        name="position_effects",
        about="How often the option at each position was chosen, compared with the share expected without an effect "
        "of position.",
        function=position_effects,
        reads="answers",
        decided="block",
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
        about="Missing answers by status, template, order and variant.",
        function=missing_answers,
        reads="answers",
        decided="block",
        report_section="answers",
        key=("arm", "model", "by", "level"),
        columns={
            **WHO,
            "by": "How the answers are grouped: by status, template_no, order_no or variant.",
            "level": "Which status, template, order or variant.",
            "n": "Missing answers.",
            "of": "Answers that were asked for.",
            "share": "n / of.",
        },
    ),
    Kind(
        name="missing_bounds",
        about="Worst-case bounds on each mean level if answers are not missing at random.",
        function=missing_bounds,
        reads="norms",
        decided="pilot",
        report_section="answers",
        key=("arm", "model", "factor", "level"),
        columns={
            **WHO,
            "factor": "Name of the factor (linked factors have their names joined); all for all flows together.",
            "level": "Level of the factor; all for all flows together.",
            "n_flows": "Flows with this level.",
            "mean": "Mean level of their valid answers.",
            "low": "The mean if every missing answer were the lowest level.",
            "high": "The mean if every missing answer were the highest level.",
            "width": "high less low.",
            "n_asked": "Answers that were asked for.",
            "n_valid": "Valid answers.",
            **usual("status"),
        },
    ),
    Kind(
        name="flow_dependence",
        about="Whether a model's answers depend on the flow, and how many norms it would hold if they did not.",
        function=flow_dependence,
        reads="answers",
        decided="pilot",
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
            "norms": "Flows that hold a norm.",
            "norms_exchanged": "Flows that would hold a norm on average if the valid answers of each "
            "template were shuffled between its flows, those of one flow together.",
            **usual("status"),
            "verdict": f"one_answer (one level has {ONE_ANSWER:.0%} of the valid answers), no_dependence (p is not "
            f"below {SIGNIFICANT}), depends, depends_few (valid is below {ENOUGH_VALID}), or no_answers.",
            "verdict_text": f"The verdict in words; where valid is below {FEW_MISSING} it adds that missing answers "
            "can look like dependence.",
        },
    ),
    Kind(
        name="trace_bias",
        about="Position bias against the length of the trace: how far answers after longer reasoning follow the "
        "position of an option.",
        function=bias_by_trace,
        reads="answers",
        decided="block",
        report_section="sensitivity",
        key=("arm", "model", "measure", "part", "position"),
        columns={
            **WHO,
            "measure": "slope: what 1,000 tokens of trace add to the excess; excess: how much more often "
            "the option at the position is chosen than its level is among the other answers to the flow.",
            "part": "Part of the answers by length of the trace, 1 the shortest; 0 for the slope, which is over all.",
            "position": "Position at which an option was shown; 1 is the first.",
            "tokens_low": "Shortest trace of the part, in tokens.",
            "tokens_high": "Longest trace of the part, in tokens.",
            "tokens_mean": "Mean length of the traces of the part, in tokens.",
            **usual("estimate", "std_err", "conf_low", "conf_high"),
            "n": "Valid answers of the part whose order and trace length are known.",
            "n_unknown": "Valid answers whose order is known but not the length of their trace; in no row.",
            "n_units": "Flows or templates, as the option unit states, in the interval; the fewer of both.",
            "status": "ok, or why there is no number: no_answers, no_order, no_trace_lengths, one_length "
            "(all traces are as long), one_answer_per_flow, no_such_length (equal lengths leave the part "
            "empty), one_unit (no interval).",
        },
        shown=(*WHO, "measure", "part", "position", "tokens_mean", "estimate", *INTERVAL, "n", "status"),
    ),
)
