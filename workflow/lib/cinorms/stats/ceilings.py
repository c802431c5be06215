"""How far a model is from people: distances with a noise ceiling, and the flows on which both differ.

``observed`` is the distance between the two sets of means as they are; ``estimate`` is that between all such people and
all such wordings, with the noise taken out. ``ceiling`` is how close another, independent group of as many people would
come to these people, ``ceiling_all`` to all such people (docs/method/stats/people.md).
"""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from cinorms.core import tails
from cinorms.norms.assessment import divide
from cinorms.stats.arrays import Floats
from cinorms.stats.samples import Sample
from cinorms.stats.wordings import interval, pooled, quantile

#: Measures of the distance, with what each is.
METRICS = {
    "mean_signed": "Mean over flows of the model's mean less people's: above 0, the model answers higher.",
    "mean_absolute": "Mean over flows of the absolute difference.",
    "std_signed": "Standard deviation over flows of the difference: what is left when all flows are shifted alike.",
    "rms": "Root of the mean over flows of the squared difference.",
}

#: Mean of |Z| for a standard normal Z.
_ABSOLUTE = math.sqrt(2 / math.pi)


class Distance(NamedTuple):
    """One measure, with the 95% interval of its estimate."""

    observed: float
    estimate: float = np.nan
    conf_low: float = np.nan
    conf_high: float = np.nan
    ceiling: float = np.nan
    ceiling_all: float = np.nan

    @property
    def verdict(self) -> str:
        """Whether the model is farther from all such people than another group of as many: the interval decides."""
        if np.isnan(self.ceiling):
            return "no_verdict"
        nearest, farthest = _from_zero(self.conf_low, self.conf_high)
        if nearest > self.ceiling_all:
            return "farther"
        return "nearer" if farthest < self.ceiling_all else "undecided"


def distances(model: Sample, people: Sample) -> pd.DataFrame:
    """Return a row for each of `METRICS`, over the flows with a mean on both sides.

    Columns: metric, those of `Distance`, verdict (``farther``, ``undecided``, ``nearer``, ``no_verdict``), n_flows,
    n_raters, n_templates, status (``ok``, ``no_flows``, ``one_template``, ``one_rater``, ``one_flow``).
    """
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
    plain = (d.mean(), np.abs(d).mean(), d.std(), math.sqrt((d**2).mean())) if len(d) else (np.nan,) * 4
    measures = {name: Distance(float(value)) for name, value in zip(METRICS, plain, strict=True)}
    if status == "ok":
        shift, freedom = _both(model, people, np.full(len(d), 1 / len(d)))
        mean = measures["mean_signed"].observed
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
        measures = {
            name: Distance(x.observed, *estimates[name], ceilings[name], ceilings[name] / math.sqrt(2))
            for name, x in measures.items()
        }
    rows = [{"metric": name, **x._asdict(), "verdict": x.verdict} for name, x in measures.items()]
    # A mean absolute difference cannot be freed of the noise of the wordings, so it has no verdict.
    rows[list(METRICS).index("mean_absolute")]["verdict"] = "no_verdict"
    n_raters = 0 if people.exact else people.cells.shape[1]
    counts = {"n_flows": int(both.sum()), "n_raters": n_raters, "n_templates": model.cells.shape[1]}
    return pd.DataFrame(rows).assign(**counts, status=status)


def flow_differences(model: Sample, people: Sample) -> pd.DataFrame:
    """Return, per flow (row of both samples), the model's mean less people's, with Welch's t.

    Both variances are moderated (`samples.moderated`), or a few raters who agree by chance would make any difference
    significant. Columns: people, model, difference, std_err, conf_low, conf_high, statistic, log10_p, n_raters,
    n_templates, status (``ok``, ``no_people``, ``no_model``, ``no_spread``: the values of all flows agree, or no flow
    has two).
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
    log10_p[tested] = [tails.student(*pair) for pair in zip(t[tested], freedom[tested], strict=True)]
    return pd.DataFrame(
        {
            "people": people.means,
            "model": model.means,
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
    from scipy.special import ndtr

    mean = float(np.abs(d).mean())
    s = np.sqrt(model.moderated_noise[0] + people.moderated_noise[0])
    z = divide(d, s)
    slope = np.where(s > 0, 2 * ndtr(z) - 1, np.sign(d))
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
    from scipy.special import gammaln

    if people.exact:
        return dict.fromkeys(METRICS, np.nan)
    noise = people.noise
    shift = people.variance_of(np.full(len(noise), 1 / len(noise)))[0]
    # The root of an estimated variance is too small: this is the expected standard deviation of n normal values with
    # variance 1. A flow with one rater has the variance of the others.
    n = np.maximum(people.sizes, 2).astype(np.float64)
    expected = np.sqrt(2 / (n - 1)) * np.exp(gammaln(n / 2) - gammaln((n - 1) / 2))
    roots = np.sqrt(noise) * divide(np.ones(len(noise)), np.where(people.sizes > 1, expected, 1.0))
    return {
        "mean_signed": math.sqrt(2 * shift) * _ABSOLUTE,
        "mean_absolute": float(roots.mean()) * math.sqrt(2) * _ABSOLUTE,
        "std_signed": math.sqrt(max(2 * (float(noise.mean()) - shift), 0.0)),
        "rms": math.sqrt(2 * float(noise.mean())),
    }
