"""Kind on what a model says on one scale and on another, such as without a neutral option.

Levels of different scales cannot be compared, but sides can: which share of the answers, and which norms, are on the
upper side, on the lower side, or at the midpoint. Means are compared as a share of the way from the lowest level to the
highest.
"""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.analyses.columns import usual
from cinorms.analyses.comparing import (
    FLOOR,
    Repeats,
    between_answers,
    floor,
    held_norms,
    of_answers,
    of_norms,
)
from cinorms.analyses.shared import Frames, by_pair
from cinorms.core.scales import Scale
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfNorms
from cinorms.norms.assessment import grid, level_matrix
from cinorms.stats.repeats import Share
from cinorms.stats.wordings import FEWEST, mean_interval, template_means, template_numbers

#: What is measured of every answer (see `KINDS`), and the side of the scale that a level is on.
MEASURES = ("upper", "middle", "lower", "valid", "place")
SIDES = {"upper": 1.0, "middle": 0.0, "lower": -1.0}
#: What becomes of the flows whose norm under the first scale is on some side: none where they have no norm.
BECOMES = (*SIDES, "none")


class OnScale(NamedTuple):
    """One model in one arm: the levels of its answers, the template of each variant, the scale, sides of its norms.

    ``asked`` says where there is an answer: flows x variants, like ``levels``. ``engine`` has what differs when it is
    asked again: whether answers are valid, their sides, and those of norms.
    """

    levels: pd.DataFrame
    asked: npt.NDArray[np.bool_]
    norms: pd.DataFrame
    templates: pd.Series
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
    by_model: dict[str, dict[str, OnScale]] = {}
    for one in selected:
        scale, templates = entry.scales[one.arm], template_numbers(prompts[one.arm])
        levels, of_arm = level_matrix(one.frame).sort_index(), norms_of[one.pair]
        asked = grid(one.frame, np.ones(len(one.frame))).reindex_like(levels).notna()
        sides, norm_sides = partial(_sides, scale), partial(_sides, scale.binned)
        engine = {
            "valid": of_answers(one, repeats, templates, True, _valid),
            "answers": of_answers(one, repeats, templates, True, sides),
            "norms": of_norms(one._replace(frame=of_arm), repeats, entry, norm_sides),
        }
        of_norm = norm_sides(held_norms(of_arm, entry, one))
        told = OnScale(levels, asked.to_numpy(), of_norm, templates, scale, engine)
        by_model.setdefault(one.model, {})[one.arm] = told
    rows: list[dict[str, Any]] = []
    for model, arms in by_model.items():
        for (a, first), (b, second) in itertools.combinations(arms.items(), 2):
            same_flows = entry.factors_of[a].dataset == entry.factors_of[b].dataset
            if first.scale != second.scale and same_flows:
                names = {"model": model, "arm_a": a, "scale_a": first.scale.name}
                names |= {"arm_b": b, "scale_b": second.scale.name}
                rows += [names | row for row in (*_of_answers(first, second), *_of_norms(first, second))]
    return pd.DataFrame(rows or [{"status": "one_scale"}]).reindex(columns=list(entry.declared.columns))


def _of_answers(a: OnScale, b: OnScale) -> list[dict[str, Any]]:
    """Return each measure of the answers under both scales, with an interval of the difference over templates."""
    rows = []
    of_valid = _floor(a, b, "valid", _valid(a.levels), _valid(b.levels))
    of_sides = _floor(a, b, "answers", _sides(a.scale, a.levels), _sides(b.scale, b.levels))
    for measure in MEASURES:
        first, second = (_cells(side, measure) for side in (a, b))
        flows, shared = first.index.intersection(second.index), first.columns.intersection(second.columns)
        one, other = (cells.loc[flows, shared].to_numpy(dtype=np.float64) for cells in (first, second))
        both = ~np.isnan(one + other)
        row: dict[str, Any] = {"measure": measure, "of": int(both.any(axis=1).sum())}
        row |= {"templates": int(both.any(axis=0).sum()), "status": "ok"}
        row |= of_valid if measure == "valid" else of_sides
        rows.append(row)
        if not both.any():
            row["status"] = "no_answers"
            continue
        row |= {"value_a": float(one[both].mean()), "value_b": float(other[both].mean())}
        row["difference"] = row["value_b"] - row["value_a"]
        if row["templates"] < FEWEST:
            row["status"] = "one_template"
            continue
        *_, low, high = mean_interval(np.where(both, other - one, np.nan), fixed_flows=True)
        row |= {"conf_low": low, "conf_high": high}
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
        found = np.where(valid, np.sign(x - scale.middle) == SIDES[measure], np.nan)
    means = template_means(pd.DataFrame(found, index=levels.index, columns=levels.columns), side.templates)
    numbers = np.unique(side.templates.reindex(levels.columns).to_numpy())
    return pd.DataFrame(means, index=levels.index, columns=numbers)


def _of_norms(a: OnScale, b: OnScale) -> list[dict[str, Any]]:
    """Return what becomes of the norms under the first scale, by the side that they are on."""
    words = {number: word for word, number in SIDES.items()}
    first, second = (side.norms["value"].map(words).fillna("none") for side in (a, b))
    flows = first.index.intersection(second.index)
    moves = (first.loc[flows] + " to " + second.loc[flows]).value_counts()
    totals = first.loc[flows].value_counts()
    engine = _floor(a, b, "norms", a.norms, b.norms)
    rows: list[dict[str, Any]] = []
    for before in BECOMES:
        total = int(totals.get(before, 0))
        for after in BECOMES if total else ():
            measure = f"{before} to {after}"
            share = float(moves.get(measure, 0)) / total
            row = {"measure": f"norm {measure}", "value_b": share, "of": total, "status": "ok"}
            rows.append(engine | row)
    return rows


def _floor(a: OnScale, b: OnScale, what: str, of_a: pd.DataFrame, of_b: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of `comparing.FLOOR` for what the matrices ``of_a`` and ``of_b`` hold."""
    return floor(between_answers(of_a, of_b), a.engine[what], b.engine[what])


def _sides(scale: Scale, levels: pd.DataFrame) -> pd.DataFrame:
    """Return the side of the scale of each level: -1, 0, 1; NaN where there is none."""
    return pd.DataFrame(np.sign(levels - scale.middle), index=levels.index, columns=levels.columns)


def _valid(levels: pd.DataFrame) -> pd.DataFrame:
    return levels.notna().astype(np.float64)


KINDS = (
    Kind(
        name="scale_effects",
        about="What changes in a model's answers and norms when the same flows are asked on another scale.",
        function=scale_effects,
        reads="answers",
        report_section="sensitivity",
        key=("model", "arm_a", "arm_b", "measure"),
        columns={
            **usual("model"),
            "arm_a": "Arm of the first scale.",
            "scale_a": "The first scale.",
            "arm_b": "Arm of the second scale.",
            "scale_b": "The second scale.",
            "measure": "upper, middle, lower: share of the valid answers on that side of the scale; valid: "
            "share of the answers that are valid; place: mean place of the valid answers, 0 at the lowest "
            "level and 1 at the highest; norm X to Y: of the flows whose norm is on side X under the first "
            "scale (none: no norm), the share on side Y under the second.",
            "value_a": "The measure under the first scale; missing for what becomes of norms.",
            "value_b": "The measure under the second scale.",
            "difference": "value_b minus value_a; missing for what becomes of norms.",
            "conf_low": "Lower end of the 95% interval of the difference over other templates.",
            "conf_high": "Upper end of the 95% interval of the difference over other templates.",
            "of": "Flows that the row is about.",
            "templates": "Templates with a valid answer under both scales; missing for what becomes of norms.",
            **FLOOR,
            "differ": "Share that differs between the two arms: in valid, of the prompts that one arm answers "
            "validly and the other does not; else of the answers, or norms, that are on another side of the scale.",
            "status": "ok, or why there are no numbers: no_answers, one_template, one_scale.",
        },
    ),
)
