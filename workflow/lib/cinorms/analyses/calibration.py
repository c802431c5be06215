"""Calibration: what was planted in respondents, compared with what is recovered from their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from cinorms.analyses.columns import BASELINE, CONF_HIGH, CONF_LOW, FACTOR, LEVEL, STD_ERR, WHO, names
from cinorms.analyses.options import Baselines
from cinorms.analyses.shared import add_factors, for_each_model, held, usual_factors
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfNorms
from cinorms.vignettes.factors import JOINT

if TYPE_CHECKING:
    from cinorms.stats.clm import ClmFit

#: What was planted in a respondent: the levels, and the coefficients; None of a model.
Planted: TypeAlias = pd.DataFrame | None
Coefficients: TypeAlias = Mapping[str, Any] | None

#: A regression of the norms that were planted, and one of the norms that were recovered.
SOURCES = ("planted", "recovered")


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
    both = _both(one, entry, vignettes, planted)
    row: dict[str, Any] = {"flows": len(both), "kept": int(both["recovered"].notna().sum())}
    row |= {"same": 0, "share_same": np.nan, "mean_difference": np.nan}
    pair = both[["recovered", "planted"]].dropna().astype("float64")
    if len(pair):
        difference = pair["recovered"] - pair["planted"]
        same = int((difference == 0).sum())
        row |= {"same": same, "share_same": same / len(pair), "mean_difference": difference.mean()}
    terms = _terms(one, entry, both, vignettes, coefficients)
    for source, suffix in (("recovered", ""), ("planted", "_planted")):
        tested = terms[(terms["source"] == source) & terms["inside"].notna()]
        row[f"terms{suffix}"] = len(tested)
        row[f"inside{suffix}"] = int(tested["inside"].sum())
        row[f"coverage{suffix}"] = float(tested["inside"].mean()) if len(tested) else np.nan
    return pd.DataFrame([row | {"status": _status(both, planted)}])


@for_each_model
def calibration_coefficients(
    one: Selected,
    entry: Entry[CalibrationOptions],
    vignettes: pd.DataFrame,
    planted: Planted,
    coefficients: Coefficients,
) -> pd.DataFrame:
    """Return every planted coefficient with its estimates, from the norms planted and from those recovered."""
    both = _both(one, entry, vignettes, planted)
    table = _terms(one, entry, both, vignettes, coefficients)
    return table if len(table) else table.reindex([0]).assign(status=_status(both, planted))


def _both(
    one: Selected, entry: Entry[CalibrationOptions], vignettes: pd.DataFrame, planted: Planted
) -> pd.DataFrame:
    """Return flow, the factors, and the norms planted and recovered (missing where there is none)."""
    frame = held(one.frame, entry, one.model).rename(columns={"value": "recovered"})
    frame["planted"] = pd.array([pd.NA] * len(frame), dtype="Int8")
    if planted is not None:
        levels = planted.set_index("flow")["level"]
        frame["planted"] = entry.scales[one.arm].in_bins(levels).reindex(frame["flow"]).array
    return add_factors(frame, vignettes, usual_factors(vignettes, entry.factors_of[one.arm]))


def _status(both: pd.DataFrame, planted: Planted) -> str:
    if planted is None:
        return "not_planted"
    if both["planted"].isna().all():
        return "none_planted"
    return "ok" if both["recovered"].notna().any() else "no_norms"


def _terms(
    one: Selected,
    entry: Entry[CalibrationOptions],
    both: pd.DataFrame,
    vignettes: pd.DataFrame,
    coefficients: Coefficients,
) -> pd.DataFrame:
    """Return the terms of both regressions with the planted coefficients; no rows if none was planted."""
    from cinorms.stats.clm import fit_clm  # not above: SciPy need not be loaded to load a study

    facts = (coefficients or {}).get("coefficients", [])
    truth = {(row["factor"], row["level"]): float(row["coefficient"]) for row in facts}
    factors = usual_factors(vignettes, entry.factors_of[one.arm])
    asked = entry.options.stated_baselines()
    parts = []
    for source in SOURCES if truth else ():
        used = set(factors) & set(asked)
        baselines = {
            f: asked[f] for f in used if asked[f] in set(both.loc[both[source].notna(), f].astype(str))
        }
        parts.append(_beside(fit_clm(both, source, factors, baselines), truth).assign(source=source))
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return table.reindex(columns=list(names(*_COEFFICIENTS)))


def _beside(fit: ClmFit, truth: Mapping[tuple[str, str], float]) -> pd.DataFrame:
    def planted(factor: str, level: str) -> float:
        # What a joint level of linked factors does is the sum of what its parts do.
        return sum(truth[part] for part in zip(factor.split(JOINT), level.split(JOINT), strict=True))

    table = fit.coefficients[
        ["factor", "level", "baseline", "estimate", "std_err", "conf_low", "conf_high", "status"]
    ]
    rows = zip(table["factor"], table["level"], table["baseline"], strict=True)
    table = table.assign(planted=[planted(f, level) - planted(f, base) for f, level, base in rows])
    within = (table["conf_low"] <= table["planted"]) & (table["planted"] <= table["conf_high"])
    has_interval = table["conf_low"].notna() & table["conf_high"].notna()
    return table.assign(
        difference=table["estimate"] - table["planted"], inside=within.astype("boolean").where(has_interval)
    )


_COEFFICIENTS = (
    Column("source", "Norms that the estimate uses: planted or recovered."),
    FACTOR,
    LEVEL,
    BASELINE,
    Column("planted", "The planted coefficient of the level minus that of the baseline, in logits."),
    Column("estimate", "Estimate of the planted coefficient."),
    STD_ERR,
    CONF_LOW,
    CONF_HIGH,
    Column("difference", "estimate minus planted, in logits."),
    Column("inside", "Whether the interval contains the planted coefficient."),
    Column(
        "status", "Status of the term; without a term, that of the fit or of the table of kind calibration."
    ),
)

KINDS = (
    Kind(
        name="calibration",
        about="Planted (known) norms and coefficients, compared with the recovered ones, per planted respondent.",
        options=CalibrationOptions,
        function=calibration,
        reads="norms",
        also=("vignettes", "planted", "coefficients"),
        report_section="calibration",
        key=("arm", "model"),
        columns=(
            *WHO,
            Column("flows", "Flows that the respondent answered."),
            Column("kept", "Flows with a recovered norm."),
            Column("same", "Of these, flows whose recovered norm is the planted one."),
            Column("share_same", "same as a share of the flows with both norms."),
            Column("mean_difference", "Mean of the recovered minus the planted norm, in levels."),
            Column("terms", "Coefficients with an interval from the recovered norms."),
            Column("inside", "Of terms, those whose interval contains the planted coefficient."),
            Column("coverage", "inside as a share of terms."),
            Column("terms_planted", "Coefficients with an interval from the planted norms."),
            Column(
                "inside_planted", "Of terms_planted, those whose interval contains the planted coefficient."
            ),
            Column("coverage_planted", "inside_planted as a share of terms_planted."),
            Column(
                "status",
                "ok, no_norms (no norm is recovered), none_planted (a control without norms) or not_planted (a model, "
                "not a planted respondent).",
            ),
        ),
    ),
    Kind(
        name="calibration_coefficients",
        about="Every planted coefficient next to its estimates.",
        options=CalibrationOptions,
        function=calibration_coefficients,
        reads="norms",
        also=("vignettes", "planted", "coefficients"),
        report_section="calibration",
        key=("arm", "model", "source", "factor", "level"),
        columns=(*WHO, *_COEFFICIENTS),
    ),
)
