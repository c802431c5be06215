"""What is compared with what, and what the engine alone changes: kind ``repeatability``, and the floor of contrasts.

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

from cinorms.analyses.columns import CONF_HIGH, CONF_LOW, STATUS, WHO, names
from cinorms.analyses.options import Compares, Generalises
from cinorms.analyses.shared import (
    Frames,
    check_same_flows,
    check_same_scale,
    for_each_model,
    held,
    on_flows_of,
)
from cinorms.core.labels import model_labels
from cinorms.core.tables import ANSWER_STATUSES
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfNorms
from cinorms.norms.assessment import assess, grid, level_matrix
from cinorms.stats import hypotheses
from cinorms.stats.repeats import Share, answers_differ, differing, highest, norms_differ, status_above
from cinorms.stats.wordings import template_numbers
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
_COUNTS = ("askings", "prompts", "replies", "failed", "answers", "flows", "norms")


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
    own = repeats.get((one.arm, one.model))
    if own is None:
        return None
    again = [view(level_matrix(answers)) for answers in answers_again(one, own)]
    cells = differing(view(level_matrix(one.frame)), again)
    return answers_differ(cells, templates, fixed_flows)


def of_norms(
    one: Selected,
    repeats: Repeats,
    entry: Entry[Any],
    view: View = lambda norms: norms,
) -> Share | None:
    """Return the share of a model's norms that differ when it is asked again; ``one`` has its norms."""
    own = repeats.get((one.arm, one.model))
    if own is None:
        return None
    again = [view(norms) for norms in norms_again(one, own, entry)]
    return norms_differ(differing(view(held_norms(one.frame, entry, one)), again))


def held_norms(norms: pd.DataFrame, entry: Entry[Any], one: Selected) -> pd.DataFrame:
    """Return the value of each flow's norm under the entry's thresholds, NaN without one, as a column."""
    value = held(norms, entry, one.model).set_index("flow")["value"]
    return value.to_frame().astype("Float64").astype("float64")


def norms_again(one: Selected, repeats: pd.DataFrame, entry: Entry[Any]) -> list[pd.DataFrame]:
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


def answers_again(one: Selected, repeats: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the answers of each further asking, in the flows of ``one``."""
    own = on_flows_of(one, repeats)
    return [own[own["repeat"] == repeat] for repeat in repeats["repeat"].unique()]


# --- Kind ``repeatability``: what differs when the same prompts are asked again, in other batches


class RepeatabilityOptions(Generalises, OfNorms):
    """Options of kind ``repeatability``."""


def repeatability(
    selected: Sequence[Selected],
    entry: Entry[RepeatabilityOptions],
    norms: Sequence[Selected],
    prompts: Frames,
    repeats: Repeats,
) -> pd.DataFrame:
    """Return what differs between the first asking of each model in each arm and the further ones."""
    table = _asked_again(selected, entry, norms=norms, prompts=prompts, repeats=repeats)
    counts = dict.fromkeys(_COUNTS, "Int64")  # whole numbers, also where an arm is asked once and has none
    return table.reindex(columns=list(names(*_REPEATABILITY))).astype(counts)


@for_each_model
def _asked_again(
    one: Selected,
    entry: Entry[RepeatabilityOptions],
    norms: pd.DataFrame,
    prompts: pd.DataFrame,
    repeats: pd.DataFrame | None,
) -> pd.DataFrame:
    if repeats is None:
        return pd.DataFrame([{"askings": 1, "prompts": len(one.frame), "status": "not_repeated"}])
    again = answers_again(one, repeats)
    drawn = (one.arm, one.model) in entry.drawn
    row: dict[str, Any] = {"what": "engine_and_sampling" if drawn else "engine"}
    row |= {"askings": 1 + len(again), "prompts": len(one.frame)}
    row |= _of_replies(pd.concat(again)) | _of_answers(one, again, entry, prompts)
    return pd.DataFrame([row | _of_norms(one._replace(frame=norms), repeats, entry)])


def _of_replies(table: pd.DataFrame) -> dict[str, Any]:
    same = table["same_reply"].dropna()
    return {
        "replies": len(same),
        "replies_differ": 1 - float(same.mean()) if len(same) else np.nan,
        "failed": int(table["same_reply"].isna().sum()),
    }


def _of_answers(
    one: Selected,
    again: Sequence[pd.DataFrame],
    entry: Entry[RepeatabilityOptions],
    prompts: pd.DataFrame,
) -> dict[str, Any]:
    cells = differing(level_matrix(one.frame), [level_matrix(each) for each in again])
    found = answers_differ(cells, template_numbers(prompts), entry.options.fixed_flows)
    codes = [_statuses(one.frame), *map(_statuses, again)]
    changed = differing(codes[0], codes[1:]).to_numpy()
    status = "no_answers" if not found.n else "one_template" if np.isnan(found.low) else "ok"
    return {
        "answers": found.n,
        "answers_differ": found.share,
        "conf_low": found.low,
        "conf_high": found.high,
        "statuses_differ": float(np.nanmean(changed)) if (~np.isnan(changed)).any() else np.nan,
        "status": status,
    }


def _statuses(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the number of each answer's status, flows x variants; NaN where the engine failed to reply."""
    code = answers["status"].map({name: i for i, name in enumerate(ANSWER_STATUSES)}).astype(np.float64)
    return grid(answers, code.where(answers["status"] != "error"))


def _of_norms(one: Selected, repeats: pd.DataFrame, entry: Entry[RepeatabilityOptions]) -> dict[str, Any]:
    first, again = held_norms(one.frame, entry, one), norms_again(one, repeats, entry)
    found = norms_differ(differing(first, again))
    holds = first.notna().astype(np.float64)
    only_one = differing(holds, [each.reindex_like(first).notna().astype(np.float64) for each in again])
    return {
        "flows": len(first),
        "norms": found.n,
        "norms_differ": found.share,
        "norms_low": found.low,
        "norms_high": found.high,
        "norms_in_one": float(only_one.to_numpy().mean()) if len(only_one) else np.nan,
    }


_REPEATABILITY = (
    *WHO,
    Column(
        "what",
        "What the numbers show. engine: at temperature 0 nothing is drawn, so what differs is from the engine alone; "
        "engine_and_sampling: above 0 every asking draws anew. Missing where the arm is asked once.",
    ),
    Column("askings", "How often the arm was asked. Every further asking is compared with the first."),
    Column("prompts", "Prompts of one asking."),
    Column(
        "replies", "Replies of the further askings that are compared: the engine failed in neither asking."
    ),
    Column("replies_differ", "Share of these that are not the first asking's, letter by letter."),
    Column(
        "failed", "Replies of the further askings that cannot be compared: the engine failed in one asking."
    ),
    Column("answers", "Prompts that were answered validly in the first and in a further asking."),
    Column(
        "answers_differ", "Share of the answers to these that are another level, over flows and templates."
    ),
    CONF_LOW._replace(about="Lower end of the 95% interval of answers_differ over other templates."),
    CONF_HIGH._replace(about="Upper end of the 95% interval of answers_differ over other templates."),
    Column(
        "statuses_differ",
        "Share of the replies that have another status, such as an answer in one asking and a refusal in the other.",
    ),
    Column("flows", "Flows that were asked about."),
    Column("norms", "Flows with a norm in the first and in a further asking, under the thresholds."),
    Column("norms_differ", "Share of these norms that are another level."),
    Column("norms_low", "Lower end of Wilson's 95% interval of norms_differ, over flows."),
    Column("norms_high", "Upper end of Wilson's 95% interval of norms_differ, over flows."),
    Column("norms_in_one", "Share of the flows that hold a norm in one asking only."),
    STATUS._replace(
        about="ok, or why numbers are missing: not_repeated (the arm is asked once), no_answers (none is valid in two "
        "askings), one_template (no interval)."
    ),
)

KINDS = (
    Kind(
        name="repeatability",
        about="What the engine alone changes: replies, answers and norms that differ when an arm is asked again.",
        options=RepeatabilityOptions,
        function=repeatability,
        reads="answers",
        also=("norms", "prompts", "repeats"),
        report_section="reliability",
        key=("arm", "model"),
        columns=_REPEATABILITY,
        shown=(
            *("arm", "model", "what", "askings", "prompts", "replies_differ", "answers_differ", "conf_low"),
            *("conf_high", "norms", "norms_differ", "norms_in_one", "status"),
        ),
    ),
)
