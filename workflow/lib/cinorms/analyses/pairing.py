"""What is compared with what: models in an arm, or what differs in one attribute of model or arm."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from cinorms.analyses.options import Compares
from cinorms.analyses.shared import check_same_flows, check_same_scale
from cinorms.core.labels import model_labels
from cinorms.entries.entry import Entry, Selected
from cinorms.stats import hypotheses
from cinorms.study.attributes import ARM_ATTRIBUTES, DESCRIBED


@dataclass(frozen=True)
class Pair:
    """Two tables to compare, by their place in ``selected``, and the levels in which they differ."""

    a: int
    b: int
    level_a: str = ""
    level_b: str = ""

    def names(self, selected: Sequence[Selected], factor: str | None) -> dict[str, Any]:
        """Return the columns that name what is compared."""
        a, b = selected[self.a], selected[self.b]
        names = {"arm_a": a.arm, "model_a": a.model, "arm_b": b.arm, "model_b": b.model}
        if factor is None:
            return names
        return {"factor": factor} | names | {"level_a": self.level_a, "level_b": self.level_b}


def pairs_of(
    selected: Sequence[Selected], entry: Entry[Compares], vignettes: Mapping[str, pd.DataFrame]
) -> list[Pair]:
    """Return the pairs that an entry compares: all of each arm, or those that differ in its ``factor``."""
    if entry.options.factor is None:
        every = itertools.combinations(range(len(selected)), 2)
        return [Pair(a, b) for a, b in every if selected[a].arm == selected[b].arm]
    attributes = _attributes(selected, entry, entry.options.factor.split("+"))
    found = hypotheses.factor_pairs(attributes, entry.options.factor)
    pairs = [
        Pair(int(a), int(b), str(level_a), str(level_b))
        for a, level_a, b, level_b in found[["model_a", "level_a", "model_b", "level_b"]].to_numpy()
    ]
    for pair in pairs:
        arms = selected[pair.a].arm, selected[pair.b].arm
        check_same_scale(entry, arms)
        check_same_flows(entry, vignettes, *arms)
    return pairs


def groups_of(
    selected: Sequence[Selected], entry: Entry[Compares], vignettes: Mapping[str, pd.DataFrame]
) -> list[list[int]]:
    """Return the groups that a test over several models is made for.

    Without a ``factor`` the models of each arm; with one, what its pairs link: under ``temperature`` a model
    at every temperature, under ``capacity`` the sizes of a model that is otherwise the same.
    """
    if entry.options.factor is None:
        arms = dict.fromkeys(one.arm for one in selected)
        return [[i for i, one in enumerate(selected) if one.arm == arm] for arm in arms]
    group = {i: i for i in range(len(selected))}
    linked: set[int] = set()
    for pair in pairs_of(selected, entry, vignettes):
        old, new = sorted((group[pair.a], group[pair.b]), reverse=True)
        group = {i: new if found == old else found for i, found in group.items()}
        linked |= {pair.a, pair.b}
    return [
        [i for i in sorted(linked) if group[i] == number] for number in sorted({group[i] for i in linked})
    ]


def labels_of(selected: Sequence[Selected], group: Sequence[int]) -> list[str]:
    """Return a name for each of the group: the model, with its arm where there are several."""
    return model_labels([(selected[i].arm, selected[i].model) for i in group], "{model} ({arm})")


def side_by_side(selected: Sequence[Selected], entry: Entry[Any], group: Sequence[int]) -> pd.DataFrame:
    """Return the kept norms of the group, one column each, flows as rows."""
    names = labels_of(selected, group)
    frames = {name: selected[i].frame for name, i in zip(names, group, strict=True)}
    needed = {name: entry.thresholds[selected[i].model] for name, i in zip(names, group, strict=True)}
    return hypotheses.pair_norms(frames, needed)


def nothing_to_compare(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the table; if there is nothing to compare, one row with the reason.

    Where one of ``columns`` is missing they are put in front.
    """
    if table.empty:
        none = "no two of the selected models differ only in the compared attribute"
        table = pd.DataFrame([{"status": "one_model", "reason": none}])
    if not set(columns) <= set(table.columns):
        table = table.reindex(columns=list(dict.fromkeys([*columns, *table.columns])))
    return table


def _attributes(selected: Sequence[Selected], entry: Entry[Compares], varied: Sequence[str]) -> pd.DataFrame:
    """Return one row per table with its attributes: those that must agree, and the varied one."""
    across = [name for name in varied if name in ARM_ATTRIBUTES]
    held = [*ARM_ATTRIBUTES]
    if len(across) < len(varied):
        held += DESCRIBED
    if not across:
        held.append("arm")
    if len(across) == len(varied):
        held.append("model")
    rows = [
        {"scale": entry.scales[one.arm].name, **entry.conditions[one.arm], **entry.attributes[one.model]}
        | {"arm": one.arm, "model": one.model}
        for one in selected
    ]
    columns = list(dict.fromkeys([*held, *varied]))
    return pd.DataFrame(rows).reindex(columns=columns)
