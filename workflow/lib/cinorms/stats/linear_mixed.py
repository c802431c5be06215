"""Linear mixed model with one random intercept: y = x'beta + u_g + e, for ratings on which steps count equally.

Variances are estimated by restricted maximum likelihood (REML), coefficients by generalised least squares. Their
standard errors are cluster-robust: they hold also where the model of the errors does not. With two kinds of clusters
(raters and flows) the sums over each are added, and the sum over cells, which both include, is taken off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cinorms.core.errors import DataError
from cinorms.stats.arrays import Floats, Ints, clustered, sums_by

#: Name of the first coefficient.
INTERCEPT = "(Intercept)"


@dataclass(frozen=True)
class LinearFit:
    """A fitted model. ``terms`` has factor, level, baseline and estimate of each coefficient, the intercept first.

    ``influence`` is what each row of the data adds to each coefficient (rows x coefficients; the sum is 0), and
    ``clusters`` the cluster of each row, from 0, by name.
    """

    terms: pd.DataFrame
    influence: Floats
    clusters: Mapping[str, Ints]
    sd_group: float
    sd_residual: float
    n: int

    def count(self, name: str) -> int:
        """Return the number of clusters of a kind."""
        return int(self.clusters[name].max()) + 1

    @property
    def freedom(self) -> float:
        """Degrees of freedom of an interval: those of the kind with fewest clusters."""
        return min(self.count(name) for name in self.clusters) - 1.0

    def variances(self) -> Floats:
        """Return the cluster-robust variance of each coefficient."""
        return clustered([*self.clusters.values()], lambda codes: sums_by(codes, self.influence))[0]


def fit_linear_mixed(
    frame: pd.DataFrame,
    outcome: str,
    factors: Sequence[str],
    group: str,
    clusters: Sequence[str],
    baselines: Mapping[str, str],
) -> LinearFit:
    """Fit ``outcome`` on ``factors`` with a random intercept for each value of the column ``group``.

    ``clusters`` names one or two columns whose rows may be correlated. Raises ``DataError`` where the factors cannot be
    told apart in these rows, or a kind of cluster has fewer than two.
    """
    from scipy.optimize import minimize_scalar

    from cinorms.stats.clm import code_factors

    coding, slots = code_factors(frame, list(factors), dict(baselines))
    names = [part for at, part in enumerate(coding.slot_names()) if at in set(coding.term_slots)]
    dummies = ((slots == slot).any(axis=1).astype(float) for slot in coding.term_slots)
    x = np.column_stack([np.ones(len(frame)), *dummies])
    if np.linalg.matrix_rank(x) < x.shape[1]:
        raise DataError("the levels of the factors cannot be told apart in these rows")
    codes = {name: pd.factorize(frame[name])[0].astype(np.intp) for name in {group, *clusters}}
    for name in clusters:
        if codes[name].max(initial=0) < 1:
            raise DataError(f"all rows have one {name}; nothing shows how others would differ")
    y, member = frame[outcome].to_numpy(dtype=np.float64), codes[group]
    sizes = np.bincount(member)

    def deviance(log_ratio: float) -> float:
        ratio = float(np.exp(log_ratio))
        _, bread, _, _, within = _solve(x, y, member, ratio)
        return float(
            np.log1p(ratio * sizes).sum()
            - np.linalg.slogdet(bread)[1]
            + (len(y) - x.shape[1]) * np.log(max(within, 1e-300))
        )

    # The variance of the intercepts over that of the residuals, by REML; at the lower end they have no spread.
    log_ratio = minimize_scalar(deviance, bounds=(-15.0, 10.0), method="bounded", options={"xatol": 1e-9}).x
    ratio = 0.0 if log_ratio < -14.9 else float(np.exp(log_ratio))
    beta, bread, shrunk_x, left, within = _solve(x, y, member, ratio)
    terms = pd.DataFrame([(INTERCEPT, "", ""), *names], columns=["factor", "level", "baseline"])
    return LinearFit(
        terms.assign(estimate=beta),
        (shrunk_x * left[:, None]) @ bread,
        {name: codes[name] for name in clusters},
        float(np.sqrt(ratio * within)),
        float(np.sqrt(within)),
        len(y),
    )


def _shrunk(values: Floats, member: Ints, weight: Floats) -> Floats:
    """Return the inverse of the rows' covariance (in units of the residual variance) times ``values``."""
    return np.asarray(values - (weight[:, None] * sums_by(member, values))[member])


def _solve(x: Floats, y: Floats, member: Ints, ratio: float) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Return coefficients, (x'Wx)^-1, Wx, residuals and the REML residual variance at a ratio of variances."""
    weight = np.asarray(ratio / (1 + ratio * np.bincount(member)), dtype=np.float64)
    shrunk = _shrunk(x, member, weight)
    bread: Floats = np.asarray(np.linalg.inv(x.T @ shrunk), dtype=np.float64)
    beta: Floats = bread @ (shrunk.T @ y)
    left: Floats = y - x @ beta
    within = float((left * _shrunk(left[:, None], member, weight)[:, 0]).sum()) / (len(y) - x.shape[1])
    return beta, bread, shrunk, left, within
