"""Kind ``generalizability``: how well a study tells flows apart, and how well another design of it would."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.analyses.columns import WHO
from cinorms.analyses.comparing import Repeats, answers_again
from cinorms.analyses.shared import Frames
from cinorms.analyses.stability import Counts
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfNorms
from cinorms.norms.assessment import grid, level_matrix
from cinorms.stats.generalizability import (
    FEWEST_TEMPLATES,
    Coefficient,
    DesignSize,
    Found,
    coefficients,
    of_norms,
    repeated_variance,
)
from cinorms.stats.wordings import level_counts, template_numbers, template_sums

_BLANK = Found(Coefficient(), Coefficient(), "few_templates")
_NUMBERS = ("g", "g_low", "g_high", "phi", "phi_low", "phi_high")


class GeneralizabilityOptions(OfNorms):
    """Options of kind ``generalizability``."""

    templates: Counts = (1, 3, 5, 11, 30)
    """Numbers of templates to try, besides that of the study."""
    orders: Counts = (1,)
    """Numbers of orders per template to try, besides that of the study."""
    repeats: Counts = (1,)
    """How often to ask each prompt; more than 1 needs an arm that was asked again (repeat)."""


def generalizability(
    selected: Sequence[Selected], entry: Entry[GeneralizabilityOptions], prompts: Frames, repeats: Repeats
) -> pd.DataFrame:
    """Return G and Phi of each model's means, of the difference of every two models of an arm, and of norms."""
    levels = {one.pair: level_matrix(one.frame) for one in selected}
    asked = {one.pair: grid(one.frame, np.ones(len(one.frame))) for one in selected}
    again = {one.pair: _repeated(one, levels[one.pair], repeats) for one in selected}
    rows: list[dict[str, Any]] = []
    for one in selected:
        own, table = levels[one.pair], prompts[one.arm]
        who = {"arm": one.arm, "model": one.model, "other": ""}
        design = _asked(asked[one.pair], table)
        rows += [who | row for row in _means("mean", own, table, entry, again[one.pair], design)]
        rows += [who | row for row in _of_norms(one, own, table, entry, design)]
    for one, other in itertools.combinations(selected, 2):
        if one.arm == other.arm:
            a, b = levels[one.pair].align(levels[other.pair], join="inner")
            repeated = again[one.pair] + again[other.pair]
            who = {"arm": one.arm, "model": one.model, "other": other.model}
            both, table = asked[one.pair] + asked[other.pair], prompts[one.arm]  # NaN where one was not asked
            design = _asked(both.reindex_like(a), table)
            rows += [who | row for row in _means("difference", a - b, table, entry, repeated, design)]
    return pd.DataFrame(rows, columns=list(entry.declared.columns))


def _repeated(one: Selected, levels: pd.DataFrame, repeats: Repeats) -> float:
    own = repeats.get(one.pair)
    again = [] if own is None else [level_matrix(answers) for answers in answers_again(one, own)]
    return repeated_variance(levels, again)


def _asked(cells: pd.DataFrame, prompts: pd.DataFrame) -> DesignSize:
    """Return in how many templates, and orders of each, the median flow was asked; ``cells`` is NaN where it was not.

    A model may have fewer templates than its arm, and a flow fewer than its model.
    """
    orders = template_sums(cells, template_numbers(prompts))[1]
    there = orders > 0
    if not there.any():
        return DesignSize(1, 1)
    return DesignSize(int(np.median(there.sum(axis=1))), int(np.median(orders[there])))


def _means(
    measure: str,
    levels: pd.DataFrame,
    prompts: pd.DataFrame,
    entry: Entry[GeneralizabilityOptions],
    repeated: float,
    asked: DesignSize,
) -> Iterator[dict[str, Any]]:
    options = entry.options
    tried = zip((options.templates, options.orders, options.repeats), asked, strict=True)
    designs = [DesignSize(*at) for at in itertools.product(*(sorted({*a, b}) for a, b in tried))]
    found = coefficients(levels, template_numbers(prompts), designs, repeated)
    for design, one in zip(designs, found, strict=True):
        yield _row(measure, design, asked, one)


def _of_norms(
    one: Selected,
    levels: pd.DataFrame,
    prompts: pd.DataFrame,
    entry: Entry[GeneralizabilityOptions],
    asked: DesignSize,
) -> Iterator[dict[str, Any]]:
    counts = level_counts(levels, template_numbers(prompts), entry.scales[one.arm])
    complete = len(one.frame) == levels.size  # else the flows are no sample of the same templates
    for n in sorted({*entry.options.templates, asked.templates}):
        found, share = of_norms(counts, entry.thresholds[one.model], n) if complete else (_BLANK, np.nan)
        yield _row("norm", DesignSize(n, asked.orders), asked, found) | {"share_norms": share}


def _row(measure: str, design: DesignSize, asked: DesignSize, found: Found) -> dict[str, Any]:
    row: dict[str, Any] = {
        "measure": measure,
        **design._asdict(),
        "asked": design == asked,
        "status": found.status,
    }
    return row | dict(zip(_NUMBERS, (*found.g, *found.phi), strict=True))


KINDS = (
    Kind(
        name="generalizability",
        about="Generalisability: how well a study tells flows apart, and how well one with other numbers of "
        "templates, orders and repeats would.",
        function=generalizability,
        reads="answers",
        decided="pilot",
        report_section="reliability",
        key=("arm", "model", "other", "measure", "templates", "orders", "repeats"),
        columns={
            **WHO,
            "other": "The second model of a difference; else empty.",
            "measure": "What is told apart. mean: the mean answer of each flow; difference: by how much the means of "
            "two models differ in each flow; norm: whether each flow holds a norm under the thresholds.",
            "templates": "Templates of the design.",
            "orders": "Orders of each template.",
            "repeats": "How often each prompt is asked.",
            "asked": "Whether this is the design of the study itself: as many templates and orders as the median flow "
            "was asked in, with an answer or without.",
            "g": "Coefficient G: share of the variance of these values between flows that another study like it would "
            "repeat. It is about which flows are higher.",
            "g_low": f"Lower end of its 95% interval, over flows and templates; from {FEWEST_TEMPLATES} templates on.",
            "g_high": "Upper end of that interval.",
            "phi": "Coefficient Phi: the same for how high each flow is, which also depends on what templates do to "
            "all flows alike.",
            "phi_low": "Lower end of its interval, which is often too narrow with 30 templates or where few wordings "
            "move much (docs/method/stats/generalizability.md).",
            "phi_high": "Upper end of that interval.",
            "share_norms": "Share of the flows that hold a norm by so many templates, mean over random parts of the "
            "study's (measure norm).",
            "status": "ok; no_interval; or why there is no coefficient: few_templates (norms need twice as many, and "
            "every flow asked in all of them), negative (flows differ by no more than noise), not_repeated (the arm "
            "was asked once), one_order, one_template, no_flows, no_variance.",
        },
        shown=(
            *("arm", "model", "other", "measure", "templates", "orders", "g", "g_low", "g_high"),
            *("phi", "phi_low", "phi_high", "status"),
        ),
    ),
)
