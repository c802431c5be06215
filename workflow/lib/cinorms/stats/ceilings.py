"""How far a model, or other people, are from people: distances and correlation with a noise ceiling, and flows.

``observed`` is the distance between the two sets of means as they are; ``estimate`` is that between all such people and
all such wordings, with the noise taken out. ``ceiling`` is how close another, independent group of as many people would
come to these people, ``ceiling_all`` to all such people (docs/method/stats/people.md).
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from cinorms.core.arrays import Floats
from cinorms.stats.samples import Sample
from cinorms.stats.wordings import pooled
from cumulink import tails
from rewordings import CONFIDENCE, interval, quantile
from rewordings.arrays import divide

#: Measures of the distance, with what each is.
METRICS = {
    "mean_signed": "Mean over flows of the model's mean less people's: above 0, the model answers higher.",
    "mean_absolute": "Mean over flows of the absolute difference.",
    "std_signed": "Standard deviation over flows of the difference: what is left when all flows are shifted alike.",
    "rms": "Root of the mean over flows of the squared difference.",
}

#: Mean of |Z| for a standard normal Z.
_ABSOLUTE = math.sqrt(2 / math.pi)


def distances(model: Sample, people: Sample) -> pd.DataFrame:
    """Return a row for each of `METRICS`, over the flows with a mean on both sides."""
    both = ~np.isnan(model.means + people.means)
    model, people = model.of_flows(both), people.of_flows(both)
    status = "ok"
    if not both.any():
        status = "no_flows"
    elif len(model.cells) < 2:
        status = "one_flow"
    elif not people.exact and not (people.sizes > 1).any():
        status = "one_rater"
    elif not model.exact and not (model.sizes > 1).any():
        status = "one_template"
    d = model.means - people.means
    observed = (d.mean(), np.abs(d).mean(), d.std(), math.sqrt((d**2).mean())) if len(d) else (np.nan,) * 4
    estimates, ceilings = dict.fromkeys(METRICS, (np.nan,) * 3), dict.fromkeys(METRICS, np.nan)
    if status == "ok":
        shift, freedom = _both(model, people, np.full(len(d), 1 / len(d)))
        mean = float(observed[0])
        _, low, high = interval(mean, shift, freedom)
        spread = _spread(model, people, d, shift)
        nearest, farthest = _from_zero(low, high)
        estimates = {
            "mean_signed": (mean, low, high),
            "mean_absolute": _absolute(model, people, d, shift),
            "std_signed": spread.root(),
            "rms": _Square(mean**2 - shift, nearest**2, farthest**2).plus(spread).root(),
        }
        ceilings = _ceilings(people)
    rows = []
    for name, plain in zip(METRICS, observed, strict=True):
        (estimate, low, high), ceiling_all = estimates[name], ceilings[name] / math.sqrt(2)
        row = {"metric": name, "observed": plain, "estimate": estimate, "conf_low": low, "conf_high": high}
        # A mean absolute difference cannot be freed of the noise of the wordings, so it has no verdict.
        verdict = "no_verdict" if name == "mean_absolute" else _verdict(low, high, ceiling_all)
        rows.append(row | {"ceiling": ceilings[name], "ceiling_all": ceiling_all, "verdict": verdict})
    n_raters = 0 if people.exact else people.cells.shape[1]
    counts = {"n_flows": int(both.sum()), "n_raters": n_raters, "n_templates": model.cells.shape[1]}
    return pd.DataFrame(rows).assign(**counts, status=status)


def _verdict(low: float, high: float, ceiling: float) -> str:
    """Tell whether the model is farther from all such people than another group of as many: the interval decides."""
    if np.isnan(ceiling):
        return "no_verdict"
    nearest, farthest = _from_zero(low, high)
    if nearest > ceiling:
        return "farther"
    return "nearer" if farthest < ceiling else "undecided"


def flow_differences(model: Sample, people: Sample) -> pd.DataFrame:
    """Return, per flow (row of both samples), the model's mean less people's, with Welch's t.

    Both variances are moderated (`samples.moderated`), or a few raters who agree by chance would make any
    difference significant.
    """
    d = model.means - people.means
    (of_model, model_freedom), (of_people, people_freedom) = model.moderated_noise, people.moderated_noise
    variance = of_model + of_people
    freedom = divide(variance**2, of_model**2 / model_freedom + of_people**2 / people_freedom)
    std_err = np.sqrt(variance)
    t = divide(d, std_err)
    none = ["no_people", "no_model", "no_spread"]
    status = np.select([people.sizes == 0, model.sizes == 0, np.isnan(t)], none, "ok")
    tested = status == "ok"
    reach, log10_p = np.full(len(d), np.nan), np.full(len(d), np.nan)
    reach[tested] = quantile(freedom[tested]) * std_err[tested]
    log10_p[tested] = [tails.log10_p(a**2, 1, b) for a, b in zip(t[tested], freedom[tested], strict=True)]
    return pd.DataFrame(
        {
            "people_mean": people.means,
            "model_mean": model.means,
            "difference": d,
            "std_err": np.where(tested, std_err, np.nan),
            "conf_low": d - reach,
            "conf_high": d + reach,
            "statistic": np.where(tested, t, np.nan),
            "log10_p": log10_p,
            "n_raters": np.zeros_like(people.sizes) if people.exact else people.sizes,
            "n_templates": model.sizes,
            "status": status,
        }
    )


def _both(model: Sample, people: Sample, weights: Floats) -> tuple[float, float]:
    """Return the variance of a weighted sum of differences, and its degrees of freedom."""
    return pooled([sample.variance_of(weights) for sample in (model, people)])


def _absolute(model: Sample, people: Sample, d: Floats, shift: float) -> tuple[float, float, float]:
    """Return the mean absolute difference that samples of these sizes show on average, with its interval.

    A flow's expected absolute difference is a smooth function of the true one: its slope is 2 Phi(d / s) - 1, not the
    sign, and its curvature 2 phi(d / s) / s. By the curvature, what shifts all flows alike adds a variance of its own,
    half its square.
    """
    mean = float(np.abs(d).mean())
    s = np.sqrt(model.moderated_noise[0] + people.moderated_noise[0])
    z = divide(d, s)
    slope = np.where(s > 0, 2 * scipy.special.ndtr(z) - 1, np.sign(d))
    curvature = np.nan_to_num(divide(2 * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi), s)).mean()
    variance, freedom = _both(model, people, slope / len(d))
    _, low, high = interval(mean, variance + float(curvature * shift) ** 2 / 2, freedom)
    return mean, max(low, 0.0), high


class _Square(NamedTuple):
    """A squared distance without the noise (it can be below 0), with its interval."""

    estimate: float
    low: float
    high: float

    def plus(self, other: "_Square") -> "_Square":
        """Return the sum of two squares; its interval recovers their variances from their limits (MOVER)."""
        estimate = self.estimate + other.estimate
        low = math.hypot(self.estimate - self.low, other.estimate - other.low)
        high = math.hypot(self.high - self.estimate, other.high - other.estimate)
        return _Square(estimate, estimate - low, estimate + high)

    def root(self) -> tuple[float, float, float]:
        """Return the distance and its limits; squares below 0 count as 0."""
        estimate, low, high = (math.sqrt(max(value, 0.0)) for value in self)
        return estimate, low, high


def _from_zero(low: float, high: float) -> tuple[float, float]:
    """Return the smallest and the largest distance from 0 in an interval."""
    nearest, farthest = sorted((abs(low), abs(high)))
    return (0.0 if low <= 0 <= high else nearest), farthest


def _spread(model: Sample, people: Sample, d: Floats, shift: float) -> _Square:
    """Return the variance over flows of the difference, without the noise.

    Its standard error: the squared influences of raters and templates. These are taken at the observed differences, so
    they hold the part of pure noise twice; it is taken out once. The interval is that of the root, which has equal
    arms: squared again, both limits move up by reach^2 / (4 estimate). Near 0 the root has no such interval: the upper
    limit moves up by half the reach at most, and the lower one only where the variance is shown to differ from 0.
    """
    n, noise = len(d), model.noise + people.noise
    centred = d - d.mean()
    estimate = float((centred**2).mean() - noise.mean() + shift)
    variance, freedom = _both(model, people, 2 * centred / n)
    pure = 2 * float((noise**2).sum()) / n**2
    _, low, high = interval(estimate, max(variance - pure, pure), freedom)
    reach = (high - low) / 2
    moved = reach**2 / (4 * estimate) if estimate > reach / 2 else reach / 2
    return _Square(estimate, low + moved if low > 0 else low, high + moved)


def _ceilings(people: Sample) -> dict[str, float]:
    """Return the distance expected between these people and another group of as many, for each measure."""
    if people.exact:
        return dict.fromkeys(METRICS, np.nan)
    noise = people.noise
    shift = people.variance_of(np.full(len(noise), 1 / len(noise)))[0]
    # The root of an estimated variance is too small: this is the expected standard deviation of n normal values with
    # variance 1. A flow with one rater has the variance of the others.
    n = np.maximum(people.sizes, 2).astype(np.float64)
    expected = np.sqrt(2 / (n - 1)) * np.exp(
        scipy.special.gammaln(n / 2) - scipy.special.gammaln((n - 1) / 2)
    )
    roots = np.sqrt(noise) * divide(np.ones(len(noise)), np.where(people.sizes > 1, expected, 1.0))
    return {
        "mean_signed": math.sqrt(2 * shift) * _ABSOLUTE,
        "mean_absolute": float(roots.mean()) * math.sqrt(2) * _ABSOLUTE,
        "std_signed": math.sqrt(max(2 * (float(noise.mean()) - shift), 0.0)),
        "rms": math.sqrt(2 * float(noise.mean())),
    }


# --- Pearson's r of a model's means with people's over flows, and the largest r that their noise allows
# The interval is over flows as a sample: the infinitesimal jackknife on Fisher's scale, without a normal distribution.
# The ceiling is the root of both reliabilities; a reliability is the share of the variance of the means that is not the
# noise of raters or wordings.


#: Flows that a correlation with an interval needs.
FEWEST_FLOWS = 4


def correlation(model: Sample, people: Sample) -> dict[str, Any]:
    """Return r over the flows with a mean on both sides, its 95% interval and its ceiling.

    Keys: estimate, conf_low, conf_high, ceiling, reliability_model, reliability_people, n_flows, status (``ok``,
    ``few_flows``, ``no_variance``). A reliability is missing where no flow has two raters or templates, and so is the
    ceiling; it is missing too where noise alone would explain the means.
    """
    both = ~np.isnan(model.means + people.means)
    model, people, n = model.of_flows(both), people.of_flows(both), int(both.sum())
    found: dict[str, Any] = dict.fromkeys(("estimate", "conf_low", "conf_high", "ceiling"), np.nan)
    sides = {"reliability_model": reliability(model), "reliability_people": reliability(people)}
    found |= {**sides, "n_flows": n, "status": "ok"}
    if n < FEWEST_FLOWS:
        return found | {"status": "few_flows"}
    x, y = model.means, people.means
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return found | {"status": "no_variance"}
    r, influence = _pearson(x, y)
    low, high = _limits(r, influence)
    ceiling = math.sqrt(math.prod(sides.values()))
    return found | {"estimate": r, "conf_low": low, "conf_high": high, "ceiling": ceiling}


def _pearson(x: Floats, y: Floats) -> tuple[float, Floats]:
    """Return r, and the influence of each flow or pair on it."""
    a, b = ((side - side.mean()) / side.std() for side in (x, y))
    r = float((a * b).mean())
    return r, a * b - r * (a**2 + b**2) / 2


def _limits(r: float, influence: Floats) -> tuple[float, float]:
    """Return the interval of ``r`` from the influence of each flow; missing where r is 1 or -1."""
    n = len(influence)
    if 1 - abs(r) < 1e-12:
        return math.nan, math.nan
    error = math.sqrt(float((influence**2).sum()) / (n * (n - 1)))
    reach = float(quantile(float(n - 1))) * error / (1 - r**2)
    return math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)


def reliability(side: Sample) -> float:
    """Return the share of the variance over flows of the means that is not noise; missing where it is not above 0.

    What raters or wordings shift in all flows alike changes no correlation, so it is no noise here. Numbers that nobody
    drew have reliability 1.
    """
    if side.exact:
        return 1.0
    n = len(side.cells)
    if n < 2 or not (side.sizes > 1).any() or np.ptp(side.means) == 0:
        return math.nan
    shift = side.variance_of(np.full(n, 1 / n))[0]
    # The noise of a mean, less what all flows share, is in the variance over flows with n - 1.
    noise = (float(side.noise.mean()) - shift) * n / (n - 1)
    share = 1 - noise / float(np.var(side.means, ddof=1))  # over flows; only the noise is over units
    return min(share, 1.0) if share > 0 else math.nan


# --- Two groups of people who rated the same flows: how far apart they are, and how far chance puts two such groups
# Chance: both groups are drawn from the same people, so only who was drawn differs. What is expected follows from how
# raters of a flow differ within each group; nothing of the difference between the groups is used. So a second group is
# a test of the noise ceiling.


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
    covariance = _covariance(one) + _covariance(other)
    expected = float(np.trace(covariance)) / len(covariance)
    if not expected > 0:  # nobody differs within a group
        return expected, math.nan, math.nan
    freedom = np.trace(covariance) ** 2 / float((covariance**2).sum())
    parts = [
        (v, n - 1) for side in (one, other) for v, n in zip(side.noise, side.sizes, strict=True) if n > 1
    ]
    tails = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
    limits = scipy.stats.f.ppf(tails, freedom, pooled(parts)[1])
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
        r, influence = _pearson(first, second)
        low = high = math.nan
        if 1 - abs(r) > 1e-12:  # else Fisher's scale has no place for it
            low, high = _over(math.atanh(r), influence / (1 - r**2), people)
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
