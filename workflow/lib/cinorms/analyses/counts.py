"""Counts: answers of each level and status, flows kept under thresholds, and what the thresholds remove.

Tables 2 and 3 of the PETS paper, who is discarded, and the minority.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import (
    CORRECTED,
    FACTOR,
    LEVEL,
    LOG10_P,
    P_TEXT,
    STATISTIC,
    STATUS,
    T_MAJ,
    T_VAL,
    WHO,
    P,
    names,
)
from cinorms.analyses.options import Factors
from cinorms.analyses.shared import Frames, add_factors, corrected, factors_of, for_each_model, held
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.scales import Scale
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfArms, OfNorms, TVal
from cinorms.norms import assessment
from cinorms.stats import survivorship

#: Columns of `answer_counts`.
ANSWER_COUNTS = (
    *WHO,
    Column("outcome", "The words of the option, or the status of an answer without a level."),
    Column("level", "Level of the option; missing for a status."),
    Column("status", "ok for a level, else why the answers have none."),
    Column("count", "Number of answers."),
    Column("share", "Share of all answers of the model in the arm."),
)


def answer_counts(selected: Sequence[Selected], entry: Entry[OfArms]) -> pd.DataFrame:
    """Return one row per arm, model and outcome: each level of the scale, then each status without a level.

    Counts add up to the number of answers, and of questions that decided flows were spared: raises ``DataError`` for an
    answer that none of them covers.
    """
    rows: list[tuple[Any, ...]] = []
    for arm, model, answers in selected:
        scale = entry.scales[arm]
        answers = answers.assign(level=scale.in_bins(answers["level"]))
        total = len(answers)
        levels = answers.loc[answers["status"] == "ok", "level"].value_counts()
        statuses = answers["status"].value_counts()
        _check_all_counted(arm, model, scale, answers, levels)
        for level, label in scale.binned.labels.items():
            count = int(levels.get(level, 0))
            rows.append((arm, model, label, level, "ok", count, _share(count, total)))
        for status in (*tables.ANSWER_STATUSES[1:], tables.NOT_ASKED):
            count = int(statuses.get(status, 0))
            if count or status not in {*tables.RARE_STATUSES, tables.NOT_ASKED}:
                rows.append((arm, model, status, pd.NA, status, count, _share(count, total)))
    columns = ["arm", "model", "outcome", "level", "status", "count", "share"]
    return pd.DataFrame(rows, columns=columns).astype({"level": "Int8", "share": "Float64"})


def _check_all_counted(arm: str, model: str, scale: Scale, answers: pd.DataFrame, levels: pd.Series) -> None:
    """Insist that every answer has a level of the scale, or a known status without one."""
    stray = set(answers["status"].unique()) - {*tables.ANSWER_STATUSES, tables.NOT_ASKED}
    n_ok = int((answers["status"] == "ok").sum())
    if stray or n_ok != levels.reindex(scale.binned.levels).sum():
        raise DataError(
            f"answers of {model} in {arm}: each needs a known status (unknown: {sorted(map(str, stray))}), "
            f"and a level among {scale.levels} where it is ok; delete the table and rerun"
        )


def norm_counts(selected: Sequence[Selected], entry: Entry[OfArms]) -> pd.DataFrame:
    """Return one row per arm, model, t_val, t_maj and status: the number and the share of flows."""
    rows = []
    for arm, model, norms in selected:
        for under in entry.grid:
            counts = assessment.status(norms, under).value_counts()
            used = under == entry.thresholds[model]
            for status in tables.NORM_STATUSES:
                count = int(counts.get(status, 0))
                share = _share(count, len(norms))
                rows.append((arm, model, under.t_val, str(under.t_maj), used, status, count, share))
    columns = ["arm", "model", "t_val", "t_maj", "used", "status", "flows", "share"]
    return pd.DataFrame(rows, columns=columns).astype({"share": "Float64"})


def _share(count: int, total: int) -> float | Any:
    return count / total if total else pd.NA


# --- What the thresholds remove

_MEASURES = ("n_minority", "share", "variance", "deviation", "max_deviation")


class LostOptions(OfArms):
    """Options of what is lost from one majority threshold to another: only the valid threshold is fixed."""

    t_val: LeftOut[TVal] = Field(
        None, description="Valid answers that a flow needs, instead of the study's t_val; 0: no threshold."
    )


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


@for_each_model
def discarded_levels(one: Selected, entry: Entry[FactorsOfNorms], vignettes: pd.DataFrame) -> pd.DataFrame:
    """Return `survivorship.by_level` of every model, with t_val and t_maj."""
    return _by_factor(one, entry, vignettes, survivorship.by_level)


def discarded_association(
    selected: Sequence[Selected], entry: Entry[FactorsOfNorms], vignettes: Frames
) -> pd.DataFrame:
    """Return `survivorship.association` of every model, with t_val and t_maj.

    The corrections are over all models and factors of the table.
    """
    return corrected(_association(selected, entry, vignettes=vignettes))


@for_each_model
def _association(one: Selected, entry: Entry[FactorsOfNorms], vignettes: pd.DataFrame) -> pd.DataFrame:
    return _by_factor(one, entry, vignettes, survivorship.association)


def _by_factor(
    one: Selected,
    entry: Entry[FactorsOfNorms],
    vignettes: pd.DataFrame,
    make: Callable[..., pd.DataFrame],
) -> pd.DataFrame:
    factors, needed = factors_of(entry, one.arm, vignettes), entry.thresholds[one.model]
    table = make(one.frame, add_factors(vignettes[["flow"]], vignettes, factors), factors, needed)
    return table.assign(t_val=needed.t_val, t_maj=str(needed.t_maj))


@for_each_model
def minority_of_norms(one: Selected, entry: Entry[OfNorms]) -> pd.DataFrame:
    """Return how the answers outside the norm deviate, over the flows that hold one (PETS Figure 6)."""
    norms = one.frame[held(one.frame, entry, one.model)["value"].notna().to_numpy()]
    found = survivorship.minority(norms)
    some = found[found["status"] == "ok"]
    rows = []
    for measure in _MEASURES:
        values = (found if measure in ("n_minority", "share") else some)[measure].astype("float64")
        quantiles = values.quantile([0.25, 0.5, 0.75])
        status = "no_norms" if found.empty else ("no_minority" if values.empty else "ok")
        rows.append((measure, len(found), len(values), values.mean(), *quantiles, values.max(), status))
    table = pd.DataFrame(
        rows, columns=["measure", "flows", "n", "mean", "q25", "median", "q75", "max", "status"]
    )
    table.insert(8, "unanimous", int((found["status"] == "unanimous").sum()))
    table.insert(9, "single_dissent", int(found["single_dissent"].sum()))
    return table


_FLOWS = Column("flows", "Flows that were asked.")
_KEPT = Column("kept", "Flows that hold a norm.")
_DISCARDED = Column("discarded", "Flows without a norm.")
_SHARE = Column("share_discarded", "Share of the flows that are discarded.")
_DEGREES = Column("dof", "Degrees of freedom of the test.")
_CRAMERS_V = Column("cramers_v", "Cramer's V: 0 for no association, 1 for the strongest.")
_ASSOCIATED = Column(
    "status",
    "ok; low_expected if an expected count is below 5 (read p with care); or why there is no test.",
)

KINDS = (
    Kind(
        name="answer_counts",
        about="Answers per model by level and by status, before any filtering.",
        options=OfArms,
        function=answer_counts,
        reads="answers",
        decided="all",
        report_section="answers",
        key=("arm", "model", "outcome"),
        columns=ANSWER_COUNTS,
    ),
    Kind(
        name="norm_counts",
        about="Flows kept and discarded per model under each pair of the study's thresholds.",
        options=OfArms,
        function=norm_counts,
        reads="norms",
        report_section="answers",
        key=("arm", "model", "t_val", "t_maj", "status"),
        columns=(
            *WHO,
            T_VAL,
            T_MAJ,
            Column("used", "Whether the study's other figures and analyses use this pair of thresholds."),
            Column("status", "kept, or why the flow has no norm."),
            Column("flows", "Flows with this status."),
            Column("share", "Share of all flows of the model in the arm."),
        ),
    ),
    Kind(
        name="discarded",
        about="Flows discarded under each pair of the study's thresholds (PETS Table 2).",
        options=OfArms,
        function=discarded,
        reads="norms",
        decided="pilot",
        report_section="sensitivity",
        key=("arm", "model", "t_val", "t_maj"),
        columns=(
            *WHO,
            T_VAL,
            T_MAJ,
            _FLOWS,
            Column("below_t_val", "Flows with too few valid answers."),
            Column("of", "Flows with enough valid answers."),
            Column("no_majority", "Of these, flows without the required majority."),
            Column("tie", "Of these, flows with several equally frequent levels."),
            Column("discarded", "no_majority and tie together."),
            _KEPT,
            Column("share_discarded", "Share of the flows with enough valid answers that are discarded."),
            STATUS,
        ),
    ),
    Kind(
        name="lost",
        about="Norms lost when the majority threshold rises (PETS Table 3).",
        options=LostOptions,
        function=lost,
        reads="norms",
        decided="pilot",
        report_section="sensitivity",
        key=("arm", "model", "t_val", "from", "to"),
        columns=(
            *WHO,
            T_VAL,
            Column("from", "The lower majority threshold."),
            Column("to", "The higher majority threshold."),
            _FLOWS,
            Column("kept_from", "Flows that hold a norm under the lower threshold."),
            Column("lost", "Of these, flows that hold none under the higher threshold."),
            Column("share_lost", "Share of all flows that are lost."),
            Column(
                "changed",
                "Flows with a different norm under the higher threshold; anything but 0 is an error.",
            ),
            STATUS,
        ),
    ),
    Kind(
        name="discarded_levels",
        about="Flows kept and discarded at each level of each factor.",
        options=FactorsOfNorms,
        function=discarded_levels,
        reads="norms",
        also=("vignettes",),
        report_section="sensitivity",
        key=("arm", "model", "factor", "level"),
        columns=(*WHO, FACTOR, LEVEL, _FLOWS, _KEPT, _DISCARDED, _SHARE, T_VAL, T_MAJ),
        shown=names(*WHO, FACTOR, LEVEL, _FLOWS, _KEPT, _DISCARDED, _SHARE),
    ),
    Kind(
        name="discarded_association",
        about="Whether discarding is associated with a factor: chi-square and Cramer's V.",
        options=FactorsOfNorms,
        function=discarded_association,
        reads="norms",
        also=("vignettes",),
        report_section="sensitivity",
        key=("arm", "model", "factor"),
        columns=(
            *(*WHO, FACTOR, STATISTIC, _DEGREES, P, LOG10_P, P_TEXT, *CORRECTED),
            *(_CRAMERS_V, _FLOWS, _ASSOCIATED, T_VAL, T_MAJ),
        ),
        shown=(
            *names(*WHO, FACTOR, STATISTIC, _DEGREES, P),
            "p_holm",
            *names(_CRAMERS_V, _FLOWS, _ASSOCIATED),
        ),
    ),
    Kind(
        name="minority",
        about="How far minority answers deviate from the norm (PETS Figure 6).",
        options=OfNorms,
        function=minority_of_norms,
        reads="norms",
        decided="pilot",
        report_section="sensitivity",
        key=("arm", "model", "measure"),
        columns=(
            *WHO,
            Column(
                "measure",
                "A measure of a flow's minority answers (valid answers that differ from its norm): n_minority (their "
                "number), share (of the valid answers), variance, deviation (mean distance from the norm), "
                "max_deviation.",
            ),
            Column("flows", "Flows that hold a norm."),
            Column(
                "n",
                "Flows in the row: all for n_minority and share; for the others, those with a minority answer.",
            ),
            Column("mean", "Mean of the measure over these flows."),
            Column("q25", "Lower quartile of the measure."),
            Column("median", "Median of the measure."),
            Column("q75", "Upper quartile of the measure."),
            Column("max", "Largest value of the measure."),
            Column("unanimous", "Flows without a minority answer."),
            Column("single_dissent", "Flows with exactly one minority answer."),
            STATUS,
        ),
    ),
)
