"""How consistent the answers of one model are across variants.

Functions that take ``levels`` want `norms.level_matrix(answers)`: flows x variants, NaN where there is no
valid answer. ``templates`` is the template of each variant (index: variant), `wordings.template_numbers(prompts)`.
Formulas: docs/method/stats/trust.md.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cinorms.core.arrays import Floats, Ints
from cinorms.core.errors import DataError
from cinorms.core.scales import Scale
from cinorms.norms import assessment
from cinorms.prompts.orders import DIGITS
from cinorms.stats.wordings import (
    ALIKE_TEMPLATES,
    level_counts,
    look_up,
    membership,
    template_numbers,
)
from rewordings import groups, jackknife, worth_of


class FlowEstimate(NamedTuple):
    """A number with its number of flows, or, if ``status`` is not ``ok``, the reason for having none.

    ``low`` and ``high`` are its 95% interval over templates (raters), missing where there are too few of them.
    """

    estimate: float | None
    n_flows: int
    status: str = "ok"
    low: float = np.nan
    high: float = np.nan

    def over(self, without: Sequence["FlowEstimate"]) -> "FlowEstimate":
        """Return the estimate with its interval, from those ``without`` each group of templates (jackknife)."""
        values = [other.estimate for other in without if other.estimate is not None]
        if self.estimate is None or len(values) < len(without):
            return self
        _, low, high = jackknife(self.estimate, np.array(values))
        return self._replace(low=float(low), high=min(float(high), 1.0))


def alpha(counts: Floats) -> FlowEstimate:
    """Return Krippendorff's alpha with the ordinal metric; flows are units, variants are raters.

    ``counts``: how often each level was answered, flows x levels. Status: ``no_flows`` (none has two valid answers),
    ``no_variance`` (all answers are the same).
    """
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        return FlowEstimate(None, 0, "no_flows")
    weighted = counts / (counts.sum(axis=1, keepdims=True) - 1)
    coincidences = weighted.T @ counts - np.diag(weighted.sum(axis=0))
    n_c = coincidences.sum(axis=1)
    mid_rank = np.cumsum(n_c) - n_c / 2
    distance = (mid_rank[:, None] - mid_rank[None, :]) ** 2
    expected = n_c @ distance @ n_c
    if (n_c > 0).sum() < 2:
        return FlowEstimate(None, len(counts), "no_variance")
    observed = (coincidences * distance).sum()
    return FlowEstimate(float(1 - (n_c.sum() - 1) * observed / expected), len(counts))


def intraclass(levels: pd.DataFrame) -> FlowEstimate:
    """Return ICC(1,1): the reliability of one rating.

    One-way random effects: flows are drawn, and each is rated by people of its own. With n_u ratings of flow u, N in
    all, and the mean squares between and within flows, it is
    ``(between - within) / (between + (k - 1) within)``, where ``k = (N - sum n_u^2 / N) / (flows - 1)``.
    Status: ``no_flows`` (fewer than two, or none is rated twice), ``no_variance``.
    """
    x = levels.to_numpy(dtype=np.float64)
    n = (~np.isnan(x)).sum(axis=1)
    x, n = x[n > 0], n[n > 0]
    total, n_flows = int(n.sum()), len(n)
    if n_flows < 2 or total == n_flows:
        return FlowEstimate(None, n_flows, "no_flows")
    mean = np.nansum(x, axis=1) / n
    between = float((n * (mean - np.nansum(x) / total) ** 2).sum()) / (n_flows - 1)
    within = float(np.nansum((x - mean[:, None]) ** 2)) / (total - n_flows)
    k = (total - float((n**2).sum()) / total) / (n_flows - 1)
    if between + (k - 1) * within <= 0:
        return FlowEstimate(None, n_flows, "no_variance")
    return FlowEstimate((between - within) / (between + (k - 1) * within), n_flows)


def intraclass_over(levels: pd.DataFrame, of_rater: Ints) -> FlowEstimate:
    """Return `intraclass` with its interval over raters; ``of_rater`` has the group of each column."""
    n_groups = of_rater.max(initial=-1) + 1
    without = [intraclass(levels.loc[:, of_rater != number]) for number in range(n_groups)]
    return intraclass(levels).over(without)


def order_disagreement(levels: pd.DataFrame, templates: pd.Series, middle: float) -> pd.DataFrame:
    """Return how often the orders of one flow and template give different levels, and different sides.

    Over cells (flow, template) with a valid answer in every order. Rows: ``differ`` (not all the same
    level) and ``sign_flip`` (one level below the ``middle`` of the scale and one above). Columns: measure, share,
    n_cells, status (``ok``, ``one_order``, ``no_cells``).
    """
    differ, flip, n_cells, orders = 0, 0, 0, 1
    for variants in membership(levels, templates).T > 0:
        x = levels.to_numpy()[:, variants]
        if x.shape[1] < 2:
            continue
        orders = max(orders, x.shape[1])
        x = x[~np.isnan(x).any(axis=1)]
        n_cells += len(x)
        differ += int((x.max(axis=1, initial=-np.inf) != x.min(axis=1, initial=np.inf)).sum())
        flip += int(((x > middle).any(axis=1) & (x < middle).any(axis=1)).sum())
    status = "one_order" if orders < 2 else ("ok" if n_cells else "no_cells")
    share = [differ / n_cells, flip / n_cells] if n_cells else [np.nan, np.nan]
    measures = ["differ", "sign_flip"]
    return pd.DataFrame({"measure": measures, "share": share, "n_cells": n_cells, "status": status})


def position_effects(answers: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return how often the answer stood at each shown position, against what the levels alone would give.

    Over the valid answers whose order is known; a number line is shown in one way only. ``expected`` is the share if
    every flow's answers were dealt at random to the orders it was asked in. Under balanced orders it is 1 over the
    number of levels of the ``scale`` (``balanced``). Columns: position (1 first), chosen, share, expected, balanced,
    excess (share - expected), n, status (``ok``, ``no_order``, ``no_answers``).
    """
    level, order = assessment.valid_levels(answers), pd.Categorical(answers["order"])
    ordered = np.array([*(len(name) > 1 for name in order.categories), False])
    rows = np.flatnonzero(~np.isnan(level) & ordered[order.codes])
    k = len(scale.binned.levels)
    table = pd.DataFrame({"position": np.arange(1, k + 1), "chosen": 0, "share": np.nan, "expected": np.nan})
    table = table.assign(balanced=1 / k, excess=np.nan, n=len(rows), status="ok")
    if not len(rows):
        return table.assign(status="no_answers" if np.isnan(level).all() else "no_order")
    wrong = [name for name in order.categories if sorted(name) != list(DIGITS[:k])]
    if wrong:
        raise DataError(f"answers: order '{wrong[0]}' is no list of option indices such as '{DIGITS[:k]}'")
    positions = np.array([[DIGITS.index(digit) for digit in name] for name in order.categories])
    shown, option = positions[order.codes[rows]], scale.places(level[rows])
    flow = np.unique(answers["flow"].to_numpy()[rows], return_inverse=True)[1]
    counts = np.bincount(flow * k + option, minlength=(flow.max() + 1) * k).reshape(-1, k)
    chosen = (shown == option[:, None]).sum(axis=0)
    expected = (counts / counts.sum(axis=1, keepdims=True))[flow[:, None], shown].mean(axis=0)
    share = chosen / len(rows)
    return table.assign(chosen=chosen, share=share, expected=expected, excess=share - expected)


def panel(answers: pd.DataFrame, prompts: pd.DataFrame, scale: Scale, people: bool = False) -> pd.DataFrame:
    """Return the reliability of one model as one table: measure, estimate, its interval, n (flows or cells), status.

    Alpha and the intraclass correlation have intervals over templates (jackknife). Of people, it has the intraclass
    correlation too; a model's variants are the same for all flows.
    """
    levels = assessment.level_matrix(answers)
    templates = template_numbers(prompts)
    counts = level_counts(levels, templates, scale)
    group = groups(counts.shape[2])
    kept = [group != number for number in range(group.max(initial=-1) + 1)]
    single = wordings_worth(levels, templates, counts) if counts.shape[2] > 1 else {}
    agreement = alpha(counts.sum(axis=2).T).over([alpha(counts[:, :, k].sum(axis=2).T) for k in kept])
    if agreement.status == "ok" and any(found.status == ALIKE_TEMPLATES for found in single.values()):
        agreement = agreement._replace(status=ALIKE_TEMPLATES)
    single["alpha"] = agreement
    if people:
        of_rater = group[np.unique(look_up(levels.columns, templates), return_inverse=True)[1]]
        single["icc_1"] = intraclass_over(levels, of_rater)
    single["valid"] = FlowEstimate(None, 0, "no_flows")
    if len(answers):
        single["valid"] = FlowEstimate(int(counts.sum()) / len(answers), len(levels))
    orders = order_disagreement(levels, templates, scale.middle)
    columns = ["measure", "estimate", "conf_low", "conf_high", "n", "status"]
    rows = [(name, e.estimate, e.low, e.high, e.n_flows, e.status) for name, e in single.items()]
    parts = [
        pd.DataFrame(rows, columns=columns).astype({"estimate": np.float64}),
        orders.assign(measure="orders: " + orders["measure"], estimate=orders["share"], n=orders["n_cells"]),
    ]
    return pd.concat([part.reindex(columns=columns) for part in parts], ignore_index=True)


def wordings_worth(levels: pd.DataFrame, templates: pd.Series, counts: Floats) -> dict[str, FlowEstimate]:
    """Return the number of templates, what they are worth, and how much the two most alike correlate.

    Status ``alike_templates``: they are worth so little that intervals and tests over wordings do not hold.
    """
    found, numbers = worth_of(counts), np.unique(look_up(levels.columns, templates))
    status = ALIKE_TEMPLATES if found.too_alike else "ok"
    a, b, related = found.pair
    return {
        "wordings: number": FlowEstimate(float(len(numbers)), len(levels)),
        "wordings: worth": FlowEstimate(found.effective, len(levels), status),
        f"wordings: most alike, {numbers[a]} and {numbers[b]}": FlowEstimate(related, len(levels), status),
    }
