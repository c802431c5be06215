"""Cumulative link mixed models: a random intercept for each group of rows, or two that cross."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import linalg, optimize

from cumulink.arrays import Floats, Ints, group_rows
from cumulink.errors import ModelError, unknown
from cumulink.formula import Formula, parse
from cumulink.likelihood import (
    Problem,
    carried_over,
    ends,
    evaluate,
    row_derivatives,
    third_derivatives,
)
from cumulink.model import fit
from cumulink.results import ClmResult, Solved, covariance_table, inference

#: A standard deviation below this (in units of the link) is none: at 0 the likelihood has an edge, not a maximum.
NO_SPREAD = 0.01
#: Gradient left, in units of the standard errors, at which the fit has converged.
CONVERGED = 1e-3
#: Sigmas to begin with, one after the other, and climbs from each.
STARTS = (0.5, 4.0)
CLIMBS = 4
#: Variance of the latent outcome about its predictor (logit); only the number of steps depends on it.
LATENT_VARIANCE = 3.3


def clmm(
    formula: str,
    data: pd.DataFrame,
    *,
    link: str = "logit",
    baselines: dict[str, str] | None = None,
    df: Mapping[str, float] | None = None,
) -> ClmResult:
    """Fit a cumulative link mixed model: ordinal regression with one random intercept, or two that cross.

    ``P(Y <= k) = F(theta_k - x'beta - sigma_1 v_g - sigma_2 w_h)`` in a row of the groups g and h, with v and w
    standard normal. Coefficients hold within a group; those of `clm` are averages over groups, and smaller. The
    integral over v and w is Laplace's approximation.

    Parameters
    ----------
    formula
        As for `clm`, with ``(1 | group)`` for each random intercept.
    data, link, baselines
        As for `clm`.
    df
        Degrees of freedom of Student's t, by the name of a factor. Default: the normal distribution. A factor that
        differs only between a few groups rests on these.

    Returns
    -------
    ClmResult
        With `ClmResult.sd` and `ClmResult.sd_std_err`.

    Raises
    ------
    ModelError, DataError
        For columns, settings and values that cannot be used.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from cumulink import clmm
    >>> rng = np.random.default_rng(1)
    >>> data = pd.DataFrame({"judge": np.arange(900) % 30, "roast": rng.choice(["dark", "light"], 900)})
    >>> taste = rng.normal(scale=1.2, size=30)[data["judge"]] + (data["roast"] == "light") + rng.logistic(size=900)
    >>> data["rating"] = np.digitize(taste, [-1, 1, 2]) + 1
    >>> fit = clmm("rating ~ roast + (1 | judge)", data)
    >>> fit.params.round(2).to_dict(), round(fit.sd["judge"], 2)
    ({'roast[T.light]': 0.93, '1|2': -1.38, '2|3': 0.52, '3|4': 1.55}, 0.88)
    """
    parsed = parse(formula)
    if not 1 <= len(parsed.groups) <= 2:
        raise ModelError(f"formula {formula!r}: write one random intercept or two, such as (1 | judge)")
    for factor in df or ():
        if factor not in parsed.factors:
            raise unknown("factor of the formula for df", factor, parsed.factors)
    return _fit(parsed, data, link, baselines, df or {})


def _fit(
    formula: Formula,
    data: pd.DataFrame,
    link: str,
    baselines: dict[str, str] | None,
    df: Mapping[str, float],
) -> ClmResult:
    groups = formula.groups
    start = fit(formula, data, link, baselines=baselines)
    empty = replace(
        start, log_likelihood=None, aic=None, mcfadden_r2=None, covariance=None, solved=None, n_clusters={}
    )
    solved = start.solved
    unidentified = "" if solved is None else _unidentified(solved)
    if solved is None or unidentified:
        blank = dict.fromkeys(inference(*np.zeros((3, 0))), np.nan)
        tables = start.coefficients.assign(**blank), start.thresholds.assign(estimate=np.nan, std_err=np.nan)
        unfitted, cuts = (table.replace({"status": {"ok": "not_estimated"}}) for table in tables)
        if unidentified:
            empty = replace(empty, status="unidentified", reason=unidentified)
        return replace(empty, coefficients=unfitted, thresholds=cuts)
    parameters, covariance, log_likelihood, converged = _maximise(
        Intercepts(solved.problem, [solved.clusters[name] for name in groups]), solved, len(groups)
    )
    kept = [name for name, sd in _by_name(groups, abs(parameters)).items() if sd >= NO_SPREAD]
    if len(groups) > 1 and len(kept) == 1:
        (lost,) = set(groups) - set(kept)
        rest = _fit(formula._replace(groups=(kept[0],)), data, link, baselines, df)
        reason = f"rows that differ in {lost} differ no more than others: its intercept has no spread"
        sd = {**rest.sd, lost: 0.0} if rest.sd else {}
        return replace(rest, sd=sd, reason=rest.reason or reason, n_clusters=start.n_clusters)
    if not converged:
        parameters, covariance = np.full_like(parameters, np.nan), np.full_like(covariance, np.nan)
    std_err = np.sqrt(np.diag(covariance))
    k, fitted = len(start.thresholds), start.coefficients["status"].isin(["ok", "separated"]).to_numpy()
    hidden = solved.problem.lost
    for numbers in (parameters, std_err):
        numbers[: len(hidden)][hidden] = np.nan
    estimates, errors = np.full((2, len(fitted)), np.nan)
    estimates[fitted], errors[fitted] = parameters[k : -len(groups)], std_err[k : -len(groups)]
    df_of_terms = start.coefficients["factor"].map(dict(df)).fillna(np.inf)
    word = {"ok": "ok" if converged else "not_estimated"}
    terms = start.coefficients.assign(
        **inference(estimates, errors, np.asarray(df_of_terms, dtype=np.float64), link)
    )
    cuts = start.thresholds.assign(estimate=parameters[:k], std_err=std_err[:k], df=np.inf)
    of_terms = covariance[: -len(groups), : -len(groups)]
    return replace(
        empty,
        status=start.status if converged else "not_converged",
        reason=start.reason if converged else "the maximum of the marginal likelihood was not reached",
        coefficients=terms.replace({"status": word}),
        thresholds=cuts.replace({"status": word}),
        covariance=covariance_table(terms, cuts, of_terms) if converged else None,
        n_clusters=start.n_clusters,
        sd=_by_name(groups, abs(parameters)) if converged else {},
        sd_std_err=_by_name(groups, std_err) if converged else {},
        log_likelihood=log_likelihood if converged else None,
        aic=2 * len(parameters) - 2 * log_likelihood if converged else None,
    )


def _unidentified(solved: Solved) -> str:
    """Return why an intercept cannot be told from the noise of rows, or from the other intercept; else nothing."""
    open_rows = solved.problem.upper | solved.problem.lower  # others are certain, whatever the intercept
    groups = {name: codes[open_rows] for name, codes in solved.clusters.items()}
    for name, codes in groups.items():
        if np.bincount(codes, solved.problem.w[open_rows]).max(initial=0) < 2:
            return f"no {name} has two rows, so its intercept cannot be told from the noise of a row"
    if (
        len(groups) > 1
        and len({len(np.unique(codes)) for codes in (*groups.values(), group_rows([*groups.values()])[1])})
        < 2
    ):
        return f"{' and '.join(groups)} group the rows alike, so their intercepts cannot be told apart"
    return ""


def _by_name(groups: Sequence[str], values: Floats) -> dict[str, float]:
    """Return the last of ``values``, one for each group."""
    return {name: float(value) for name, value in zip(groups, values[-len(groups) :], strict=True)}


def _maximise(mixed: "Intercepts", start: Solved, n_groups: int) -> tuple[Floats, Floats, float, bool]:
    """Return the parameters at the maximum, their covariance, the log-likelihood, and if it is one.

    Where the climb ends short of it, it goes on from there in units of the curvature found there: far from the start
    (large sigmas) the first units no longer fit. If that fails too, it begins again with larger sigmas.
    """
    # Under separation only the directions in which the likelihood is not constant.
    problem, basis = start.problem, linalg.null_space(start.problem.null.T)
    information = basis.T @ evaluate(problem, start.parameters).information @ basis
    # In units of the covariance of the model without groups the surface is nearly round.
    root = basis @ linalg.cholesky(linalg.inv(information), lower=True)
    usual = linalg.block_diag(root, 0.1 * np.eye(n_groups))
    failed = np.full((len(usual), len(usual)), np.nan)
    for sigma in STARTS:
        # Given the intercepts, all coefficients are larger than without them.
        wider = np.sqrt(1 + n_groups * sigma**2 / LATENT_VARIANCE)
        reached = np.append(start.parameters * wider, [sigma] * n_groups)
        units = usual
        for _ in range(CLIMBS):
            value, reached, gradient, hessian = _climb(mixed, reached, units)
            try:
                inverse = linalg.cho_solve(linalg.cho_factor(hessian), np.eye(len(hessian)))
            except (linalg.LinAlgError, ValueError):
                break
            if float(gradient @ inverse @ gradient) < CONVERGED**2:
                return reached, units @ inverse @ units.T, value, True
            units = units @ linalg.cholesky(inverse, lower=True)
    return reached, failed, float("nan"), False


def _climb(mixed: "Intercepts", origin: Floats, units: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Return the value reached and where, and there gradient and curvature of minus the log-likelihood in ``units``."""

    def downhill(x: Floats) -> tuple[float, Floats]:
        value, gradient = mixed.evaluate(origin + units @ x)
        return -value, -gradient @ units

    x = np.zeros(units.shape[1])
    found = optimize.minimize(downhill, x, jac=True, method="BFGS", options={"gtol": 1e-4})
    gradient, step = downhill(found.x)[1], 1e-3
    # One-sided: in these units the curvature changes by a thousandth of its change over a standard error.
    columns = np.array([(downhill(found.x + e)[1] - gradient) / step for e in step * np.eye(len(x))])
    return -float(found.fun), origin + units @ found.x, gradient, (columns + columns.T) / 2


# --- The marginal likelihood


@dataclass(frozen=True)
class _Blocks:
    """E, the inverse of minus the second derivatives at the modes, and the logarithm of its determinant.

    ``first`` is the diagonal of E in the first group, ``between`` E of both, ``second`` E in the second;
    ``solve`` multiplies by E.
    """

    first: Floats
    between: Floats
    second: Floats
    log_det: float
    ratio: Floats
    diagonal: Floats

    def solve(self, v: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Return E (v, w)."""
        below = self.second @ (w - self.ratio.T @ v)
        return v / self.diagonal - self.ratio @ below, below


class Intercepts:
    """The marginal likelihood with an intercept for each group of rows, or with two that cross; remembers the modes.

    P(Y_i <= k) = F(theta_k - x_i'beta - s_i), s_i = sigma_1 v_g(i) + sigma_2 w_h(i), all v and w standard normal. The
    integral over them is Laplace's approximation about their joint mode. Its matrix of second derivatives is diagonal
    for the larger kind of groups, which is the first here, so that all linear algebra is on the (small) second kind.
    With one kind of groups, the second is one group without an intercept (sigma 0).
    """

    def __init__(self, problem: Problem, groups: Sequence[Ints]) -> None:
        self.problem = problem
        #: Which of the sigmas is that of the first kind, and which that of the second.
        self.order = sorted(range(len(groups)), key=lambda kind: -groups[kind].max())
        ordered = [groups[kind] for kind in self.order]
        self.first, self.second = ordered if len(ordered) > 1 else (ordered[0], np.zeros_like(ordered[0]))
        self.n_first, self.n_second = int(self.first.max()) + 1, int(self.second.max()) + 1
        self.cell = self.first * self.n_second + self.second
        self.v, self.w = np.zeros(self.n_first), np.zeros(self.n_second)

    def _sums(self, rows: Floats) -> tuple[Floats, Floats]:
        return (
            np.bincount(self.first, rows, self.n_first).astype(np.float64),
            np.bincount(self.second, rows, self.n_second).astype(np.float64),
        )

    def _shift(self, sigmas: Floats, v: Floats, w: Floats) -> Floats:
        return np.asarray(sigmas[0] * v[self.first] + sigmas[1] * w[self.second])

    def _blocks(self, bend: Floats, sigmas: Floats) -> _Blocks:
        """Invert I + Z'DZ, D = ``bend`` of the rows, by the complement of its diagonal first block."""
        of_first, of_second = self._sums(bend)
        cells = np.bincount(self.cell, bend, self.n_first * self.n_second)
        diagonal = 1 + sigmas[0] ** 2 * of_first
        between = sigmas[0] * sigmas[1] * cells.reshape(self.n_first, self.n_second)
        ratio = between / diagonal[:, None]
        rest = np.diag(1 + sigmas[1] ** 2 * of_second) - between.T @ ratio
        factor = linalg.cholesky(rest, lower=True)
        second = linalg.cho_solve((factor, True), np.eye(self.n_second))
        across = -ratio @ second
        log_det = float(np.log(diagonal).sum() + 2 * np.log(np.diag(factor)).sum())
        return _Blocks(1 / diagonal - (across * ratio).sum(axis=1), across, second, log_det, ratio, diagonal)

    def _find_modes(self, a: Floats, b: Floats, sigmas: Floats) -> tuple[Floats, Floats]:
        """Return the mode of the concave log p(y | v, w) - (v'v + w'w)/2 by Newton's method."""
        v, w = self.v, self.w
        for _ in range(50):
            shift = self._shift(sigmas, v, w)
            rows = row_derivatives(self.problem, a - shift, b - shift)
            _, ga, gb, haa, hab, hbb = (self.problem.w * d for d in rows)
            push = self._sums(-(ga + gb))
            blocks = self._blocks(-(haa + 2 * hab + hbb), sigmas)
            step_v, step_w = blocks.solve(sigmas[0] * push[0] - v, sigmas[1] * push[1] - w)
            size = max(np.abs(step_v).max(), np.abs(step_w).max())
            # Far from the mode a full step may overshoot; shortened, all of it points uphill still.
            short = min(1.0, 2 / size) if size > 0 else 1.0
            v, w = v + short * step_v, w + short * step_w
            # Newton's error is about the square of its last step.
            if size < 1e-6:
                break
        self.v, self.w = v, w
        return v, w

    def evaluate(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient in thresholds, beta and the sigmas."""
        n_sigmas = len(self.order)
        sigmas = np.append(parameters[-n_sigmas:][self.order], 0.0)
        a, b = ends(self.problem, parameters[:-n_sigmas])
        if (a <= b).any():
            return -np.inf, np.zeros_like(parameters)
        v, w = self._find_modes(a, b, sigmas)
        shift = self._shift(sigmas, v, w)
        a, b, weight = a - shift, b - shift, self.problem.w
        rows = row_derivatives(self.problem, a, b)
        log_p, ga, gb, haa, hab, hbb = (weight * d for d in rows)
        bend_a, bend_b = (-weight * d for d in third_derivatives(self.problem, a, b, rows))
        bend, push = -(haa + 2 * hab + hbb), -(ga + gb)
        blocks = self._blocks(bend, sigmas)
        value = float(log_p.sum() - (v @ v + w @ w) / 2 - blocks.log_det / 2)
        # e1, e2: E z of each row in its two groups; variance: z'E z, the row's uncertainty of its shift.
        between = blocks.between[self.first, self.second]
        e1 = sigmas[0] * blocks.first[self.first] + sigmas[1] * between
        e2 = sigmas[0] * between + sigmas[1] * np.diag(blocks.second)[self.second]
        variance = sigmas[0] * e1 + sigmas[1] * e2
        # The modes move with the parameters: c = E times what moving them does to the determinant.
        tilt = self._sums(variance * (bend_a + bend_b) / 2)
        c_first, c_second = blocks.solve(sigmas[0] * tilt[0], sigmas[1] * tilt[1])
        t = self._shift(sigmas, c_first, c_second)
        rows_a = ga - t * (haa + hab) - variance * bend_a / 2
        rows_b = gb - t * (hab + hbb) - variance * bend_b / 2
        by_shift = push - t * bend + variance * (bend_a + bend_b) / 2
        by_sigma = [
            float((by_shift * at + push * c - bend * e).sum())
            for at, c, e in (
                (v[self.first], c_first[self.first], e1),
                (w[self.second], c_second[self.second], e2),
            )
        ]
        of_kinds = [by_sigma[kind] for kind in self.order]
        return value, np.append(carried_over(self.problem, rows_a, rows_b), of_kinds)
