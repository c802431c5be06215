"""The maximum as statsmodels' OrderedModel finds it, to recompute tables that were published with it."""

import warnings

import numpy as np

from cumulink.arrays import Ints
from cumulink.coding import Coding
from cumulink.errors import ModelError
from cumulink.likelihood import Maximum, Problem, evaluate


def maximise_as_statsmodels(problem: Problem, slots: Ints, y: Ints, coding: Coding) -> Maximum:
    """Return where ``OrderedModel(y, X, distr).fit(method="bfgs")`` stops, on the ungrouped rows.

    The columns of a factor are in the alphabetical order of their levels, as statsmodels' formulas put them: where
    the optimiser stops depends on it. statsmodels estimates log increments of the thresholds; the delta method
    carries their covariance over. Its standard errors come from a numerical Hessian of the log-likelihood.
    Iterations are gradient calls.
    """
    try:
        from statsmodels.miscmodels.ordinal_model import OrderedModel
    except ImportError:
        raise ModelError("estimator 'statsmodels' needs that package: pip install statsmodels") from None
    design = np.zeros((len(y), problem.cross.n_slots))
    design[np.arange(len(y))[:, None], slots] = 1.0
    names = coding.slot_names()
    factor_of = np.searchsorted(coding.offsets, problem.terms, side="right")
    order = np.lexsort(([names[slot][1] for slot in problem.terms], factor_of))
    with warnings.catch_warnings():
        # It warns of non-convergence and of a Hessian that cannot be inverted; both are a status here.
        warnings.simplefilter("ignore")
        model = OrderedModel(y, design[:, problem.terms[order]], distr=problem.link.name)
        # The same function to the last bit, without SciPy's checks of its arguments: most of the time went there.
        model.cdf = problem.link.cdf
        result = model.fit(method="bfgs", disp=False)
        raw = np.asarray(result.params)
        invertible = result.normalized_cov_params is not None
        covariance = np.asarray(result.cov_params()) if invertible else np.full((len(raw), len(raw)), np.nan)
    p = len(problem.terms)
    back = np.append(np.argsort(order), np.arange(p, len(raw)))
    raw, covariance = raw[back], covariance[np.ix_(back, back)]
    increments = np.append(raw[p], np.exp(raw[p + 1 :]))
    k = len(increments)
    # d theta_k / d raw_j: 1 for the first threshold, exp(raw_j) for each increment up to k
    jacobian = np.zeros((k + p, k + p))
    jacobian[:k, p:] = np.tril(np.ones((k, k))) * np.append(1.0, increments[1:])
    jacobian[k:, :p] = np.eye(p)
    point = evaluate(problem, np.concatenate([np.cumsum(increments), raw[:p]]))
    facts = result.mle_retvals
    converged = bool(facts["converged"]) and invertible
    return Maximum(point, jacobian @ covariance @ jacobian.T, int(facts["gcalls"]), converged)
