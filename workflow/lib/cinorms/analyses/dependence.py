"""Kind on whether a model's answers depend on the flow at all, or are habits that any flow would meet."""

from __future__ import annotations

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import STATUS, WHO, P
from cinorms.analyses.shared import for_each_model
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfNorms
from cinorms.norms.assessment import level_matrix
from cinorms.stats.flow_dependence import ENOUGH_VALID, ONE_ANSWER, SIGNIFICANT, VERDICTS, dependence
from cinorms.stats.wordings import template_numbers


class DependenceOptions(OfNorms):
    """Options of the test that answers depend on the flow."""

    draws: int = Field(199, ge=19, le=100_000, description="Draws of the permutation test.")


@for_each_model
def flow_dependence(one: Selected, entry: Entry[DependenceOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return, per model, how much its answers depend on the flow, and its norms next to those of exchanged answers."""
    templates = template_numbers(prompts)
    thresholds = entry.thresholds[one.model]
    levels, scale = level_matrix(one.frame), entry.scales[one.arm]
    found = dependence(levels, templates, scale, thresholds, entry.seed, entry.options.draws)
    row = {**vars(found), "verdict": found.verdict, "verdict_text": VERDICTS[found.verdict]}
    return pd.DataFrame([row])


KINDS = (
    Kind(
        name="flow_dependence",
        about="Whether a model's answers depend on the flow, and how many norms it would hold if they did not.",
        options=DependenceOptions,
        function=flow_dependence,
        reads="answers",
        also=("vignettes", "prompts"),
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
)
