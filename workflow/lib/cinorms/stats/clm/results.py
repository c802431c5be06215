"""What a fit returns: its tables, its statuses, and what can be asked of it later."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import special

from cinorms.core import tails
from cinorms.core.errors import DataError
from cinorms.stats.arrays import Floats, Ints
from cinorms.stats.clm.coding import Coding
from cinorms.stats.clm.information import score_test
from cinorms.stats.clm.likelihood import Problem

#: What a fit can be. ``ok`` and ``separated`` have results; in the second some terms have none.
FIT_STATUSES = ("ok", "separated", "constant_factor", "not_converged", "one_level", "no_data")
#: What a term can be. Only ``ok`` and ``penalised`` (finite by the penalty alone) have numbers.
TERM_STATUSES = ("ok", "penalised", "separated", "aliased", "constant_factor", "not_estimated")

#: Half the width of a 95% interval in standard errors.
Z95 = float(special.ndtri(0.975))

COEFFICIENT_COLUMNS = [
    *("factor", "level", "baseline", "estimate", "std_err", "statistic", "p", "log10_p"),
    *("odds_ratio", "conf_low", "conf_high", "status"),
]


@dataclass(frozen=True, repr=False, eq=False)
class Solved:
    """What a fit keeps for later: coding, problem solved, values found, cluster of each grouped row."""

    coding: Coding
    problem: Problem
    parameters: Floats
    clusters: dict[str, Ints]


@dataclass(frozen=True, eq=False)
class ClmFit:
    """A fitted cumulative link model, or why there is none (``status``, ``reason``).

    ``coefficients`` has one row per term (columns ``COEFFICIENT_COLUMNS``), on the scale of the link: the
    change of the latent answer from the baseline to the level. ``p`` below the float range is a bound,
    ``log10_p`` is exact. ``odds_ratio`` is exp(estimate), logit only; the interval is estimate -/+ 1.96 std_err, with
    clusters by Student's t. Numbers are null where ``status`` says why. ``thresholds`` has ``threshold`` ("-2|-1"),
    ``estimate``, ``std_err``, ``status``. ``n`` counts rows, ``n_missing`` those without an answer (not used),
    ``n_groups`` distinct rows, ``n_clusters`` clusters by the name of their column.
    Under separation ``log_likelihood`` is the value approached and ``aic`` counts every parameter.
    """

    status: str
    reason: str
    coefficients: pd.DataFrame
    thresholds: pd.DataFrame
    link: str
    estimator: str
    levels: tuple[int, ...]
    n: int
    n_missing: int
    n_groups: int = 0
    n_clusters: dict[str, int] = field(default_factory=dict)
    iterations: int = 0
    log_likelihood: float | None = None
    null_log_likelihood: float | None = None
    aic: float | None = None
    mcfadden_r2: float | None = None
    solved: Solved | None = None

    def proportional_odds_test(self) -> pd.DataFrame:
        """Test by score that each term has one coefficient for all thresholds: per term, per factor, overall.

        Columns factor, level (null for a whole factor; both null overall), statistic (chi-square), df, p,
        log10_p, status. ``status`` is ``ok``, ``separated`` (no test where a term has no finite value),
        ``not_identified`` (some answer is too rare for coefficients of its own), ``clustered`` (the test
        needs independent rows) or ``two_levels`` (one threshold: nothing to test). Raises DataError if there is no fit.
        """
        if self.solved is None:
            raise DataError(
                f"the model was not fitted ({self.status}: {self.reason}); look at its status first"
            )
        status = ""
        if self.n_clusters:
            status = "clustered"
        elif len(self.levels) == 2:
            status = "two_levels"
        elif {"separated", "penalised"} & {*self.coefficients["status"], *self.thresholds["status"]}:
            status = "separated"
        return score_test(self.solved.problem, self.solved.parameters, self.solved.coding, status)


@dataclass(frozen=True, eq=False)
class ClmmFit:
    """A fitted mixed model, or why there is none.

    ``coefficients`` and ``thresholds`` are those of ``ClmFit``, here given the group's intercept.
    ``sd`` is the standard deviation sigma of each random intercept on the scale of the link, by the name of
    its group, ``sd_std_err`` its standard error, ``n_clusters`` its number of groups. ``status`` is
    ``ok``, ``not_converged`` or what keeps ``fit_clm`` from a finite fit (``separated``, ``one_level``,
    ``no_data``, ``constant_factor``).
    """

    status: str
    reason: str
    coefficients: pd.DataFrame
    thresholds: pd.DataFrame
    link: str
    nodes: int
    n: int
    n_clusters: dict[str, int] = field(default_factory=dict)
    sd: dict[str, float] = field(default_factory=dict)
    sd_std_err: dict[str, float] = field(default_factory=dict)
    log_likelihood: float | None = None
    aic: float | None = None


def inference(
    estimate: Floats, std_err: Floats, link: str, freedom: Floats | None = None
) -> dict[str, Floats]:
    """Return the columns ``estimate`` to ``conf_high``: estimate / std_err, two-sided p, 95% interval.

    They refer to the normal distribution, or to Student's t with ``freedom`` degrees of freedom.
    """
    freedom = np.full(len(estimate), np.inf) if freedom is None else freedom
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = estimate / std_err
        odds = np.exp(estimate) if link == "logit" else np.full(len(z), np.nan)
    half = np.where(np.isinf(freedom), Z95, special.stdtrit(freedom, 0.975)) * std_err
    log10_p = np.array(
        [
            tails.normal(value) if np.isinf(df) or np.isnan(value) else tails.student(value, df)
            for value, df in zip(z, freedom, strict=True)
        ]
    )
    columns = (estimate, std_err, z, tails.to_p(log10_p), log10_p, odds, estimate - half, estimate + half)
    return dict(zip(COEFFICIENT_COLUMNS[3:-1], columns, strict=True))
