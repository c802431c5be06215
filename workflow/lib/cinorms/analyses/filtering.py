"""Kinds on what the multi-prompt assessment removes: Tables 2 and 3, who is discarded, the minority."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from cinorms.analyses.factors import add_factors, usual_factors
from cinorms.analyses.shared import Entry, chosen_each, for_each, grid, held, thresholds
from cinorms.entries.kinds import Selected
from cinorms.norms.assessment import Majority
from cinorms.stats import survivorship

_MEASURES = ("n_minority", "share", "variance", "deviation", "max_deviation")


def discarded(selected: Sequence[Selected], entry: Entry) -> pd.DataFrame:
    """Return `survivorship.discarded` of every model under all thresholds of the study (PETS Table 2)."""
    return for_each(selected, lambda one: survivorship.discarded(one.frame, grid(entry)))


def lost(selected: Sequence[Selected], entry: Entry) -> pd.DataFrame:
    """Return `survivorship.lost` of every model, for every two majority thresholds (PETS Table 3)."""
    steps: list[tuple[Majority, Majority]] = list(itertools.combinations(entry["t_majs"], 2))
    return for_each(
        selected,
        lambda one: survivorship.lost(one.frame, entry["t_val"][one.model], steps, entry["consensus"]),
    )


def discarded_levels(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return `survivorship.by_level` of every model, with t_val and t_maj."""
    return _by_factor(selected, entry, vignettes, survivorship.by_level)


def discarded_association(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return `survivorship.association` of every model, with t_val and t_maj."""
    return _by_factor(selected, entry, vignettes, survivorship.association)


def minority_of_norms(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return how the answers outside the norm deviate, over the flows that hold one (PETS Figure 6).

    Columns: arm, model, measure (of `survivorship.minority`), flows (that hold a norm), n (of them with a
    minority, which all but n_minority and share are about), mean, q25, median, q75, max, unanimous,
    single_dissent (flows), status (``ok``, ``no_norms``, ``no_minority``).
    """
    return for_each(chosen_each(selected, entry, vignettes), lambda one: _minority(one, entry))


def _minority(one: Selected, entry: Entry) -> pd.DataFrame:
    norms = one.frame[held(one.frame, entry, one.model)["value"].notna().to_numpy()]
    found = survivorship.minority(norms)
    some = found[found["status"] == "ok"]
    rows = []
    for measure in _MEASURES:
        of = (found if measure in ("n_minority", "share") else some)[measure].astype("float64")
        quantiles = of.quantile([0.25, 0.5, 0.75])
        status = "no_norms" if found.empty else ("no_minority" if of.empty else "ok")
        rows.append((measure, len(found), len(of), of.mean(), *quantiles, of.max(), status))
    table = pd.DataFrame(
        rows, columns=["measure", "flows", "n", "mean", "q25", "median", "q75", "max", "status"]
    )
    table.insert(8, "unanimous", int((found["status"] == "unanimous").sum()))
    table.insert(9, "single_dissent", int(found["single_dissent"].sum()))
    return table


def _by_factor(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame], make: Any
) -> pd.DataFrame:
    def of(one: Selected) -> pd.DataFrame:
        factors = entry.get("factors") or usual_factors(vignettes[one.arm], entry["design"][one.arm])
        needed = thresholds(entry, one.model)
        with_joint = add_factors(vignettes[one.arm][["flow"]], vignettes[one.arm], factors)
        table: pd.DataFrame = make(one.frame, with_joint, factors, needed)
        return table.assign(t_val=needed.t_val, t_maj=str(needed.t_maj))

    return for_each(chosen_each(selected, entry, vignettes), of)
