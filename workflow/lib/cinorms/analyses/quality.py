"""Kinds on how good the answers are: reliability, position effects, missing answers."""

from __future__ import annotations

import pandas as pd

from cinorms.analyses.columns import ESTIMATE, FACTOR, LEVEL, STATUS, WHO
from cinorms.analyses.options import Factors
from cinorms.analyses.shared import add_factors, factors_of, for_each_model, named, stack
from cinorms.core import tables
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfArms, OfFlows
from cinorms.stats import reliability, survivorship


class BoundsOptions(Factors, OfFlows):
    """Options of worst-case bounds."""


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
)
