"""Is a difference within stated limits? Estimates with their variance over templates, and two p-values for a decision.

The difference is that of two respondents, the new less the base, in flows and units. A unit is a template, or a rater.
Where both answered in the same units the differences are paired; else the two are independent. The interval is the
two-way one of `wordings`: units are a sample, flows are the only ones or a sample.

With the estimate e, its standard error s, Student's t and the limits (-m, m):

- ``p_pass = P(t >= (m - |e|) / s)``, the two one-sided tests: e is within the limits beyond chance.
- ``p_fail = P(t >= (|e| - m) / s) + P(t >= (|e| + m) / s)``: e is outside them beyond chance. It is the p-value of
  the hypothesis that the difference is within the limits, at its least favourable point.

The other claim is about single flows: "at most ``allowed`` of the n flows are on the wrong side of the scale", decided
by partial conjunctions of their p-values. A flow's templates often agree fully, and then nothing in the answers shows
how far others could be off. As in `wordings`, one more template counts that dissents. More in docs/gate.md.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import scipy

from cinorms.core.arrays import Floats, Ints
from cinorms.stats.wordings import Units, of_mean, pooled, rest_variance, spread
from rewordings import interval
from rewordings.arrays import divide, mean_over

#: A decision needs at least this many templates (raters) on each side, however well they agree.
FEWEST = 3
#: The chance that a number of units said to be needed should give of a decision.
POWER = 0.8
#: More units than this are not worth naming.
MOST = 10_000
#: Sums of the same numbers in another order may differ in the last digits, and are still equal.
_ROUNDING = 1e-12

Unit = Literal["templates", "flows"]


class Term(NamedTuple):
    """A part of a variance, and which units make it smaller when there are more of them."""

    variance: float
    units: tuple[Unit, ...]


class Estimate(NamedTuple):
    """A difference with its variance, degrees of freedom, and what the variance is made of.

    ``n_templates`` is the smaller number of the two sides where these are independent. Without an estimate
    ``value`` is NaN.
    """

    value: float
    variance: float
    freedom: float
    n_flows: int
    n_templates: int
    terms: tuple[Term, ...] = ()

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the limits of the interval; missing where there are fewer than two templates."""
        return interval(self.value, self.variance, self.freedom, confidence)[1:]


class DifferenceLimits(NamedTuple):
    """Between which values a difference may be. ``lower`` is minus infinity where only a rise counts.

    ``dissent`` is the size of the difference in one more template, which speaks against a pass: upwards for the upper
    limit, downwards for the lower one; None for no such template.
    """

    lower: float
    upper: float
    dissent: float | None = None


def paired(cells: Floats, fixed_flows: bool) -> Estimate:
    """Return the mean of differences (flows x templates, NaN where there is none), as `wordings.mean_interval`."""
    there = ~np.isnan(cells)
    n_flows, n_templates = int(there.any(axis=1).sum()), int(there.any(axis=0).sum())
    if n_templates < 2 or (not fixed_flows and n_flows < 2):
        return _without_variance(cells, n_flows, n_templates)
    mean = of_mean(cells)
    variance, freedom = mean.spread(fixed_flows)
    terms = [Term(variance, ("templates",))]
    if not fixed_flows:
        rest = rest_variance(mean.cells)
        of_templates, of_flows = (max(spread(units)[0] - rest, 0.0) for units in (mean.templates, mean.flows))
        terms = [
            Term(of_templates, ("templates",)),
            Term(of_flows, ("flows",)),
            Term(max(variance - of_templates - of_flows, 0.0), ("templates", "flows")),
        ]
    return Estimate(mean.value, float(variance), float(freedom), n_flows, n_templates, tuple(terms))


def independent(base: Floats, new: Floats, fixed_flows: bool) -> Estimate:
    """Return the mean over flows of the difference of their means, where base and new share no units.

    Both are flows x units, of the same flows; flows without an answer on either side are left out.
    """
    both = (~np.isnan(base)).any(axis=1) & (~np.isnan(new)).any(axis=1)
    sides = [x[both][:, (~np.isnan(x[both])).any(axis=0)] for x in (base, new)]
    n_flows, n_units = int(both.sum()), min(x.shape[1] for x in sides)
    means = [mean_over(x, axis=1) for x in sides]
    shifts = means[1] - means[0]
    if n_units < 2 or (not fixed_flows and n_flows < 2):
        return _without_variance(shifts[:, None], n_flows, n_units)
    parts = []
    for x, mean in zip(sides, means, strict=True):
        there = ~np.isnan(x)
        weight = there / there.sum(axis=1, keepdims=True) / n_flows
        parts.append(spread(Units(np.nansum((x - mean[:, None]) * weight, axis=0), weight.sum(axis=0))))
    terms = [Term(sum(variance for variance, _ in parts), ("templates",))]
    value = float(shifts.mean())
    if not fixed_flows:
        # It also holds the noise of the units, which then counts twice: the interval is rather too wide.
        weight = np.full(n_flows, 1 / n_flows)
        parts.append(spread(Units((shifts - value) * weight, weight)))
        terms.append(Term(parts[-1][0], ("flows",)))
    variance, freedom = pooled(parts, otherwise=float(n_units - 1))
    return Estimate(value, float(variance), float(freedom), n_flows, n_units, tuple(terms))


def decide(found: Estimate, limits: DifferenceLimits) -> tuple[float, float]:
    """Return ``p_pass`` and ``p_fail``; both are 1 where nothing can be decided."""
    if found.n_templates < FEWEST or math.isnan(found.value):
        return 1.0, 1.0
    error, freedom = math.sqrt(found.variance), found.freedom
    p_pass = 0.0
    for limit, sign in ((limits.upper, 1.0), (limits.lower, -1.0)):
        dissent = None if limits.dissent is None else sign * limits.dissent
        value, cautious, more = _with_dissent(found, dissent, found.n_templates)
        p_pass = max(p_pass, _tail(sign * (limit - value), math.sqrt(cautious), more))
    outside = max(found.value - limits.upper, limits.lower - found.value)
    p_fail = _tail(outside, error, freedom)
    p_fail += _tail(outside + limits.upper - limits.lower, error, freedom)
    return p_pass, min(1.0, p_fail)


def more_needed(
    found: Estimate, limits: DifferenceLimits, alpha_pass: float, alpha_fail: float
) -> tuple[Unit, int] | None:
    """Return how many more templates (or, if these alone do not help, flows) a decision needs; None for too many.

    If the estimate and the variances remained as they are, this number would give a decision with the chance `POWER`:
    the smallest at which ``(t_alpha + t_power) * std_err`` is not larger than the distance from the nearest limit.
    """
    if found.n_templates < 2 or math.isnan(found.value):
        return "templates", FEWEST - found.n_templates
    inside = limits.lower < found.value < limits.upper
    alpha = alpha_pass if inside else alpha_fail
    dissent = limits.dissent if inside else None
    if dissent and limits.lower > -math.inf and found.value < 0:
        dissent = -dissent

    def enough(unit: Unit, n: int, number: int) -> bool:
        variance = sum(t.variance * (n / number if unit in t.units else 1.0) for t in found.terms)
        then = found._replace(variance=variance, freedom=max(found.freedom * number / n, 1.0))
        templates = number if unit == "templates" else found.n_templates
        value, variance, freedom = _with_dissent(then, dissent, templates)
        if inside and not limits.lower < value < limits.upper:
            return False
        of_alpha = scipy.special.stdtrit(freedom, 1 - alpha)
        reach = (of_alpha + scipy.special.stdtrit(freedom, POWER)) * math.sqrt(variance)
        return bool(reach <= min(abs(value - limits.upper), abs(value - limits.lower)))

    numbers: tuple[tuple[Unit, int, int], ...] = (
        ("templates", found.n_templates, FEWEST),
        ("flows", found.n_flows, 0),
    )
    for unit, n, least in numbers:
        varies = any(unit in term.units and term.variance > 0 for term in found.terms)
        if varies or (dissent and unit == "templates"):
            total = fewest_enough(partial(enough, unit, n), n)
            if total is not None:
                return unit, max(total, least) - n
    # Answers that do not vary, with no template that dissents, need no more than the fewest.
    return ("templates", FEWEST - found.n_templates) if found.n_templates < FEWEST else None


def fewest_enough(enough: Callable[[int], bool], low: int) -> int | None:
    """Return the smallest number above ``low`` that is ``enough``; None where `MOST` are not."""
    number = low + 1 + bisect_left(range(low + 1, MOST + 1), True, key=enough)
    return number if number <= MOST else None


def _with_dissent(found: Estimate, dissent: float | None, n: int) -> tuple[float, float, float]:
    """Return value, variance and degrees of freedom with one more template of the difference ``dissent``."""
    if dissent is None:
        return found.value, found.variance, found.freedom
    value = (n * found.value + dissent) / (n + 1)
    squares = (n - 1) * n * found.variance + n * found.value**2 + dissent**2 - (n + 1) * value**2
    return value, max(squares, 0.0) / n / (n + 1), found.freedom + 1


def _without_variance(cells: Floats, n_flows: int, n_templates: int) -> Estimate:
    value = float(np.nanmean(cells)) if n_flows else np.nan
    return Estimate(value, np.nan, np.nan, n_flows, n_templates)


def _tail(distance: float, error: float, freedom: float) -> float:
    """Return P(t >= distance / error); without any error, 0 or 1."""
    if error < _ROUNDING or math.isinf(distance):
        return 0.0 if distance > _ROUNDING else 1.0
    return float(scipy.special.stdtr(freedom, -distance / error))


class Sides(NamedTuple):
    """What is known of each flow: mean less the middle in the direction that is wrong, p of being right and wrong."""

    mean: Floats
    p_right: Floats
    p_wrong: Floats
    n_units: Ints
    dissent: float


def sides(cells: Floats, middle: float, wrong: int, dissent: float) -> Sides:
    """Return the p-values of each flow (flows x units); ``wrong`` is 1 where above ``middle`` is wrong, else -1.

    ``dissent`` is how far beyond the middle one more unit answers, on the other side.
    """
    x = (cells - middle) * wrong
    n = (~np.isnan(x)).sum(axis=1)
    return Sides(mean_over(x, axis=1), _p_above(-x, dissent), _p_above(x, dissent), n, dissent)


def decide_sides(found: Sides, allowed: int) -> tuple[float, float]:
    """Return ``p_pass`` and ``p_fail`` of at most ``allowed`` flows being on the wrong side.

    Partial conjunctions (Benjamini and Heller 2008), which hold however the flows depend on each other: at most
    ``allowed`` flows may lack evidence for the right side, and more than that must have it for the wrong one.
    """
    n = len(found.mean)
    if allowed >= n:
        return 0.0, 1.0
    p_pass = (allowed + 1) * np.sort(found.p_right)[n - 1 - allowed]
    p_fail = (n - allowed) * np.sort(found.p_wrong)[allowed]
    return min(1.0, float(p_pass)), min(1.0, float(p_fail))


def more_for_sides(cells: Floats, found: Sides, middle: float, allowed: int, alpha: float) -> int | None:
    """Return how many more templates the flow that holds up the decision needs; None for more than are worth it."""
    at = np.argsort(found.p_right)[len(found.mean) - 1 - allowed]
    x, n = cells[at] - middle, int(found.n_units[at])
    if n < 2:
        return FEWEST - n
    mean, deviation = abs(float(np.nanmean(x))), float(np.nanstd(x, ddof=1))
    if mean == 0:
        return None

    def enough(number: int) -> bool:
        then = Estimate(mean, deviation**2 / number, number - 1, 1, number)
        centre, variance, freedom = _with_dissent(then, -found.dissent, number)
        of_alpha = scipy.special.stdtrit(freedom, 1 - alpha / (allowed + 1))
        reach = of_alpha + scipy.special.stdtrit(freedom, POWER)
        return bool(reach * math.sqrt(variance) <= centre)

    total = fewest_enough(enough, n)
    return None if total is None else max(total, FEWEST) - n


def _p_above(x: Floats, dissent: float) -> Floats:
    """Return per flow the p-value that its mean is not above 0, with one more unit that dissents."""
    freedom = (~np.isnan(x)).sum(axis=1)
    n = freedom + 1.0
    mean = (np.nansum(x, axis=1) - dissent) / n
    squares = np.nansum(x**2, axis=1) + dissent**2 - n * mean**2
    error = np.sqrt(divide(np.maximum(squares, 0.0), freedom * n))
    p = scipy.special.stdtr(freedom, -divide(mean, error))
    return np.where((freedom < FEWEST) | np.isnan(p), 1.0, p)
