"""Kinds ``calibration`` and ``calibration_coefficients``: what was planted against what was recovered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.analyses.factors import add_factors, usual_factors
from cinorms.analyses.shared import Entry, chosen, for_each, held
from cinorms.entries.kinds import Selected
from cinorms.stats.clm import ClmFit, fit_clm
from cinorms.vignettes.factors import JOINT, text

Planted = Mapping[tuple[str, str], pd.DataFrame]
Coefficients = Mapping[tuple[str, str], Mapping[str, Any]]

#: A regression of the norms that were planted, and one of the norms that were recovered.
SOURCES = ("planted", "recovered")


def calibration(
    selected: Sequence[Selected],
    entry: Entry,
    vignettes: Mapping[str, pd.DataFrame],
    planted: Planted,
    coefficients: Coefficients,
) -> pd.DataFrame:
    """Return, per planted respondent, how much of what was planted comes back.

    Columns: arm, model, flows, kept (norms recovered), same (of them equal to the planted one), share_same,
    mean_difference (recovered less planted, levels), and for the regressions of `calibration_coefficients`
    terms (with an interval), inside, coverage (the share of 95% intervals that hold the planted coefficient),
    of the norms recovered and, as ``*_planted``, of the norms that were planted; status (``ok``, ``no_norms``
    (recovered), ``none_planted``: a control that holds none, ``not_planted``: a model was asked).
    """

    def make(one: Selected) -> pd.DataFrame:
        both = _both(one, entry, vignettes, planted)
        row: dict[str, Any] = {"flows": len(both), "kept": int(both["recovered"].notna().sum())}
        row |= {"same": 0, "share_same": np.nan, "mean_difference": np.nan}
        pair = both[["recovered", "planted"]].dropna().astype("float64")
        if len(pair):
            difference = pair["recovered"] - pair["planted"]
            same = int((difference == 0).sum())
            row |= {"same": same, "share_same": same / len(pair), "mean_difference": difference.mean()}
        terms = _terms(one, entry, both, vignettes[one.arm], coefficients)
        for source, suffix in (("recovered", ""), ("planted", "_planted")):
            of = terms[(terms["source"] == source) & terms["inside"].notna()]
            row[f"terms{suffix}"] = len(of)
            row[f"inside{suffix}"] = int(of["inside"].sum())
            row[f"coverage{suffix}"] = float(of["inside"].mean()) if len(of) else np.nan
        return pd.DataFrame([row | {"status": _status(one, both, planted)}])

    return for_each(selected, make)


def calibration_coefficients(
    selected: Sequence[Selected],
    entry: Entry,
    vignettes: Mapping[str, pd.DataFrame],
    planted: Planted,
    coefficients: Coefficients,
) -> pd.DataFrame:
    """Return every planted coefficient beside its estimate, from the norms planted and from those recovered.

    Columns: arm, model, source (``planted``, ``recovered``), factor, level, baseline, planted, estimate,
    std_err, conf_low, conf_high, difference (estimate - planted, logits), inside (whether the interval holds
    it), status (of the term; of the fit or as of `calibration` where there is no term).
    """

    def make(one: Selected) -> pd.DataFrame:
        both = _both(one, entry, vignettes, planted)
        table = _terms(one, entry, both, vignettes[one.arm], coefficients)
        if table.empty:
            table = table.reindex([0]).assign(status=_status(one, both, planted))
        return table

    return for_each(selected, make)


def _both(
    one: Selected, entry: Entry, vignettes: Mapping[str, pd.DataFrame], planted: Planted
) -> pd.DataFrame:
    """Return flow, the factors, and the norms planted and recovered (missing where there is none)."""
    norms = chosen(one.frame, entry, vignettes[one.arm])
    frame = held(norms, entry, one.model).rename(columns={"value": "recovered"})
    frame["planted"] = pd.array([pd.NA] * len(frame), dtype="Int8")
    if (one.arm, one.model) in planted:
        levels = planted[one.arm, one.model].set_index("flow")["level"]
        frame["planted"] = levels.reindex(frame["flow"]).array
    return add_factors(frame, vignettes[one.arm], usual_factors(vignettes[one.arm], entry["design"][one.arm]))


def _status(one: Selected, both: pd.DataFrame, planted: Planted) -> str:
    if (one.arm, one.model) not in planted:
        return "not_planted"
    if both["planted"].isna().all():
        return "none_planted"
    return "ok" if both["recovered"].notna().any() else "no_norms"


def _terms(
    one: Selected, entry: Entry, both: pd.DataFrame, vignettes: pd.DataFrame, coefficients: Coefficients
) -> pd.DataFrame:
    """Return the terms of both regressions beside what was planted; no rows where no coefficient was."""
    facts = coefficients.get((one.arm, one.model), {}).get("coefficients", [])
    truth = {(row["factor"], row["level"]): float(row["coefficient"]) for row in facts}
    factors = usual_factors(vignettes, entry["design"][one.arm])
    asked = {name: text(level) for name, level in entry.get("baselines", {}).items()}
    parts = []
    for source in SOURCES if truth else ():
        used = set(factors) & set(asked)
        baselines = {
            f: asked[f] for f in used if asked[f] in set(both.loc[both[source].notna(), f].astype(str))
        }
        parts.append(_beside(fit_clm(both, source, factors, baselines), truth).assign(source=source))
    columns = [
        "source",
        "factor",
        "level",
        "baseline",
        "planted",
        "estimate",
        "std_err",
        "conf_low",
        "conf_high",
    ]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return table.reindex(columns=[*columns, "difference", "inside", "status"])


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
