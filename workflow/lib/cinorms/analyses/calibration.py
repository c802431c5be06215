"""Calibration: what was planted in respondents, compared with what is recovered from their answers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.options import Baselines
from cinorms.analyses.shared import add_factors, for_each_model, held, usual_factors
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfNorms
from cinorms.vignettes.factors import JOINT

if TYPE_CHECKING:
    from cinorms.stats.clm import ClmFit

#: What was planted in a respondent: the levels, and the coefficients; None of a model.
Planted: TypeAlias = pd.DataFrame | None
Coefficients: TypeAlias = Mapping[str, Any] | None


class CalibrationOptions(Baselines, OfNorms):
    """Options of both kinds."""


@for_each_model
def calibration(
    one: Selected,
    entry: Entry[CalibrationOptions],
    vignettes: pd.DataFrame,
    planted: Planted,
    coefficients: Coefficients,
) -> pd.DataFrame:
    """Return, per planted respondent, how much of what was planted is recovered."""
    both, terms, status = _recovered(one, entry, vignettes, planted, coefficients)
    row: dict[str, Any] = {"flows": len(both), "kept": int(both["recovered"].notna().sum())}
    row |= {"same": 0, "share_same": np.nan, "mean_difference": np.nan}
    pair = both[["recovered", "planted"]].dropna().astype("float64")
    if len(pair):
        difference = pair["recovered"] - pair["planted"]
        same = int((difference == 0).sum())
        row |= {"same": same, "share_same": same / len(pair), "mean_difference": difference.mean()}
    for source, suffix in (("recovered", ""), ("planted", "_planted")):
        tested = terms[(terms["source"] == source) & terms["inside"].notna()]
        row[f"terms{suffix}"] = len(tested)
        row[f"inside{suffix}"] = int(tested["inside"].sum())
        row[f"coverage{suffix}"] = float(tested["inside"].mean()) if len(tested) else np.nan
    return pd.DataFrame([row | {"status": status}])


@for_each_model
def calibration_coefficients(
    one: Selected,
    entry: Entry[CalibrationOptions],
    vignettes: pd.DataFrame,
    planted: Planted,
    coefficients: Coefficients,
) -> pd.DataFrame:
    """Return every planted coefficient with its estimates, from the norms planted and from those recovered."""
    _, terms, status = _recovered(one, entry, vignettes, planted, coefficients)
    return terms if len(terms) else terms.reindex([0]).assign(status=status)


def _recovered(
    one: Selected,
    entry: Entry[CalibrationOptions],
    vignettes: pd.DataFrame,
    planted: Planted,
    coefficients: Coefficients,
) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Return the norms planted and recovered, the terms of a regression of each, and the status of the respondent.

    A norm is missing where there is none. Terms have the planted coefficients; there are none if none was planted.
    """
    from cinorms.stats.clm import fit_clm  # not above: SciPy need not be loaded to load a study

    norms = held(one.frame, entry, one.model).rename(columns={"value": "recovered"})
    norms["planted"] = pd.array([pd.NA] * len(norms), dtype="Int8")
    if planted is not None:
        levels = planted.set_index("flow")["level"]
        norms["planted"] = entry.scales[one.arm].in_bins(levels).reindex(norms["flow"]).array
    factors = usual_factors(vignettes, entry.factors_of[one.arm])
    both = add_factors(norms, vignettes, factors)
    status = "ok" if both["recovered"].notna().any() else "no_norms"
    if both["planted"].isna().all():
        status = "not_planted" if planted is None else "none_planted"
    facts = (coefficients or {}).get("coefficients", [])
    truth = {(row["factor"], row["level"]): float(row["coefficient"]) for row in facts}
    stated = entry.options.stated_baselines().items()
    parts = []
    for source in ("planted", "recovered") if truth else ():
        rows = both[both[source].notna()]
        baselines = {f: level for f, level in stated if f in factors and level in set(rows[f].astype(str))}
        parts.append(_beside(fit_clm(both, source, factors, baselines), truth).assign(source=source))
    terms = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return both, terms.reindex(columns=list(_COEFFICIENTS)), status


def _beside(fit: "ClmFit", truth: Mapping[tuple[str, str], float]) -> pd.DataFrame:
    def planted(factor: str, level: str) -> float:
        # What a joint level of linked factors does is the sum of what its parts do.
        return sum(truth[part] for part in zip(factor.split(JOINT), level.split(JOINT), strict=True))

    names = ["factor", "level", "baseline", "estimate", "std_err", "conf_low", "conf_high", "status"]
    table = fit.coefficients[names]
    rows = zip(table["factor"], table["level"], table["baseline"], strict=True)
    table = table.assign(planted=[planted(f, level) - planted(f, base) for f, level, base in rows])
    within = (table["conf_low"] <= table["planted"]) & (table["planted"] <= table["conf_high"])
    has_interval = table["conf_low"].notna() & table["conf_high"].notna()
    return table.assign(
        difference=table["estimate"] - table["planted"], inside=within.astype("boolean").where(has_interval)
    )


_COEFFICIENTS = {
    "source": "Norms that the estimate uses: planted or recovered.",
    **usual("factor", "level", "baseline"),
    "planted": "The planted coefficient of the level minus that of the baseline, in logits.",
    "estimate": "Estimate of the planted coefficient.",
    **usual("std_err", "conf_low", "conf_high"),
    "difference": "estimate minus planted, in logits.",
    "inside": "Whether the interval contains the planted coefficient.",
    "status": "Status of the term; without a term, that of the fit or of the table of kind calibration.",
}

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
    Kind(
        name="calibration_coefficients",
        about="Every planted coefficient next to its estimates.",
        function=calibration_coefficients,
        reads="norms",
        report_section="calibration",
        key=("arm", "model", "source", "factor", "level"),
        columns={**WHO, **_COEFFICIENTS},
    ),
)
