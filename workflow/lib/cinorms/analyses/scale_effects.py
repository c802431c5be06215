"""Kind on what a model says on one scale and on another, such as without a neutral option.

Levels of different scales cannot be compared, but sides can: which share of the answers, and which norms, are on the
upper side, on the lower side, or at the midpoint. Means are compared as a share of the way from the lowest level to the
highest.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.analyses.columns import CONF_HIGH, CONF_LOW, MODEL, STATUS
from cinorms.analyses.comparing import FLOOR, Repeats, between_answers, floor, of_answers, of_norms
from cinorms.analyses.shared import Frames, by_pair, held
from cinorms.core.scales import Scale
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfNorms
from cinorms.norms.assessment import grid, level_matrix
from cinorms.stats.repeats import Share
from cinorms.stats.wordings import FEWEST, mean_interval, template_means, template_numbers

Floats: TypeAlias = npt.NDArray[np.float64]

#: What is measured of every answer, and in words.
OF_ANSWERS = {
    "upper": "valid answers on the upper side",
    "middle": "valid answers at the midpoint",
    "lower": "valid answers on the lower side",
    "valid": "answers that are valid",
    "place": "mean place of the valid answers, from 0 (lowest level) to 1 (highest)",
}
#: What becomes of the flows whose norm under the first scale is on some side: none where they have no norm.
BECOMES = ("upper", "middle", "lower", "none")


class OnScale(NamedTuple):
    """One model in one arm: its norms, the template of each variant, the scale, and its answers.

    ``levels`` are the levels of its answers, and ``asked`` says where there is an answer: flows x variants. ``engine``
    has what differs when it is asked again: whether answers are valid, their sides, and those of norms.
    """

    levels: pd.DataFrame
    asked: npt.NDArray[np.bool_]
    norms: pd.DataFrame
    templates: pd.Series[Any]
    scale: Scale
    engine: dict[str, Share | None]


def scale_effects(
    selected: Sequence[Selected],
    entry: Entry[OfNorms],
    norms: Sequence[Selected],
    prompts: Frames,
    repeats: Repeats,
) -> pd.DataFrame:
    """Return, for every two arms of a model with different scales, what differs between them."""
    norms_of = by_pair(norms)
    sides: dict[str, dict[str, OnScale]] = {}
    for one in selected:
        of_arm = norms_of[one.arm, one.model]
        scale, templates = entry.scales[one.arm], template_numbers(prompts[one.arm])
        levels = level_matrix(one.frame).sort_index()
        asked = _asked(one.frame, levels)
        again = {
            "valid": of_answers(one, repeats, templates, True, _valid),
            "answers": of_answers(one, repeats, templates, True, partial(_sides, scale)),
            "norms": of_norms(one._replace(frame=of_arm), repeats, entry, partial(_sides, scale.binned)),
        }
        found = OnScale(levels, asked, held(of_arm, entry, one.model), templates, scale, again)
        sides.setdefault(one.model, {})[one.arm] = found
    rows: list[dict[str, Any]] = []
    for model, arms in sides.items():
        for a, b in itertools.combinations(arms, 2):
            if arms[a].scale != arms[b].scale and _same_flows(entry, a, b):
                names = {"model": model, "arm_a": a, "scale_a": arms[a].scale.name}
                names |= {"arm_b": b, "scale_b": arms[b].scale.name}
                rows += [
                    names | row for row in (*_of_answers(arms[a], arms[b]), *_of_norms(arms[a], arms[b]))
                ]
    if not rows:
        rows = [{"status": "one_scale"}]
    return pd.DataFrame(rows).reindex(columns=[column.name for column in COLUMNS])


def _same_flows(entry: Entry[OfNorms], a: str, b: str) -> bool:
    return entry.factors_of[a].dataset == entry.factors_of[b].dataset


def _of_answers(a: OnScale, b: OnScale) -> list[dict[str, Any]]:
    """Return each measure of the answers under both scales, with an interval of the difference over templates."""
    rows = []
    floors = {
        "valid": _floor(a, b, "valid", _valid(a.levels), _valid(b.levels)),
        "answers": _floor(a, b, "answers", _sides(a.scale, a.levels), _sides(b.scale, b.levels)),
    }
    for measure in OF_ANSWERS:
        first, second = (_cells(side, measure) for side in (a, b))
        flows, shared = first.index.intersection(second.index), first.columns.intersection(second.columns)
        one, other = (cells.loc[flows, shared].to_numpy(dtype=np.float64) for cells in (first, second))
        both = ~np.isnan(one + other)
        row: dict[str, Any] = {"measure": measure, "of": int(both.any(axis=1).sum())}
        row["templates"] = int(both.any(axis=0).sum())
        row |= floors["valid" if measure == "valid" else "answers"]
        if not both.any():
            rows.append(row | {"status": "no_answers"})
            continue
        row |= {"value_a": float(one[both].mean()), "value_b": float(other[both].mean())}
        row["difference"] = row["value_b"] - row["value_a"]
        if row["templates"] < FEWEST:
            rows.append(row | {"status": "one_template"})
            continue
        *_, low, high = mean_interval(np.where(both, other - one, np.nan), fixed_flows=True)
        rows.append(row | {"conf_low": low, "conf_high": high, "status": "ok"})
    return rows


def _cells(side: OnScale, measure: str) -> pd.DataFrame:
    """Return the mean of a measure over the orders of each template: flows x template numbers."""
    levels, scale = side.levels, side.scale
    x = levels.to_numpy(dtype=np.float64)
    valid = ~np.isnan(x)
    if measure == "valid":
        found = np.where(side.asked, valid, np.nan)
    elif measure == "place":
        found = (x - scale.levels[0]) / (scale.levels[-1] - scale.levels[0])
    else:
        wanted = {"upper": 1, "middle": 0, "lower": -1}[measure]
        found = np.where(valid, np.sign(x - scale.middle) == wanted, np.nan)
    means = template_means(pd.DataFrame(found, index=levels.index, columns=levels.columns), side.templates)
    numbers = np.unique(side.templates.reindex(levels.columns).to_numpy())
    return pd.DataFrame(means, index=levels.index, columns=numbers)


def _asked(answers: pd.DataFrame, levels: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return where there is an answer, valid or not, in the shape of ``levels``."""
    return grid(answers, np.ones(len(answers))).reindex_like(levels).notna().to_numpy()


def _of_norms(a: OnScale, b: OnScale) -> list[dict[str, Any]]:
    """Return what becomes of the norms under the first scale, by the side that they are on."""
    first, second = (_side_of_norms(side) for side in (a, b))
    flows = first.index.intersection(second.index)
    moves = (first.loc[flows] + " to " + second.loc[flows]).value_counts()
    totals = first.loc[flows].value_counts()
    engine = _floor(a, b, "norms", *(_sides(side.scale.binned, _norms_of(side)) for side in (a, b)))
    rows: list[dict[str, Any]] = []
    for before in BECOMES:
        total = int(totals.get(before, 0))
        for after in BECOMES if total else ():
            share = float(moves.get(f"{before} to {after}", 0)) / total
            rows.append(
                {"measure": f"norm {before} to {after}", "value_b": share, "of": total, "status": "ok"}
                | engine
            )
    return rows


def _floor(a: OnScale, b: OnScale, what: str, of_a: pd.DataFrame, of_b: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of `comparing.FLOOR` for what the matrices ``of_a`` and ``of_b`` hold."""
    return floor(between_answers(of_a, of_b), a.engine[what], b.engine[what])


def _sides(scale: Scale, levels: pd.DataFrame) -> pd.DataFrame:
    """Return the side of the scale of each level: -1, 0, 1; NaN where there is none."""
    return pd.DataFrame(np.sign(levels - scale.middle), index=levels.index, columns=levels.columns)


def _valid(levels: pd.DataFrame) -> pd.DataFrame:
    return levels.notna().astype(np.float64)


def _norms_of(side: OnScale) -> pd.DataFrame:
    return side.norms.set_index("flow")[["value"]].astype("Float64").astype("float64")


def _side_of_norms(side: OnScale) -> pd.Series[str]:
    value = side.norms["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    sign = np.sign(value - side.scale.binned.middle)
    words = np.select([np.isnan(sign), sign > 0, sign < 0], ["none", "upper", "lower"], "middle")
    return pd.Series(words, index=pd.Index(side.norms["flow"], name="flow"))


COLUMNS = (
    MODEL,
    Column("arm_a", "Arm of the first scale."),
    Column("scale_a", "The first scale."),
    Column("arm_b", "Arm of the second scale."),
    Column("scale_b", "The second scale."),
    Column(
        "measure",
        "upper, middle, lower: share of the valid answers on that side of the scale; valid: share of the answers that "
        "are valid; place: mean place of the valid answers, 0 at the lowest level and 1 at the highest; "
        "norm X to Y: of the flows whose norm is on side X under the first scale (none: no norm), the share on side Y "
        "under the second.",
    ),
    Column("value_a", "The measure under the first scale; missing for what becomes of norms."),
    Column("value_b", "The measure under the second scale."),
    Column("difference", "value_b minus value_a; missing for what becomes of norms."),
    CONF_LOW._replace(about="Lower end of the 95% interval of the difference over other templates."),
    CONF_HIGH._replace(about="Upper end of the 95% interval of the difference over other templates."),
    Column("of", "Flows that the row is about."),
    Column(
        "templates", "Templates with a valid answer under both scales; missing for what becomes of norms."
    ),
    FLOOR[0]._replace(
        about="Share that differs between the two arms: in valid, of the prompts that one arm answers validly and the "
        "other does not; else of the answers, or norms, that are on another side of the scale."
    ),
    *FLOOR[1:],
    STATUS._replace(about="ok, or why there are no numbers: no_answers, one_template, one_scale."),
)

KINDS = (
    Kind(
        name="scale_effects",
        about="What changes in a model's answers and norms when the same flows are asked on another scale.",
        options=OfNorms,
        function=scale_effects,
        reads="answers",
        also=("norms", "prompts", "repeats"),
        report_section="sensitivity",
        key=("model", "arm_a", "arm_b", "measure"),
        columns=COLUMNS,
    ),
)
