"""Generalisability: how much of what differs between flows would differ alike in another study like this one.

An answer is a sum of independent effects of flow, template, both together, and the single answer (its order, and what
differs when it is asked again). G compares the variance of the flows with the error of ranking them, Phi with the error
of a flow's own value, which holds the templates' own effects too. Formulas: docs/method/stats/generalizability.md.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy

from cinorms.core.arrays import Floats
from cinorms.norms.thresholds import Thresholds
from cinorms.stats.reliability import Cells, variances
from cinorms.stats.wordings import pooled
from rewordings import CONFIDENCE, groups, interval, jackknife, verdicts_of_parts

#: Fewer templates show too little of how templates differ for an interval.
FEWEST_TEMPLATES = 5
# ASSUME: templates count half in the interval of their variance, because nothing shows how their effects are
# distributed; with all of them it covers 84% where wordings are skewed (benchmarks/adversaries/run.py).
TEMPLATES_COUNT = 0.5
#: Random partitions of the templates into parts whose norms are compared.
PARTITIONS = 20


class DesignSize(NamedTuple):
    """How often each flow is asked."""

    templates: int
    orders: int


class Coefficients(NamedTuple):
    """G and Phi in a design, with 95% intervals; ``status``: ok, no_interval, or why there is no coefficient."""

    status: str
    g: float = np.nan
    g_low: float = np.nan
    g_high: float = np.nan
    phi: float = np.nan
    phi_low: float = np.nan
    phi_high: float = np.nan


class _Variances(NamedTuple):
    """Variances of the sources; ``answer`` is NaN with one order, and is then part of ``both``."""

    flow: float
    template: float
    both: float
    answer: float

    def errors(self, design: DesignSize) -> tuple[float, float]:
        """Return the error of ranking flows, and what templates of their own add, over the variance of flows."""
        single = max(np.nan_to_num(self.answer), 0.0) / design.orders
        flow = self.flow if self.flow > 0 else np.nan
        error, own = max(self.both, 0.0) + single, max(self.template, 0.0)
        return error / design.templates / flow, own / design.templates / flow


def coefficients(
    levels: pd.DataFrame, templates: pd.Series, designs: Sequence[DesignSize]
) -> list[Coefficients]:
    """Return G and Phi of a flow's mean in each design; ``levels`` is flows x variants (or a difference of two).

    The interval of G leaves out one template, and one flow, at a time (or groups of them): on the scale of
    log(error / variance of flows), with Student's t. Phi adds the templates' own variance, with the interval of a
    variance of normal effects (`TEMPLATES_COUNT`), recovered from both (MOVER).
    """
    cells = Cells.of(levels.sort_index(), templates)
    whole, status = _components(cells)
    if status != "ok":
        return [Coefficients(status)] * len(designs)
    n, size = int((cells.size > 0).any(axis=0).sum()), cells.size[cells.size > 0]
    ways: list[list[_Variances]] = [[], []]
    if n >= FEWEST_TEMPLATES:
        of_flow, of_template = (groups(length) for length in cells.size.shape)
        ways = [
            [_components(cells.part(templates=of_template != i))[0] for i in np.unique(of_template)],
            [_components(cells.part(of_flow != i))[0] for i in np.unique(of_flow)],
        ]
    per_flow = (whole.both + np.nan_to_num(whole.answer) * float((1 / size).mean())) / len(cells.size)
    return [_in_design(whole, ways, design, n, max(per_flow, 0.0)) for design in designs]


def _components(cells: Cells) -> tuple[_Variances, str]:
    """Return the variances, and ok or why there are none."""
    sources = variances(cells)
    components, status = _Variances(*(variance for variance, _ in sources.values())), sources["template"][1]
    if status != "ok":
        return components, status
    if not np.nansum(np.maximum(components, 0.0)) > 0:
        return components, "no_variance"
    return components, "ok" if components.flow > 0 else "negative"


def _in_design(
    whole: _Variances,
    ways: Sequence[Sequence[_Variances]],
    design: DesignSize,
    n: int,
    per_flow: float,
) -> Coefficients:
    """Return G and Phi; ``n`` templates were asked, whose means vary by ``per_flow`` although they are alike."""
    if design.orders > 1 and np.isnan(whole.answer):
        return Coefficients("one_order")
    error, own = whole.errors(design)
    g, phi = 1 / (1 + error), 1 / (1 + error + own)
    with np.errstate(divide="ignore"):
        log = np.log(error)
        without = [np.log([v.errors(design)[0] for v in way]) for way in ways]
    if not all(len(way) and np.isfinite([log, *way]).all() for way in without):
        return Coefficients("no_interval", g=g, phi=phi)
    spreads = [(float(jackknife(log, way)[0]) ** 2, len(way) - 1.0) for way in without]
    low, high = np.exp(interval(log, *pooled(spreads))[1:])
    freedom = TEMPLATES_COUNT * (n - 1)
    seen, scale = max(whole.template, 0.0) + per_flow, design.templates * whole.flow
    tails = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    own_low, own_high = (
        max(seen * freedom / scipy.special.chdtri(freedom, p) - per_flow, 0.0) / scale for p in tails
    )  # `chdtri` is of upper tails
    both = error + own
    both_low = max(both - np.hypot(error - low, own - own_low), low)
    both_high = both + np.hypot(high - error, own_high - own)
    limits_of_phi = 1 / (1 + both_high), 1 / (1 + both_low)
    return Coefficients("ok", g, 1 / (1 + high), 1 / (1 + low), phi, *limits_of_phi)


def of_norms(counts: Floats, thresholds: Thresholds, templates: int) -> tuple[Coefficients, float]:
    """Return G and Phi of whether a flow holds a norm by so many templates, and the mean share of flows that do.

    The templates are cut at random into parts of this size, each assessed as a study of its own. Parts are then what
    templates are to a mean. How a threshold works with more templates than half of them is not known
    (``few_templates``), nor is the interval: parts of the same few templates are no sample.
    """
    if not len(counts[0]) or counts.shape[2] < 2 * templates:
        return Coefficients("few_templates"), np.nan
    norms = verdicts_of_parts(counts, thresholds.rule, templates, PARTITIONS, counts.shape[2] // templates)
    held = norms.held.reshape(len(norms.held), PARTITIONS, -1).astype(np.float64)
    flow, part = held.mean(axis=2), held.mean(axis=0)
    mean = part.mean(axis=1)
    n_flows, n_parts = len(held), held.shape[2]
    left = held - flow[:, :, None] - part[None] + mean[None, :, None]
    rest = float((left**2).sum()) / (PARTITIONS * max(n_flows - 1, 1) * (n_parts - 1))
    between = float(((flow - mean) ** 2).sum()) / (PARTITIONS * max(n_flows - 1, 1)) - rest / n_parts
    own = float(((part - mean[:, None]) ** 2).sum()) / (PARTITIONS * (n_parts - 1)) - rest / n_flows
    share = float(mean.mean())
    if between <= 0:
        return Coefficients("no_variance" if rest <= 0 else "negative"), share
    g, phi = between / (between + rest), between / (between + rest + max(own, 0.0))
    return Coefficients("no_interval", g=g, phi=phi), share
