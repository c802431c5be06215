"""Agreement: how far models, or one model's arms, hold the same norms."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import PAIR, PAIR_NAMES, usual
from cinorms.analyses.comparing import FLOOR, Repeats, contrasts_of_norms, or_one_model, side_by_side
from cinorms.analyses.options import ComparesNorms
from cinorms.analyses.shared import EntryPlace, Frames, named, stack
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names, OfNorms
from cinorms.stats import agreement

Members = Annotated[Names, Field(description="Models of this set.")]


class AgreementSetsOptions(OfNorms):
    """Options of kind ``agreement_sets``."""

    sets: LeftOut[Annotated[dict[str, Members], Field(min_length=1)]] = None
    """Sets of models, by name; default: one set of all models of the arm."""

    def check(self, place: EntryPlace) -> None:
        """Look up the models of every set."""
        super().check(place)
        for label, members in (self.sets or {}).items():
            place.check_names(f"sets.{label}", members, place.models(self), "model of this analysis")


def agreement_pairs(
    selected: Sequence[Selected], entry: Entry[ComparesNorms], vignettes: Frames, repeats: Repeats
) -> pd.DataFrame:
    """Return how often each pair holds the same norm."""
    parts = []
    for contrast, paired, above in contrasts_of_norms(selected, entry, vignettes, repeats):
        table = agreement.pairs(paired.astype("float64")).drop(columns=["model_a", "model_b"])
        parts.append(named(table.assign(**above), contrast.names))
    return or_one_model(stack(parts), entry)


def agreement_sets(selected: Sequence[Selected], entry: Entry[AgreementSetsOptions]) -> pd.DataFrame:
    """Return on how many flows each set of models holds the same norm; the set "all" without sets."""
    parts = []
    for arm, group in itertools.groupby(selected, key=lambda one: one.arm):
        values = side_by_side(list(group), entry).astype("float64")
        sets: Mapping[str, Sequence[str]] = entry.options.sets or {"all": list(values.columns)}
        parts.append(named(agreement.common(values, sets, entry.scales[arm].middle), {"arm": arm}))
    return stack(parts)


KINDS = (
    Kind(
        name="agreement_pairs",
        about="How often each pair of models holds the same norm.",
        function=agreement_pairs,
        reads="norms",
        report_section="agreement",
        key=PAIR_NAMES,
        columns={
            **PAIR,
            "n_flows": "Flows for which both sides hold a norm.",
            "agreement": "Share of these flows on which both norms are the same.",
            "kappa_linear": "Cohen's kappa with linear weights.",
            "kappa_quadratic": "Cohen's kappa with quadratic weights.",
            "mean_difference": "Mean of the first side minus the second, in levels.",
            "status": "ok, no_flows, no_variance (both hold the same single level on all flows), or one_model.",
            **FLOOR,
            "reason": "Why there is nothing to compare; only in tables without a comparison.",
        },
    ),
    Kind(
        name="agreement_sets",
        about="On how many flows a set of models holds the same norm.",
        function=agreement_sets,
        reads="norms",
        report_section="agreement",
        key=("arm", "set"),
        columns={
            **usual("arm"),
            "set": "Name of the set; all if the analysis names none.",
            "models": "Models in the set.",
            "flows": "Flows that any model of the arm was asked about.",
            "n_all": "Flows for which every model of the set holds a norm.",
            "n_same": "Of n_all, flows with the same norm for all models.",
            "n_same_sign": "Of n_all, flows with all norms above neutral, all below, or all neutral.",
            "share_same": "n_same as a share of n_all.",
            "share_same_sign": "n_same_sign as a share of n_all.",
            "status": "ok, one_model (the set has one) or no_flows (n_all is 0).",
        },
    ),
)
