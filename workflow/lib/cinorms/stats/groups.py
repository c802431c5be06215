"""Two groups of people who rated the same flows: how far apart they are, and how far chance puts two such groups.

Chance: both groups are drawn from the same people, so only who was drawn differs. What is expected follows from how
raters of a flow differ within each group; nothing of the difference between the groups is used. So a second group is a
test of the noise ceiling (docs/method/stats/people.md).
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cinorms.stats.arrays import Floats
from cinorms.stats.correlation import FEWEST_FLOWS, correlation
from cinorms.stats.samples import Sample
from cinorms.stats.wordings import CONFIDENCE, interval, pooled, quantile

#: Measures of two groups, and of pairs of single answers to the same flow.
OF_GROUPS = ("mean_signed", "rms", "correlation")
OF_PAIRS = ("correlation", "same_answer", "one_step")


def compare_groups(one: Sample, other: Sample) -> list[dict[str, Any]]:
    """Return a row for each of `OF_GROUPS`, over the flows that both rated; the other's means are subtracted.

    Keys: measure, estimate, expected, expected_low, expected_high (of chance, in 95% of such pairs of groups), verdict
    (``as_expected``, ``farther``, ``nearer``, ``no_verdict``), n, n_people, n_other, status (``ok``, ``few_flows``,
    ``one_rater``; of a correlation ``no_variance`` too).
    """
    both = ~np.isnan(one.means + other.means)
    one, other, n = one.of_flows(both), other.of_flows(both), int(both.sum())
    counts = {"n": n, "n_people": one.cells.shape[1], "n_other": other.cells.shape[1]}
    status = "ok" if n >= FEWEST_FLOWS else "few_flows"
    if status == "ok" and not all((side.sizes > 1).any() for side in (one, other)):
        status = "one_rater"
    if status != "ok":
        return [{"measure": name, "verdict": "no_verdict", **counts, "status": status} for name in OF_GROUPS]
    d = one.means - other.means
    found = {
        "mean_signed": (float(d.mean()), *_shift(one, other)),
        "rms": (math.sqrt((d**2).mean()), *_rms(one, other)),
        "correlation": _correlation(one, other),
    }
    rows = []
    for name, (estimate, expected, low, high) in found.items():
        if math.isnan(estimate + low + high):
            verdict = "no_verdict"
        elif low <= estimate <= high:
            verdict = "as_expected"
        else:  # a shift has two sides, and both are far; a high correlation is near
            farther = name == "mean_signed" or (estimate > high) == (name == "rms")
            verdict = "farther" if farther else "nearer"
        limits = {"expected": expected, "expected_low": low, "expected_high": high}
        rows.append(
            {"measure": name, "estimate": estimate, **limits, "verdict": verdict, **counts}
            | {"status": "no_variance" if math.isnan(estimate) else "ok"}
        )
    return rows


def _shift(one: Sample, other: Sample) -> tuple[float, float, float]:
    """Return 0 and the limits of the mean difference of two such groups: strict people are strict on every flow."""
    each = np.full(len(one.cells), 1 / len(one.cells))
    _, low, high = interval(0.0, *pooled([side.variance_of(each) for side in (one, other)]))
    return 0.0, low, high


def _rms(one: Sample, other: Sample) -> tuple[float, float, float]:
    """Return the expected distance of the means of two such groups and its limits.

    The mean square of correlated differences is about a multiple of chi-square (Satterthwaite), and so is the estimate
    of its mean; their ratio has an F distribution.
    """
    from scipy.stats import f

    covariance = _covariance(one) + _covariance(other)
    expected = float(np.trace(covariance)) / len(covariance)
    if not expected > 0:  # nobody differs within a group
        return expected, math.nan, math.nan
    freedom = np.trace(covariance) ** 2 / float((covariance**2).sum())
    parts = [
        (v, n - 1) for side in (one, other) for v, n in zip(side.noise, side.sizes, strict=True) if n > 1
    ]
    tails = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
    limits = f.ppf(tails, freedom, pooled(parts)[1])
    low, high = (math.sqrt(expected * limit) for limit in limits)
    return math.sqrt(expected), low, high


def _covariance(side: Sample) -> Floats:
    """Return the covariance of the flows' means over groups of as many: by what two flows' raters have in common."""
    n = len(side.cells)
    common = side.shares @ side.shares.T
    np.fill_diagonal(common, 0.0)
    whole = n**2 * side.variance_of(np.full(n, 1 / n))[0]
    of_rater = max((whole - side.noise.sum()) / common.sum(), 0.0) if common.any() else 0.0
    return np.asarray(of_rater * common + np.diag(side.noise))


def _correlation(one: Sample, other: Sample) -> tuple[float, float, float, float]:
    """Return r, its ceiling, and the limits about the ceiling: as wide as those of r on Fisher's scale."""
    found = correlation(one, other)
    estimate, ceiling = found["estimate"], found["ceiling"]
    if math.isnan(estimate + ceiling + found["conf_high"]) or abs(ceiling) == 1:
        return estimate, ceiling, math.nan, math.nan
    reach = math.atanh(found["conf_high"]) - math.atanh(estimate)
    return estimate, ceiling, math.tanh(math.atanh(ceiling) - reach), math.tanh(math.atanh(ceiling) + reach)


def compare_pairs(
    first: Floats, second: Floats, steps: Floats, who: npt.NDArray[Any] | None = None
) -> list[dict[str, Any]]:
    """Return a row for each of `OF_PAIRS` of the answers ``first`` and ``second`` to the same flow.

    ``steps`` is how many options apart they are. With ``who`` (the person of each pair) estimates have intervals over
    people. Keys: measure, estimate, conf_low, conf_high, n (pairs), n_people (with ``who``), status (``ok``,
    ``no_pairs``; of a correlation ``no_variance`` too).
    """
    people = None if who is None else np.unique(who, return_inverse=True)[1]
    n = {"n": len(steps)} | ({} if people is None else {"n_people": int(people.max(initial=-1)) + 1})
    if not len(steps):
        return [{"measure": name, **n, "status": "no_pairs"} for name in OF_PAIRS]
    rows = []
    for name, values in (("same_answer", steps == 0), ("one_step", steps <= 1)):
        share = float(values.mean())
        low, high = _over(share, values.astype(np.float64) - share, people)
        limits = {"conf_low": max(low, 0.0), "conf_high": min(high, 1.0)}
        rows.append({"estimate": share, **limits, "measure": name})
    related: dict[str, Any] = {"measure": "correlation"}
    if np.ptp(first) > 0 and np.ptp(second) > 0:
        a, b = ((side - side.mean()) / side.std() for side in (first, second))
        r = float((a * b).mean())
        low = high = math.nan
        if 1 - abs(r) > 1e-12:  # else Fisher's scale has no place for it
            low, high = _over(math.atanh(r), (a * b - r * (a**2 + b**2) / 2) / (1 - r**2), people)
        related |= {"estimate": r, "conf_low": math.tanh(low), "conf_high": math.tanh(high)}
    else:
        related["status"] = "no_variance"
    return [{"status": "ok", **row, **n} for row in (related, *rows)]


def _over(estimate: float, influence: Floats, people: npt.NDArray[Any] | None) -> tuple[float, float]:
    """Return the limits of an estimate over people; each adds the sum of the influences of the person's pairs."""
    m = 0 if people is None else int(people.max()) + 1
    if people is None or m < 2:
        return math.nan, math.nan
    each = np.bincount(people, influence) / len(influence)
    reach = float(quantile(float(m - 1))) * math.sqrt(float((each**2).sum()) * m / (m - 1))
    return estimate - reach, estimate + reach
