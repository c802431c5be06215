"""Kinds on how good the answers are, how many wordings are enough, and how well a design tells flows apart."""

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.shared import for_each_model
from cinorms.core.labels import percent
from cinorms.core.tables import AGAIN
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms, OfFlows
from cinorms.norms.assessment import level_matrix
from cinorms.stats import reliability
from cinorms.stats.flow_dependence import (
    ENOUGH_VALID,
    FEW_MISSING,
    SIGNIFICANT,
    dependence,
)
from cinorms.stats.wordings import ALIKE_TEMPLATES, level_counts, template_numbers
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
    """Return `reliability.panel` of every model: alpha, orders."""
    return reliability.panel(one.frame, prompts, entry.scales[one.arm], one.pair in entry.people)


@for_each_model
def position_effects(one: Selected, entry: Entry[OfArms]) -> pd.DataFrame:
    """Return `reliability.position_effects` of every model."""
    return reliability.position_effects(one.frame, entry.scales[one.arm])


@for_each_model
def flow_dependence(one: Selected, entry: Entry[DependenceOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return, per model, how much its answers depend on the flow."""
    levels, templates, scale = level_matrix(one.frame), template_numbers(prompts), entry.scales[one.arm]
    found = dependence(levels, templates, scale, entry.seed, entry.options.draws)
    return pd.DataFrame([{**vars(found), "verdict": found.verdict, "verdict_text": found.words}])


# --- How many norms other wordings would give again


@for_each_model
def norms_again(one: Selected, entry: Entry[OfArms]) -> pd.DataFrame:
    """Return, per model, how many of its norms as many fresh wordings would give again."""
    return one.frame.drop(columns=["flow", "p_again"]).head(1)


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
            "(share of valid answers), or how often orders of a wording give different levels or signs.",
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
            f"than {percent(WIDEST)} of the norms, halves of the wordings predict each other wrongly by more than "
            f"{percent(WRONG)}, or the wordings are worth less than {ENOUGH} of their number; so these wordings cannot "
            "show the number.",
        },
    ),
)
