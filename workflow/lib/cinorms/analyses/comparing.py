"""What is compared with what, and whose norms agree.

A contrast compares two sides: models in an arm, or what differs in one attribute of model or arm. Two arms that differ
in their ``sample`` alone show what the engine changes by itself.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import PAIR, PAIR_NAMES, usual
from cinorms.analyses.options import Compares, ComparesNorms
from cinorms.analyses.shared import (
    Frames,
    check_same_flows,
    check_same_scale,
    named,
    stack,
)
from cinorms.core.labels import model_labels
from cinorms.core.schema import NotRequired
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import ARM_ATTRIBUTES, DESCRIBED, Names, OfNorms
from cinorms.entries.place import EntryLocation
from cinorms.norms.assessment import level_matrix
from cinorms.stats import agreement, hypotheses
from cinorms.stats.wordings import level_counts, template_numbers

DIFFER = {
    "differ": "Share of what is compared that differs between the two sides: norms of flows in which both "
    "hold one, or answers to prompts that both answered validly.",
}
#: The columns of `agreement.pairs` on two sides.
AGREEMENT = {
    "n_flows": "Flows for which both sides hold a norm.",
    "agreement": "Share of these flows on which both norms are the same.",
    "kappa_linear": "Cohen's kappa with linear weights.",
    "kappa_quadratic": "Cohen's kappa with quadratic weights.",
    "mean_difference": "Mean of the first side minus the second, in levels.",
}


class Contrast(NamedTuple):
    """Two tables to compare; where the entry names a ``factor``, the levels in which they differ."""

    a: Selected
    b: Selected
    levels: Mapping[str, str] = MappingProxyType({})

    @property
    def names(self) -> dict[str, str]:
        """The columns that name what is compared."""
        a, b = self.a, self.b
        return {"arm_a": a.arm, "model_a": a.model, "arm_b": b.arm, "model_b": b.model, **self.levels}


def contrasts(selected: Sequence[Selected], entry: Entry[Compares], vignettes: Frames) -> list[Contrast]:
    """Return what an entry compares: every two models of each arm, or those that differ in its ``factor``."""
    factor = entry.options.factor
    if factor is None:
        return [Contrast(a, b) for a, b in itertools.combinations(selected, 2) if a.arm == b.arm]
    varied = factor.split("+")
    of_arms = [name in ARM_ATTRIBUTES for name in varied]
    same = [*ARM_ATTRIBUTES, *(["model"] if all(of_arms) else DESCRIBED), *([] if any(of_arms) else ["arm"])]
    rows = [
        {"scale": entry.scales[one.arm].name, **entry.conditions[one.arm], **entry.attributes[one.model]}
        | {"arm": one.arm, "model": one.model}
        for one in selected
    ]
    attributes = pd.DataFrame(rows).reindex(columns=list(dict.fromkeys([*same, *varied])))
    made = []
    for row in hypotheses.factor_pairs(attributes, factor).to_dict("records"):
        a, b = selected[row["model_a"]], selected[row["model_b"]]
        check_same_scale(entry, (a.arm, b.arm))
        check_same_flows(entry, vignettes, a.arm, b.arm)
        levels = {"factor": factor, "level_a": str(row["level_a"]), "level_b": str(row["level_b"])}
        made.append(Contrast(a, b, levels))
    return made


def contrasts_of_norms(
    selected: Sequence[Selected], entry: Entry[Any], vignettes: Frames
) -> Iterator[tuple[Contrast, pd.DataFrame, dict[str, Any]]]:
    """Yield each contrast, its norms side by side, and the column of `DIFFER`."""
    for contrast in contrasts(selected, entry, vignettes):
        paired = side_by_side([contrast.a, contrast.b], entry)
        values = paired.astype("Float64").astype("float64")
        columns = (values.iloc[:, [side]].set_axis(["value"], axis=1) for side in (0, 1))
        yield contrast, paired, differing(*columns)


def groups_of(
    selected: Sequence[Selected], entry: Entry[Compares], vignettes: Frames
) -> list[list[Selected]]:
    """Return the groups that a test over several models is made for.

    Without a ``factor`` the models of each arm; with one, what its contrasts link: under ``temperature`` a model
    at every temperature, under ``capacity`` the sizes of a model that is otherwise the same.
    """
    if entry.options.factor is None:
        return [list(group) for _, group in itertools.groupby(selected, key=lambda one: one.arm)]
    group = {one.pair: i for i, one in enumerate(selected)}
    linked = set()
    for contrast in contrasts(selected, entry, vignettes):
        pairs = {contrast.a.pair, contrast.b.pair}
        old, new = sorted((group[pair] for pair in pairs), reverse=True)
        group = {pair: new if number == old else number for pair, number in group.items()}
        linked |= pairs
    numbers = sorted({group[pair] for pair in linked})
    return [[one for one in selected if group[one.pair] == number] for number in numbers]


def labels_of(group: Sequence[Selected]) -> list[str]:
    """Return a name for each of the group: the model, with its arm where there are several."""
    return model_labels([one.pair for one in group], "{model} ({arm})")


def side_by_side(group: Sequence[Selected], entry: Entry[Any]) -> pd.DataFrame:
    """Return the kept norms of the group, one column each, flows as rows."""
    who = dict(zip(labels_of(group), group, strict=True))
    needed = {name: entry.thresholds[one.model] for name, one in who.items()}
    return hypotheses.pair_norms({name: one.frame for name, one in who.items()}, needed)


def or_one_model(table: pd.DataFrame, entry: Entry[Any]) -> pd.DataFrame:
    """Return the table; if there is nothing to compare, one row that says so."""
    if len(table):
        return table
    none = "no two of the selected models differ only in the compared attribute"
    row = dict.fromkeys(entry.declared.columns, np.nan) | {"status": "one_model", "reason": none}
    return pd.DataFrame([row])


def differing(a: pd.DataFrame, b: pd.DataFrame) -> dict[str, Any]:
    """Return the column of `DIFFER` for two matrices, flows x variants: of the values that both have."""
    flows, variants = a.index.intersection(b.index), a.columns.intersection(b.columns)
    x, y = (each.loc[flows, variants].to_numpy(dtype=np.float64) for each in (a, b))
    both = ~np.isnan(x) & ~np.isnan(y)
    return {"differ": float((x != y)[both].mean()) if both.any() else np.nan}


# --- How far models, or one model's arms, hold the same norms

Members = Annotated[Names, Field(description="Models of this set.")]


class AgreementSetsOptions(OfNorms):
    """Options of kind ``agreement_sets``."""

    sets: NotRequired[Annotated[dict[str, Members], Field(min_length=1)]] = None
    """Sets of models, by name; default: one set of all models of the arm."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the models of every set."""
        super().check_options(place)
        for label, members in (self.sets or {}).items():
            place.check_names(f"sets.{label}", members, place.models(self), "model of this analysis")


def agreement_pairs(
    selected: Sequence[Selected],
    entry: Entry[ComparesNorms],
    vignettes: Frames,
    answers: Sequence[Selected],
    prompts: Frames,
) -> pd.DataFrame:
    """Return how often each pair holds the same norm, next to the same model reworded."""
    own, opposed = {}, {}
    for one in answers:
        scale = entry.scales[one.arm]
        counts = level_counts(level_matrix(one.frame), template_numbers(prompts[one.arm]), scale)
        halves = agreement.halves(counts, entry.thresholds[one.model], scale.binned.levels)
        own[one.pair] = agreement.pairs(halves).loc[0, ["agreement", "kappa_quadratic"]].to_numpy(float)
        opposed[one.pair] = agreement.opposed(halves, scale.binned.middle)
    parts = []
    for contrast, paired, differ in contrasts_of_norms(selected, entry, vignettes):
        values, middle = paired.astype("float64"), entry.scales[contrast.a.arm].binned.middle
        table = agreement.pairs(values).drop(columns=["model_a", "model_b"])
        differ |= {"opposed": agreement.opposed(values, middle)}
        differ |= {
            f"opposed_{side}": opposed[one.pair] for side, one in (("a", contrast.a), ("b", contrast.b))
        }
        reworded = np.mean([own[contrast.a.pair], own[contrast.b.pair]], axis=0)
        differ |= dict(zip(("agreement_reworded", "kappa_reworded"), reworded, strict=True))
        parts.append(named(table.assign(**differ), contrast.names))
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
            **AGREEMENT,
            "agreement_reworded": "The agreement of one half of a model's wordings (or raters) with the other, mean of "
            "ten cuts and both sides: what other wordings alone change. Missing with fewer than four.",
            "kappa_reworded": "Cohen's kappa with quadratic weights of such halves.",
            "opposed": "Share of n_flows on which the two norms are on opposite sides of the scale (neutral is on "
            "neither); missing without flows.",
            "opposed_a": "The same share between halves of the wordings (or raters) of the first side, of the flows on "
            "which both hold a norm, over ten cuts. Missing with fewer than four.",
            "opposed_b": "The same of the second side.",
            "status": "ok, no_flows, no_variance (both hold the same single level on all flows), or one_model.",
            **DIFFER,
            "reason": "Why there is nothing to compare; only in tables without a comparison.",
        },
        always=True,
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
