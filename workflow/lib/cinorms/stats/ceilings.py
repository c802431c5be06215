"""How far a model is from people: distances with intervals over raters and wordings, next to a noise ceiling.

The means of people and of the model both carry the noise of their samples, which makes absolute and squared distances
too large. ``observed`` is the distance between the two sets of means as they are; ``estimate`` is that between all such
people and all such wordings, with the noise taken out. The ceilings show how close another, independent group of as
many people would come: ``ceiling`` to these people (the scale of ``observed``), ``ceiling_all`` to all such people (the
scale of ``estimate``); their ratio is the root of 2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.norms.assessment import divide
from cinorms.stats.samples import Sample
from cinorms.stats.wordings import CONFIDENCE, interval

Floats = npt.NDArray[np.float64]

#: Measures of the distance, with what each is.
METRICS = {
    "mean_signed": "Mean over flows of the model's mean less people's: above 0, the model answers higher.",
    "mean_absolute": "Mean over flows of the absolute difference.",
    "std_signed": "Standard deviation over flows of the difference: what is left when all flows are shifted alike.",
    "rms": "Root of the mean over flows of the squared difference.",
}

#: Why a distance has no numbers, or no interval.
STATUSES = ("ok", "no_flows", "one_template", "one_rater", "one_flow")

#: Whether the model is farther from all such people than another group of as many is: the interval decides. A mean
#: absolute difference cannot be freed of the noise of the wordings, so it has no verdict.
VERDICTS = ("farther", "undecided", "nearer", "no_verdict")

#: Mean of |Z| for a standard normal Z.
_ABSOLUTE = math.sqrt(2 / math.pi)


class Found(NamedTuple):
    """One measure, with the 95% interval of its estimate."""

    observed: float
    estimate: float
    conf_low: float
    conf_high: float
    ceiling: float
    ceiling_all: float


_NOTHING = Found(*[np.nan] * len(Found._fields))


def distances(model: Sample, people: Sample, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Return a row for each of `METRICS`, over the flows with a mean on both sides.

    Columns: metric, those of `Found`, verdict (`VERDICTS`), n_flows, n_raters, n_templates, status (`STATUSES`).
    """
    both = ~np.isnan(model.means + people.means)
    one, other = model.of_flows(both), people.of_flows(both)
    status = _status(one, other)
    found = dict.fromkeys(METRICS, _NOTHING)
    if both.any():
        found = _measures(one, other, confidence, status == "ok")
    rows = [
        {"metric": name, **found[name]._asdict(), "verdict": _verdict(name, found[name])} for name in METRICS
    ]
    counts = {
        "n_flows": int(both.sum()),
        "n_raters": 0 if other.exact else other.cells.shape[1],
        "n_templates": one.cells.shape[1],
    }
    return pd.DataFrame(rows).assign(**counts, status=status)


def _status(model: Sample, people: Sample) -> str:
    if not len(model.cells):
        return "no_flows"
    if len(model.cells) < 2:
        return "one_flow"
    if not people.exact and not (people.sizes > 1).any():
        return "one_rater"
    return "ok" if model.exact or (model.sizes > 1).any() else "one_template"


def _measures(model: Sample, people: Sample, confidence: float, judged: bool) -> dict[str, Found]:
    d = model.means - people.means
    plain = {
        "mean_signed": d.mean(),
        "mean_absolute": np.abs(d).mean(),
        "std_signed": d.std(),
        "rms": math.sqrt((d**2).mean()),
    }
    if not judged:
        return {name: _NOTHING._replace(observed=float(value)) for name, value in plain.items()}
    noise = model.noise + people.noise
    shift, freedom = _both(model, people, np.full(len(d), 1 / len(d)))
    mean = float(d.mean())
    _, low, high = interval(mean, shift, freedom, confidence)
    spread = _spread(model, people, d, noise, shift, confidence)
    ceilings = _ceilings(people)
    found = {
        "mean_signed": Found(mean, mean, low, high, np.nan, np.nan),
        "mean_absolute": _absolute(model, people, d, shift, confidence),
        "std_signed": _rooted(plain["std_signed"], spread),
        "rms": _rooted(plain["rms"], _sum(_squared(mean, low, high, shift), spread)),
    }
    return {
        name: one._replace(ceiling=ceilings[name], ceiling_all=ceilings[name] / math.sqrt(2))
        for name, one in found.items()
    }


def _both(model: Sample, people: Sample, weights: Floats) -> tuple[float, float]:
    """Return the variance of a weighted sum of differences, and its degrees of freedom."""
    parts = [sample.variance_of(weights) for sample in (model, people)]
    variance = sum(part for part, _ in parts)
    below = sum(part**2 / freedom for part, freedom in parts)
    return variance, max(variance**2 / below, 1.0) if below > 0 else 1.0


def _absolute(model: Sample, people: Sample, d: Floats, shift: float, confidence: float) -> Found:
    """Return the mean absolute difference that samples of these sizes show on average.

    A flow's expected absolute difference is a smooth function of the true one: its slope is 2 Phi(d / s) - 1, not the
    sign, and its curvature 2 phi(d / s) / s. By the curvature, what shifts all flows alike adds a variance of its own,
    half its square.
    """
    from scipy.special import ndtr

    mean = float(np.abs(d).mean())
    s = np.sqrt(model.moderated_noise[0] + people.moderated_noise[0])
    z = divide(d, s)
    slope = np.where(s > 0, 2 * ndtr(z) - 1, np.sign(d))
    curvature = np.nan_to_num(divide(2 * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi), s)).mean()
    variance, freedom = _both(model, people, slope / len(d))
    _, low, high = interval(mean, variance + float(curvature * shift) ** 2 / 2, freedom, confidence)
    return Found(mean, mean, max(low, 0.0), high, np.nan, np.nan)


class _Square(NamedTuple):
    """A squared distance without the noise (it can be below 0), with its interval."""

    estimate: float
    low: float
    high: float


def _squared(mean: float, low: float, high: float, variance: float) -> _Square:
    """Return the square of a mean without its noise, from the mean's own interval."""
    nearest, farthest = _from_zero(low, high)
    return _Square(mean**2 - variance, nearest**2, farthest**2)


def _from_zero(low: float, high: float) -> tuple[float, float]:
    """Return the smallest and the largest distance from 0 in an interval."""
    nearest, farthest = sorted((abs(low), abs(high)))
    return (0.0 if low <= 0 <= high else nearest), farthest


def _spread(
    model: Sample, people: Sample, d: Floats, noise: Floats, shift: float, confidence: float
) -> _Square:
    """Return the variance over flows of the difference, without the noise.

    Its standard error: the squared influences of raters and templates. These are taken at the observed differences, so
    they hold the part of pure noise twice; it is taken out once.

    The estimate and its standard error rise together, so an interval of equal arms misses large variances too often.
    That of the root, whose error does not depend on its size, has equal arms: squared again, both limits move up by
    reach^2 / (4 estimate). Near 0 the root has no such interval: the upper limit moves up by half the reach at most,
    and the lower one only where the variance is shown to differ from 0.
    """
    n = len(d)
    centred = d - d.mean()
    estimate = float((centred**2).mean() - noise.mean() + shift)
    variance, freedom = _both(model, people, 2 * centred / n)
    pure = 2 * float((noise**2).sum()) / n**2
    _, low, high = interval(estimate, max(variance - pure, pure), freedom, confidence)
    reach = (high - low) / 2
    moved = reach**2 / (4 * estimate) if estimate > reach / 2 else reach / 2
    return _Square(estimate, low + moved if low > 0 else low, high + moved)


def _sum(one: _Square, other: _Square) -> _Square:
    """Return the sum of two squares; its interval recovers their variances from their limits (MOVER)."""
    estimate = one.estimate + other.estimate
    low = math.hypot(one.estimate - one.low, other.estimate - other.low)
    high = math.hypot(one.high - one.estimate, other.high - other.estimate)
    return _Square(estimate, estimate - low, estimate + high)


def _rooted(observed: float, square: _Square) -> Found:
    """Return the root of a squared distance; those below 0 count as 0."""
    estimate, low, high = (math.sqrt(max(value, 0.0)) for value in square)
    return Found(float(observed), estimate, low, high, np.nan, np.nan)


def _ceilings(people: Sample) -> dict[str, float]:
    """Return the distance expected between these people and another group of as many, for each measure."""
    if people.exact:
        return dict.fromkeys(METRICS, np.nan)
    noise = people.noise
    shift = people.variance_of(np.full(len(noise), 1 / len(noise)))[0]
    # The root of an estimated variance is too small by a factor that is known for normal values.
    roots = np.sqrt(noise) * divide(np.ones(len(noise)), _root_of_variance(people.sizes))
    return {
        "mean_signed": math.sqrt(2 * shift) * _ABSOLUTE,
        "mean_absolute": float(roots.mean()) * math.sqrt(2) * _ABSOLUTE,
        "std_signed": math.sqrt(max(2 * (float(noise.mean()) - shift), 0.0)),
        "rms": math.sqrt(2 * float(noise.mean())),
    }


def _root_of_variance(n: npt.NDArray[np.int64]) -> Floats:
    """Return the expected standard deviation of n normal values with variance 1; 1 where it is not their own."""
    from scipy.special import gammaln

    many = np.maximum(n, 2).astype(np.float64)
    root = np.sqrt(2 / (many - 1)) * np.exp(gammaln(many / 2) - gammaln((many - 1) / 2))
    return np.where(n > 1, root, 1.0)


def _verdict(metric: str, found: Found) -> str:
    if metric == "mean_absolute" or np.isnan(found.ceiling):
        return "no_verdict"
    nearest, farthest = _from_zero(found.conf_low, found.conf_high)
    if nearest > found.ceiling_all:
        return "farther"
    return "nearer" if farthest < found.ceiling_all else "undecided"
