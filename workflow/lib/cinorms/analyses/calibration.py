"""Calibration: what was planted in respondents, compared with what is recovered from their answers."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from cinorms.analyses.columns import WHO
from cinorms.analyses.options import Baselines
from cinorms.analyses.shared import add_factors, fit_clm, for_each_model, planted_changes, usual_factors
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfNorms
from cinorms.norms.assessment import held

#: What was planted in a respondent: the levels, and the coefficients; None of a model.
Planted: TypeAlias = pd.DataFrame | None
Coefficients: TypeAlias = Mapping[str, Any] | None


class CalibrationOptions(Baselines, OfNorms):
    """Options of kind ``calibration``."""


@for_each_model
def calibration(
    one: Selected,
    entry: Entry[CalibrationOptions],
    vignettes: pd.DataFrame,
    planted: Planted,
    coefficients: Coefficients,
) -> pd.DataFrame:
    """Return, per planted respondent, how much of what was planted is recovered."""
    norms = held(one.frame, entry.thresholds[one.model]).rename(columns={"value": "recovered"})
    norms["planted"] = pd.array([pd.NA] * len(norms), dtype="Int8")
    if planted is not None:
        levels = planted.set_index("flow")["level"]
        norms["planted"] = entry.scales[one.arm].in_bins(levels).reindex(norms["flow"]).array
    factors = usual_factors(vignettes, entry.factors_of[one.arm])
    both = add_factors(norms, vignettes, factors)
    status = "ok" if both["recovered"].notna().any() else "no_norms"
    if both["planted"].isna().all():
        status = "not_planted" if planted is None else "none_planted"
    row: dict[str, Any] = {"flows": len(both), "kept": int(both["recovered"].notna().sum())}
    row |= {"same": 0, "share_same": np.nan, "mean_difference": np.nan}
    pair = both[["recovered", "planted"]].dropna().astype("float64")
    if len(pair):
        difference = pair["recovered"] - pair["planted"]
        same = int((difference == 0).sum())
        row |= {"same": same, "share_same": same / len(pair), "mean_difference": difference.mean()}
    change, stated = planted_changes(coefficients), entry.options.stated_baselines().items()
    for source, suffix in (("recovered", ""), ("planted", "_planted")):
        rows = both[both[source].notna()]
        baselines = {f: level for f, level in stated if f in factors and level in set(rows[f].astype(str))}
        inside: list[bool] = []
        if change:
            terms = fit_clm(both, source, factors, baselines=baselines).coefficients
            terms = terms[["factor", "baseline", "level", "conf_low", "conf_high"]].dropna()
            inside = [low <= change(*term) <= high for *term, low, high in terms.itertuples(index=False)]
        row[f"terms{suffix}"] = len(inside)
        row[f"inside{suffix}"] = sum(inside)
        row[f"coverage{suffix}"] = float(np.mean(inside)) if inside else np.nan
    return pd.DataFrame([row | {"status": status}])


KINDS = (
    Kind(
        name="calibration",
        about="Planted (known) norms and coefficients, compared with the recovered ones, per planted respondent.",
        function=calibration,
        reads="norms",
        report_section="calibration",
        key=("arm", "model"),
        columns={
            **WHO,
            "flows": "Flows that the respondent answered.",
            "kept": "Flows with a recovered norm.",
            "same": "Of these, flows whose recovered norm is the planted one.",
            "share_same": "same as a share of the flows with both norms.",
            "mean_difference": "Mean of the recovered minus the planted norm, in levels.",
            "terms": "Coefficients with an interval from the recovered norms.",
            "inside": "Of terms, those whose interval contains the planted coefficient.",
            "coverage": "inside as a share of terms.",
            "terms_planted": "Coefficients with an interval from the planted norms.",
            "inside_planted": "Of terms_planted, those whose interval contains the planted coefficient.",
            "coverage_planted": "inside_planted as a share of terms_planted.",
            "status": "ok, no_norms (no norm is recovered), none_planted (a control without norms) or "
            "not_planted (a model, not a planted respondent).",
        },
    ),
)
