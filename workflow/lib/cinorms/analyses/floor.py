"""The floor of a contrast: what differs between two askings of one model in one arm, from the engine alone.

A contrast compares two sides. Each side may have been asked again (``repeat`` of its arm). Where the two sides differ
in no larger share of what they gave than two askings of one of them, the engine alone may be the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from cinorms.analyses.shared import held, on_flows_of
from cinorms.entries.entry import Entry, Pair, Selected
from cinorms.entries.kind import Column
from cinorms.norms.assessment import assess, level_matrix
from cinorms.stats.repeats import Share, answers_differ, differing, highest, norms_differ, status_above

#: What the further askings of each model and arm gave (`stage_tables.REPEATS`); none for those that were asked once.
Repeats: TypeAlias = Mapping[Pair, pd.DataFrame]
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
