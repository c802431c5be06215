"""Link functions of cumulative models: P(Y <= k) = F(theta_k - x'beta)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from cinorms.core.errors import ConfigError
from cinorms.stats.clm.arrays import Floats


@dataclass(frozen=True)
class Link:
    """A distribution function F with density f, in forms that stay exact far out in the tails.

    ``scale`` is roughly its width relative to the normal's; ``cdf`` is F and ``quantile`` its inverse;
    ``log_between(a, b)`` = log(F(a) - F(b)) for a > b, infinite ends allowed; ``log_density`` = log f;
    ``slope`` = f'/f and ``bend`` its derivative at finite points.
    """

    name: str
    scale: float
    cdf: Callable[[Floats], Floats]
    quantile: Callable[[Floats], Floats]
    log_between: Callable[[Floats, Floats], Floats]
    log_density: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    bend: Callable[[Floats], Floats]


def _logit_between(a: Floats, b: Floats) -> Floats:
    """F(a) - F(b) = F(a) F(-b) (1 - exp(b - a)): no cancellation anywhere."""
    log_cdf = np.minimum(a, 0.0) - np.log1p(np.exp(-np.abs(a)))
    log_survival = -np.maximum(b, 0.0) - np.log1p(np.exp(-np.abs(b)))
    return np.asarray(np.log(-np.expm1(b - a)) + log_cdf + log_survival)


def _logit_log_density(x: Floats) -> Floats:
    size = np.abs(x)
    return np.asarray(-size - 2.0 * np.log1p(np.exp(-size)))


def _probit_between(a: Floats, b: Floats) -> Floats:
    """Taken in the lower tail, where the normal distribution function keeps its digits."""
    flip = b > 0
    high, low = np.where(flip, -b, a), np.where(flip, -a, b)
    log_high, log_low = special.log_ndtr(high), special.log_ndtr(low)
    return np.asarray(log_high + np.log(-np.expm1(log_low - log_high)))


def _probit_log_density(x: Floats) -> Floats:
    return np.asarray(-0.5 * x * x - 0.5 * np.log(2 * np.pi))


def _cloglog_between(a: Floats, b: Floats) -> Floats:
    """F(a) - F(b) = exp(-e^b) (1 - exp(-(e^a - e^b)))."""
    low = np.exp(b)
    return np.asarray(-low + np.log(-np.expm1(low - np.exp(a))))


LINKS = {
    link.name: link
    for link in (
        Link(
            "logit",
            1.7,
            special.expit,
            special.logit,
            _logit_between,
            _logit_log_density,
            lambda x: np.asarray(-np.tanh(x / 2)),
            lambda x: np.asarray((np.tanh(x / 2) ** 2 - 1.0) / 2),
        ),
        Link(
            "probit",
            1.0,
            special.ndtr,
            special.ndtri,
            _probit_between,
            _probit_log_density,
            lambda x: -x,
            lambda x: np.full_like(x, -1.0),
        ),
        Link(
            "cloglog",
            1.2,
            lambda x: np.asarray(-np.expm1(-np.exp(x))),
            lambda p: np.asarray(np.log(-np.log1p(-p))),
            _cloglog_between,
            lambda x: np.asarray(x - np.exp(x)),
            lambda x: np.asarray(1.0 - np.exp(x)),
            lambda x: np.asarray(-np.exp(x)),
        ),
    )
}


def link_named(name: str) -> Link:
    """Return the link called ``name``; the error for an unknown one lists all links."""
    if name not in LINKS:
        raise ConfigError(f"link {name!r} is not known; choose one of {sorted(LINKS)}")
    return LINKS[name]
