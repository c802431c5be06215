"""Kinds on how good the answers are: reliability, position effects, missing answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from cinorms.analyses.factors import add_factors, usual_factors
from cinorms.analyses.shared import chosen_each, for_each, named, stack
from cinorms.entries.entry import Entry, Selected
from cinorms.stats import missing, reliability


def reliability_of_models(
    selected: Sequence[Selected], entry: Entry, norms: Sequence[Selected], prompts: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return `reliability.panel` of every model: alpha, split halves, shares of variance, orders."""
    of = {(one.arm, one.model): one.frame for one in norms}
    return for_each(
        selected,
        lambda one: reliability.panel(one.frame, of[one.arm, one.model], prompts[one.arm], entry["seed"]),
    )


def position_effects(selected: Sequence[Selected], entry: Entry) -> pd.DataFrame:
    """Return `reliability.position_effects` of every model."""
    return for_each(selected, lambda one: reliability.position_effects(one.frame))


def missing_answers(
    selected: Sequence[Selected], entry: Entry, prompts: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return how many answers are missing, by status, template, order and variant.

    Columns: arm, model, by (``status``, ``template_no``, ``order_no``, ``variant``), level (which), n
    (missing answers), of (answers asked), share (n / of).
    """

    def make(one: Selected) -> pd.DataFrame:
        status = missing.by_status(one.frame).rename(columns={"status": "level"})
        status = status[(status["level"] != "ok") & ((status["level"] != "invalid") | (status["n"] > 0))]
        variant = missing.by_variant(one.frame, prompts[one.arm])
        variant["n"] = variant["n_asked"] - variant["n_valid"]
        variant["share"] = variant["n"] / variant["n_asked"]
        variant = variant.rename(columns={"n_asked": "of"})
        status = status.assign(by="status", of=len(one.frame))
        return stack([part[["by", "level", "n", "of", "share"]] for part in (status, variant)])

    return for_each(selected, make)


def missing_bounds(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return worst-case bounds on the mean level, over all flows and at each level of each factor.

    Columns: arm, model, factor (``all``: over all flows), level, then as `missing.mean_bounds`.
    """

    def make(one: Selected) -> pd.DataFrame:
        factors = entry.get("factors") or usual_factors(vignettes[one.arm], entry["design"][one.arm])
        frame = add_factors(one.frame, vignettes[one.arm], factors)
        parts = [named(missing.mean_bounds(frame), {"factor": "all"})]
        parts += [named(missing.mean_bounds(frame, frame[name]), {"factor": name}) for name in factors]
        return stack(parts).rename(columns={"group": "level"})

    return for_each(chosen_each(selected, entry, vignettes), make)
