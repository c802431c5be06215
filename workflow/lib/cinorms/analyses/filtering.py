"""Kinds on what the multi-prompt assessment removes: Tables 2 and 3, who is discarded, the minority."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

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
from cinorms.analyses.shared import add_factors, chosen_each, corrected, for_each, held, usual_factors
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfArms, OfNorms, TVal
from cinorms.norms.thresholds import Majority
from cinorms.stats import survivorship

_MEASURES = ("n_minority", "share", "variance", "deviation", "max_deviation")


class LostOptions(OfArms):
    """Options of what is lost from one majority threshold to another: only the valid threshold is fixed."""

    t_val: LeftOut[TVal] = Field(
        None, description="Valid answers that a flow needs, instead of the study's t_val; 0: no threshold."
    )


class FactorsOfNorms(Factors, OfNorms):
    """Options of what is discarded by factor."""


def discarded(selected: Sequence[Selected], entry: Entry[OfArms]) -> pd.DataFrame:
    """Return `survivorship.discarded` of every model under all thresholds of the study (PETS Table 2)."""
    return for_each(selected, lambda one: survivorship.discarded(one.frame, entry.grid))


def lost(selected: Sequence[Selected], entry: Entry[LostOptions]) -> pd.DataFrame:
    """Return `survivorship.lost` of every model, for every two majority thresholds (PETS Table 3)."""
    t_majs = dict.fromkeys(under.t_maj for under in entry.grid)
    steps: list[tuple[Majority, Majority]] = list(itertools.combinations(t_majs, 2))

    def lost_of(one: Selected) -> pd.DataFrame:
        under = entry.thresholds[one.model]
        return survivorship.lost(one.frame, under.t_val, steps, under.consensus)

    return for_each(selected, lost_of)


def discarded_levels(
    selected: Sequence[Selected], entry: Entry[FactorsOfNorms], vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return `survivorship.by_level` of every model, with t_val and t_maj."""
    return _by_factor(selected, entry, vignettes, survivorship.by_level)


def discarded_association(
    selected: Sequence[Selected], entry: Entry[FactorsOfNorms], vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return `survivorship.association` of every model, with t_val and t_maj.

    The corrections are over all models and factors of the table.
    """
    return corrected(_by_factor(selected, entry, vignettes, survivorship.association))


def minority_of_norms(
    selected: Sequence[Selected], entry: Entry[OfNorms], vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return how the answers outside the norm deviate, over the flows that hold one (PETS Figure 6)."""
    return for_each(chosen_each(selected, entry, vignettes), lambda one: _minority(one, entry))


def _minority(one: Selected, entry: Entry[OfNorms]) -> pd.DataFrame:
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


def _by_factor(
    selected: Sequence[Selected],
    entry: Entry[FactorsOfNorms],
    vignettes: Mapping[str, pd.DataFrame],
    make: Callable[..., pd.DataFrame],
) -> pd.DataFrame:
    def make_one(one: Selected) -> pd.DataFrame:
        factors = entry.options.factors or usual_factors(vignettes[one.arm], entry.factors_of[one.arm])
        needed = entry.thresholds[one.model]
        with_joint = add_factors(vignettes[one.arm][["flow"]], vignettes[one.arm], factors)
        table = make(one.frame, with_joint, factors, needed)
        return table.assign(t_val=needed.t_val, t_maj=str(needed.t_maj))

    return for_each(chosen_each(selected, entry, vignettes), make_one)


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
        also=("vignettes",),
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
