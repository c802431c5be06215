"""Kinds on how many wordings are enough: intervals of norms, their stability, and the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from cinorms.analyses.shared import Entry, chosen, chosen_each, for_each, held
from cinorms.entries.kinds import Selected
from cinorms.norms.assessment import level_matrix
from cinorms.stats import bootstrap, budget, reliability

#: Numbers of variants at which the budget is shown, if fewer than were asked.
KS = (1, 2, 3, 5, 9, 15, 22, 33, 55)
#: A norm that comes out the same in fewer draws of the wordings is called unstable.
STABLE = 0.95


def norm_intervals(
    selected: Sequence[Selected],
    entry: Entry,
    norms: Sequence[Selected],
    vignettes: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Return an interval of the mean level and the stability of the norm for every flow.

    Columns: arm, model, flow, value (missing: no norm is held), norm_status, then as
    `bootstrap.flow_intervals`.
    """
    of = {(one.arm, one.model): one.frame for one in norms}

    def make(one: Selected) -> pd.DataFrame:
        frame = chosen(of[one.arm, one.model], entry, vignettes[one.arm])
        values = held(frame, entry, one.model)
        values["norm_status"] = np.where(values["value"].notna(), "kept", "none")
        found = bootstrap.flow_intervals(level_matrix(one.frame), entry["seed"], entry.get("draws", 1000))
        found = found.rename(columns={"low": "conf_low", "high": "conf_high"})
        return values.merge(found, on="flow", validate="one_to_one")

    return for_each(chosen_each(selected, entry, vignettes), make)


def stability(
    selected: Sequence[Selected],
    entry: Entry,
    norms: Sequence[Selected],
    vignettes: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Return, per model, how many of its norms would come out the same in other wordings.

    Columns: arm, model, flows, norms, mean_stability, share_stable (of the norms with a stability of at least
    0.95), mean_width (of the flows' intervals, levels), status (``ok``, ``no_norms``, ``one_variant``).
    """
    whole = norm_intervals(selected, entry, norms, vignettes)

    def make(one: Selected) -> pd.DataFrame:
        rows = whole[(whole["arm"] == one.arm) & (whole["model"] == one.model)]
        kept = rows[rows["norm_status"] == "kept"]
        judged = kept["stability"].dropna()
        status = "no_norms" if kept.empty else ("one_variant" if judged.empty else "ok")
        row: dict[str, float] = {"flows": len(rows), "norms": len(kept)}
        row |= {
            "mean_stability": judged.mean(),
            "share_stable": (judged >= STABLE).mean() if len(judged) else np.nan,
        }
        width = (kept["conf_high"] - kept["conf_low"]).mean()
        return pd.DataFrame([row | {"mean_width": width, "status": status}])

    return for_each(selected, make)


def budget_curve(selected: Sequence[Selected], entry: Entry) -> pd.DataFrame:
    """Return the predicted and the observed error of a flow's mean over k variants against that over all.

    Columns: arm, model, k, of (variants asked), n_flows, predicted, observed (root mean square, levels),
    predicted_any (against all variants that could be written), status.
    """

    def make(one: Selected) -> pd.DataFrame:
        levels = level_matrix(one.frame)
        of = levels.shape[1]
        ks = [k for k in KS if k < of] or [1]
        table = budget.predicted(levels, ks, of).rename(columns={"rmse": "predicted"})
        table["observed"] = budget.observed(levels, ks, entry["seed"])["rmse"]
        table["predicted_any"] = budget.predicted(levels, ks)["rmse"]
        table.insert(1, "of", of)
        return table[["k", "of", "n_flows", "predicted", "observed", "predicted_any", "status"]]

    return for_each(selected, make)


def budget_needed(selected: Sequence[Selected], entry: Entry) -> pd.DataFrame:
    """Return how many variants give a flow's mean each target standard error.

    Columns: arm, model, target_se (levels), then as `budget.needed`.
    """

    def make(one: Selected) -> pd.DataFrame:
        levels = level_matrix(one.frame)
        parts = [
            budget.needed(levels, se).assign(target_se=se) for se in entry.get("target_se", [0.1, 0.2, 0.3])
        ]
        table = pd.concat(parts, ignore_index=True)
        return table[["target_se", *[c for c in table if c != "target_se"]]]

    return for_each(selected, make)


def budget_design(
    selected: Sequence[Selected], entry: Entry, prompts: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return the standard error of a flow's mean by numbers of templates and orders: `budget.design_grid`."""

    def make(one: Selected) -> pd.DataFrame:
        shares = reliability.variance_shares(level_matrix(one.frame), prompts[one.arm])
        return budget.design_grid(
            shares, entry.get("templates", [1, 3, 5, 11, 22]), entry.get("orders", [1, 3, 5])
        )

    return for_each(selected, make)
