"""Counts: answers of each level and status, flows kept under thresholds, and what the thresholds remove.

Tables 2 and 3 of the PETS paper, and who is discarded.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import pandas as pd

from cinorms.analyses.columns import CORRECTED, WHO, usual
from cinorms.analyses.options import Factors
from cinorms.analyses.shared import Frames, add_factors, corrected, factors_of, for_each_model
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.schema import NotRequired
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms, OfNorms, TVal
from cinorms.norms import assessment
from cinorms.stats import survivorship

#: Columns of `answer_counts`.
ANSWER_COUNTS = {
    **WHO,
    "outcome": "The words of the option, or the status of an answer without a level; not_a_rating with what the answer "
    "says.",
    "level": "Level of the option; missing for a status.",
    "status": "ok for a level, else why the answers have none.",
    "count": "Number of answers.",
    "share": "Share of all answers of the model in the arm.",
    "most": "What the share of a level would be if all answers without a level had it; missing for a status.",
}


@for_each_model
def answer_counts(one: Selected, entry: Entry[OfArms]) -> pd.DataFrame:
    """Return one row per arm, model and outcome: each level of the scale, then each status without a level.

    Counts add up to the number of answers: raises ``DataError`` for an answer that none of them covers.
    """
    scale = entry.scales[one.arm]
    answers = one.frame.assign(level=scale.in_bins(one.frame["level"]))
    levels = answers.loc[answers["status"] == "ok", "level"].value_counts()
    statuses = answers["status"].value_counts()
    stray = set(answers["status"].unique()) - set(tables.ANSWER_STATUSES)
    n_ok = int((answers["status"] == "ok").sum())
    if stray or n_ok != levels.reindex(scale.binned.levels).sum():
        raise DataError(
            f"answers of {one.model} in {one.arm}: each needs a known status (unknown: {sorted(map(str, stray))}), "
            f"and a level among {scale.levels} where it is ok; delete the table and rerun"
        )
    rows: list[tuple[Any, ...]] = []
    for level, label in scale.binned.labels.items():
        rows.append((label, level, "ok", int(levels.get(level, 0))))
    for status in tables.ANSWER_STATUSES[1:]:
        count = int(statuses.get(status, 0))
        if status == "not_a_rating" and count:
            said = answers.loc[answers["status"] == status, "rule"].astype(str).value_counts().sort_index()
            rows += [(f"{status}: {says}", pd.NA, status, int(n)) for says, n in said.items()]
        elif count or status not in tables.RARE_STATUSES:
            rows.append((status, pd.NA, status, count))
    table = pd.DataFrame(rows, columns=["outcome", "level", "status", "count"]).astype({"level": "Int8"})
    missing = len(answers) - int(levels.sum())
    most = _shares(table["count"] + missing, len(answers)).where(table["status"] == "ok")
    return table.assign(share=_shares(table["count"], len(answers)), most=most)


@for_each_model
def norm_counts(one: Selected, entry: Entry[OfArms]) -> pd.DataFrame:
    """Return one row per arm, model, t_val, t_maj and status: the number and the share of flows."""
    rows = []
    for under in entry.grid:
        counts = assessment.status(one.frame, under).value_counts()
        used = under == entry.thresholds[one.model]
        for status in tables.NORM_STATUSES:
            rows.append((under.t_val, str(under.t_maj), used, status, int(counts.get(status, 0))))
    table = pd.DataFrame(rows, columns=["t_val", "t_maj", "used", "status", "flows"])
    asked = one.frame["n_asked"].max()
    return table.assign(
        share=_shares(table["flows"], len(one.frame)),
        variants=pd.array([asked if len(one.frame) else pd.NA] * len(table), dtype="Int64"),
    )


def _shares(counts: "pd.Series[int]", total: int) -> "pd.Series[float]":
    """Return the counts as shares; all missing where there is nothing to share."""
    return (counts / total if total else counts.mask(counts >= 0)).astype("Float64")


# --- What the thresholds remove


class LostOptions(OfArms):
    """Options of what is lost from one majority threshold to another: only the valid threshold is fixed."""

    t_val: NotRequired[TVal] = None
    """Valid answers that a flow needs, instead of the study's t_val; 0: no threshold."""


class FactorsOfNorms(Factors, OfNorms):
    """Options of what is discarded by factor."""


@for_each_model
def discarded(one: Selected, entry: Entry[OfArms]) -> pd.DataFrame:
    """Return `survivorship.discarded` of every model under all thresholds of the study (PETS Table 2)."""
    return survivorship.discarded(one.frame, entry.grid)


@for_each_model
def lost(one: Selected, entry: Entry[LostOptions]) -> pd.DataFrame:
    """Return `survivorship.lost` of every model, for every two majority thresholds (PETS Table 3)."""
    t_majs = dict.fromkeys(under.t_maj for under in entry.grid)
    under = entry.thresholds[one.model]
    return survivorship.lost(one.frame, under.t_val, list(itertools.combinations(t_majs, 2)), under.consensus)


def discarded_association(
    selected: Sequence[Selected], entry: Entry[FactorsOfNorms], vignettes: Frames
) -> pd.DataFrame:
    """Return `survivorship.association` of every model, with t_val and t_maj.

    The corrections are over all models and factors of the table.
    """
    return corrected(_association(selected, entry, vignettes=vignettes))


@for_each_model
def _association(one: Selected, entry: Entry[FactorsOfNorms], vignettes: pd.DataFrame) -> pd.DataFrame:
    factors, needed = factors_of(entry, one.arm, vignettes), entry.thresholds[one.model]
    kept = one.frame[["flow"]].assign(kept=assessment.status(one.frame, needed) == "kept")
    table = survivorship.association(add_factors(kept, vignettes, factors), factors)
    return table.assign(t_val=needed.t_val, t_maj=str(needed.t_maj))


_FLOWS = "Flows that were asked."
_KEPT = "Flows that hold a norm."


KINDS = (
    Kind(
        name="answer_counts",
        about="Answers per model by level and by status, before any filtering.",
        function=answer_counts,
        reads="answers",
        report_section="answers",
        key=("arm", "model", "outcome"),
        columns=ANSWER_COUNTS,
    ),
    Kind(
        name="norm_counts",
        about="Flows kept and discarded per model under each pair of the study's thresholds.",
        function=norm_counts,
        reads="norms",
        report_section="answers",
        key=("arm", "model", "t_val", "t_maj", "status"),
        columns={
            **usual("arm", "model", "t_val", "t_maj"),
            "used": "Whether the study's other figures and analyses use this pair of thresholds.",
            "status": "kept, or why the flow has no norm.",
            "flows": "Flows with this status.",
            "share": "Share of all flows of the model in the arm.",
            "variants": "Variants in which a flow was asked, at most. The share of flows with a norm changes with "
            "their number, so shares at different numbers cannot be compared.",
        },
    ),
    Kind(
        name="discarded",
        about="Flows discarded under each pair of the study's thresholds (PETS Table 2).",
        function=discarded,
        reads="norms",
        report_section="sensitivity",
        key=("arm", "model", "t_val", "t_maj"),
        columns={
            **usual("arm", "model", "t_val", "t_maj"),
            "flows": _FLOWS,
            "below_t_val": "Flows with too few valid answers.",
            "of": "Flows with enough valid answers.",
            "no_majority": "Of these, flows without the required majority.",
            "tie": "Of these, flows with several equally frequent levels.",
            "discarded": "no_majority and tie together.",
            "kept": _KEPT,
            "share_discarded": "Share of the flows with enough valid answers that are discarded.",
            **usual("status"),
        },
    ),
    Kind(
        name="lost",
        about="Norms lost when the majority threshold rises (PETS Table 3).",
        function=lost,
        reads="norms",
        report_section="sensitivity",
        key=("arm", "model", "t_val", "from", "to"),
        columns={
            **usual("arm", "model", "t_val"),
            "from": "The lower majority threshold.",
            "to": "The higher majority threshold.",
            "flows": _FLOWS,
            "kept_from": "Flows that hold a norm under the lower threshold.",
            "lost": "Of these, flows that hold none under the higher threshold.",
            "share_lost": "Share of all flows that are lost.",
            "changed": "Flows with a different norm under the higher threshold; anything but 0 is an error.",
            **usual("status"),
        },
    ),
    Kind(
        name="discarded_association",
        about="Whether discarding is associated with a factor: chi-square and Cramer's V.",
        function=discarded_association,
        reads="norms",
        report_section="sensitivity",
        key=("arm", "model", "factor"),
        columns={
            **usual("arm", "model", "factor", "statistic"),
            "dof": "Degrees of freedom of the test.",
            **usual("p", "log10_p", "p_text"),
            **CORRECTED,
            "cramers_v": "Cramer's V: 0 for no association, 1 for the strongest.",
            "flows": _FLOWS,
            "status": "ok; low_expected if an expected count is below 5 (read p with care); or why there is no test.",
            **usual("t_val", "t_maj"),
        },
        shown=(*WHO, "factor", "statistic", "dof", "p", "p_holm", "cramers_v", "flows", "status"),
    ),
)
