"""What is compared with what, and what differs between two askings of one model in one arm, from the engine alone.

A contrast compares two sides: models in an arm, or what differs in one attribute of model or arm. Each side may have
been asked again (``repeat`` of its arm). Where the two sides differ in no larger share of what they gave than two
askings of one of them, the engine alone may be the reason: that is the floor of the contrast.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from cinorms.analyses.options import Compares
from cinorms.analyses.shared import Frames, check_same_flows, check_same_scale, held, on_flows_of
from cinorms.core.labels import model_labels
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column
from cinorms.norms.assessment import assess, level_matrix
from cinorms.stats import hypotheses
from cinorms.stats.repeats import Share, answers_differ, differing, highest, norms_differ, status_above
from cinorms.study.attributes import ARM_ATTRIBUTES, DESCRIBED

#: What the further askings of each model and arm gave (`tables.REPEATS`); none for those that were asked once.
Repeats: TypeAlias = Mapping[tuple[str, str], pd.DataFrame]
#: What is looked at of levels, such as their side of the scale.
View: TypeAlias = Callable[[pd.DataFrame], pd.DataFrame]

FLOOR = (
    Column(
        "differ",
        "Share of what is compared that differs between the two sides: norms of flows in which both hold one, or "
        "answers to prompts that both answered validly.",
    ),
    Column(
        "engine_differ",
        "The same share between two askings of one side, from the engine alone (and from sampling where the "
        "temperature is above 0): the larger of both sides; missing where neither was asked again.",
    ),
    Column("engine_high", "Upper end of the 95% interval of engine_differ; missing where there is none."),
    Column(
        "engine_status",
        "above: differ is above engine_high; not_above: it is not, so the engine alone may be the reason; "
        "one_side_repeated: it is above that of the side that was asked again, the other's is not known; "
        "not_repeated: neither arm was asked again (repeat: 1); nothing_compared: the sides have nothing in common.",
    ),
)
#: The columns that a page shows.
FLOOR_SHOWN = ("differ", "engine_differ", "engine_status")


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


def pairs_of(selected: Sequence[Selected], entry: Entry[Compares], vignettes: Frames) -> list[Pair]:
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


def groups_of(selected: Sequence[Selected], entry: Entry[Compares], vignettes: Frames) -> list[list[int]]:
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


# --- The floor of a contrast


def of_answers(
    one: Selected,
    repeats: Repeats,
    templates: pd.Series[Any],
    fixed_flows: bool,
    view: View = lambda levels: levels,
) -> Share | None:
    """Return the share of a model's answers that differ when it is asked again; None if it was not."""
    if (one.arm, one.model) not in repeats:
        return None
    again = [view(level_matrix(answers)) for answers in answers_again(one, repeats)]
    cells = differing(view(level_matrix(one.frame)), again)
    return answers_differ(cells, templates, fixed_flows)


def of_norms(
    one: Selected,
    repeats: Repeats,
    entry: Entry[Any],
    view: View = lambda norms: norms,
) -> Share | None:
    """Return the share of a model's norms that differ when it is asked again; ``one`` has its norms."""
    if (one.arm, one.model) not in repeats:
        return None
    again = [view(each) for each in norms_again(one, repeats, entry)]
    return norms_differ(differing(view(held_norms(one.frame, entry, one)), again))


def held_norms(norms: pd.DataFrame, entry: Entry[Any], one: Selected) -> pd.DataFrame:
    """Return the value of each flow's norm under the entry's thresholds, NaN without one, as a column."""
    value = held(norms, entry, one.model).set_index("flow")["value"]
    return value.to_frame().astype("Float64").astype("float64")


def norms_again(one: Selected, repeats: Repeats, entry: Entry[Any]) -> list[pd.DataFrame]:
    """Return `held_norms` of each further asking, in the flows of ``one``."""
    consensus = entry.thresholds[one.model].consensus
    found = []
    for answers in answers_again(one, repeats):
        norms = assess(answers, consensus, entry.scales[one.arm])
        found.append(held_norms(norms, entry, one))
    return found


def between_answers(a: pd.DataFrame, b: pd.DataFrame) -> Share:
    """Return the share of the values that differ between two matrices, flows x variants, where both have one."""
    flows, variants = a.index.intersection(b.index), a.columns.intersection(b.columns)
    x, y = (each.loc[flows, variants].to_numpy(dtype=np.float64) for each in (a, b))
    both = ~np.isnan(x) & ~np.isnan(y)
    n = int(both.sum())
    return Share(float((x != y)[both].mean()) if n else np.nan, np.nan, np.nan, n)


def between_norms(paired: pd.DataFrame) -> Share:
    """Return the share of the norms that differ between the two columns of ``paired``, in flows with both."""
    values = paired.astype("Float64").astype("float64")
    return between_answers(*(values.iloc[:, [i]].set_axis(["value"], axis=1) for i in (0, 1)))


def floor(between: Share, a: Share | None, b: Share | None) -> dict[str, Any]:
    """Return the columns of `FLOOR`."""
    known = [each for each in (a, b) if each is not None and each.n]
    most = highest(known) if known else Share(np.nan, np.nan, np.nan, 0)
    return {
        "differ": between.share,
        "engine_differ": most.share,
        "engine_high": most.high,
        "engine_status": status_above(between, (a, b)),
    }


def answers_again(one: Selected, repeats: Repeats) -> list[pd.DataFrame]:
    """Return the answers of each further asking, in the flows of ``one``."""
    table = repeats[one.arm, one.model]
    own = on_flows_of(one, table)
    return [own[own["repeat"] == repeat] for repeat in table["repeat"].unique()]
