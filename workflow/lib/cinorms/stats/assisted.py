"""People's means over all flows, or for each flow, from a few ratings and what predicts them (a model's answers).

`slices` are prediction-powered estimates (PPI++) of the means over all flows of a design, or over parts of them. They
are valid whatever the model answers, if it did not see these ratings and the rated flows are drawn at random from all;
raters are a sample of raters. A model that saw the ratings reproduces their errors, and no interval shows it.
They cannot reduce the noise of who rated: if raters differ in strictness, that part stays, however good the model.

`estimate_flows` is about every flow, rated or not (Fay and Herriot 1979). The mean of people for a flow is a linear
function of the predictors (a model's mean answers, factors) plus the flow's own part; the own parts are normal with one
variance. The intervals hold their 95% over flows, on average, and need the rated flows to be like the others. More in
docs/method/stats/people.md.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.norms.assessment import divide
from cinorms.stats.arrays import Floats, Ints, group_rows, sums_by, two_way
from cinorms.stats.samples import Sample, moderated
from cinorms.stats.wordings import FEWEST, Units, interval, quantile, spread

ALL_FLOWS = "all flows"

#: The status of an estimate with a model that may have seen the ratings. There is none that holds: on rated flows its
#: answers may be the ratings, their errors included, and on others anything. No split of these raters or flows tells.
MAY_HAVE_SEEN = "may_have_seen"

#: Rated flows that a model's weight needs, and those that estimates by flow need beyond the number of coefficients.
FEWEST_FLOWS = 4

_WITH_MODEL = ("estimate", "std_err", "conf_low", "conf_high", "weight")
_NUMBERS = ("plain_low", "plain_high", *_WITH_MODEL)


def slices(
    flows: pd.DataFrame, ratings: pd.DataFrame, by: Sequence[str] = (), seen: bool = False
) -> pd.DataFrame:
    """Return people's mean over all flows, and over the flows of each level of the factors ``by``.

    ``flows``: a row per flow of the design with its factors and ``model``, the model's answer; ``ratings``: flow,
    rater, rating. Flows without a model's answer, and their ratings, are left out. ``seen``: the model may have seen
    the ratings; then there is no estimate with it, as nothing in these ratings shows how far it is wrong elsewhere.

    Columns: factor, level, n_flows, plain, plain_low, plain_high (people alone), estimate, std_err, conf_low, conf_high
    (with the model), weight, n_ratings, n_raters, n_effective (ratings that people alone would need for the same
    standard error), status (``ok``, ``one_rater``, ``no_ratings``, `MAY_HAVE_SEEN`). Intervals are over raters and
    flows.
    """
    known = flows[flows["model"].notna()].set_index("flow")
    rated = ratings[ratings["flow"].isin(known.index) & ratings["rating"].notna()]
    raters = np.unique(rated["rater"].to_numpy(), return_inverse=True)[1].astype(np.int64)
    row = known.index.get_indexer(pd.Index(rated["flow"]))
    answers = known["model"].to_numpy(dtype=np.float64)
    people = rated["rating"].to_numpy(dtype=np.float64)
    parts = []
    for factor in (ALL_FLOWS, *by):
        column = pd.Categorical([ALL_FLOWS] * len(known) if factor == ALL_FLOWS else known[factor])
        of_flows = column.codes.astype(np.int64)
        size = np.bincount(of_flows, minlength=len(column.categories))
        of_all = divide(np.bincount(of_flows, answers, minlength=len(size)), size)
        cell = of_flows[row]
        member = np.equal.outer(np.arange(len(size)), cell).astype(np.float64)
        # Row c takes the mean of the ratings of slice c.
        operator = np.nan_to_num(divide(member, member.sum(axis=1, keepdims=True)))
        plain, of_rated, count = operator @ people, operator @ answers[row], (operator != 0).sum(axis=1)
        by_rater = sums_by(raters, operator.T).T
        share, n_raters = divide(by_rater, by_rater.sum(axis=1, keepdims=True)), (by_rater > 0).sum(axis=1)
        of_ratings, of_answers = (
            operator.T * (x - mean[cell])[:, None] for x, mean in ((people, plain), (answers[row], of_rated))
        )
        by_flow = sums_by(row, operator.T).T  # sums to 1 but where nothing is rated
        n_rated = (by_flow > 0).sum(axis=1)
        nothing = 1e-18 * (operator**2).sum(axis=1) * float((answers[row] ** 2).sum() / max(len(row), 1))
        weight, below = _tuned(of_ratings, of_answers, nothing, n_rated)
        # Rated flows are a draw from those of the design: what they add vanishes as all of them are rated.
        left = 1 - n_rated / np.maximum(size, 1)
        # The weight is an estimate from these flows, too: it adds its own error, and takes a degree of freedom.
        follows = 1 - np.nan_to_num((of_rated - of_all) / below) * of_answers
        fitted = (of_ratings - weight * of_answers) * follows
        alone, together = (
            _spread(x, (raters, share), (row, by_flow), left, lost)
            for x, lost in ((of_ratings, 0.0), (fitted, 1.0 * ~np.isnan(below)))
        )
        estimate = plain - weight * (of_rated - of_all)
        plain_error, *of_plain = interval(plain, *alone)
        std_err, *limits = interval(estimate, *together)
        status = np.select([count == 0, n_raters < FEWEST], ["no_ratings", "one_rater"], "ok")
        numbers = (*of_plain, estimate, std_err, *limits, weight)
        n_effective = count * divide(plain_error**2, std_err**2)
        table = pd.DataFrame(
            {"factor": factor, "level": [str(level) for level in column.categories], "n_flows": size}
            | {"plain": np.where(count > 0, plain, np.nan)}
            | {name: np.where(status == "ok", x, np.nan) for name, x in zip(_NUMBERS, numbers, strict=True)}
            | {"n_ratings": count, "n_raters": n_raters}
            | {"n_effective": np.where(status == "ok", n_effective, np.nan), "status": status}
        )
        parts.append(table)
    return _withheld(pd.concat(parts, ignore_index=True), seen)


def _tuned(of_ratings: Floats, of_answers: Floats, nothing: Floats, n_rated: Ints) -> tuple[Floats, Floats]:
    """Return the weight of the model's answers in each slice, and what it was divided by (NaN: there is no weight).

    It makes the variance smallest, tuned over ratings, not over raters. Flows are drawn apart from raters, so both have
    the same optimum, and there are more ratings. Any weight is valid; the interval is over raters. A model that the
    estimates describe exactly has no error to take out, but rounding errors (``nothing``).
    """
    top, below = (of_ratings * of_answers).sum(axis=0), (of_answers**2).sum(axis=0)
    below = np.where((below > nothing) & (n_rated >= FEWEST_FLOWS), below, np.nan)
    return np.nan_to_num(top / below), below


def _withheld(table: pd.DataFrame, seen: bool) -> pd.DataFrame:
    """Return the table, without what rests on a model that may have ``seen`` the ratings."""
    ok = (table["status"] == "ok") & seen
    table.loc[ok, [*_WITH_MODEL, "n_effective"]] = np.nan
    table.loc[ok, "status"] = MAY_HAVE_SEEN
    return table


def _spread(
    influence: Floats,
    of_raters: tuple[Ints, Floats],
    of_flows: tuple[Ints, Floats],
    left: Floats,
    lost: float | Floats,
) -> tuple[Any, Any]:
    """Return the variance of estimates (columns of ``influence``, by rating) over raters and drawn flows.

    Of both the codes of the ratings and the weights; ``left`` is the part of the flows that is not rated, ``lost`` the
    degrees of freedom that a fit to the flows took. Both sums hold the noise of single ratings, which counts once.
    """
    ways = (of_raters, of_flows)
    by_way = (Units(np.ascontiguousarray(sums_by(codes, influence).T), weight) for codes, weight in ways)
    raters, flows = map(spread, by_way)
    cells = sums_by(group_rows([of_raters[0], of_flows[0]])[1], influence)
    rest = (cells**2).sum(axis=0)
    freedom = np.maximum(flows[1] - lost, 1.0)
    drawn = np.where(np.isfinite(flows[0]), flows[0], 0.0) * np.maximum(flows[1] / freedom, 1.0)
    return two_way(raters, (left * drawn, freedom), left * np.minimum(rest, drawn))


def estimate_flows(people: Sample, predictors: Floats) -> pd.DataFrame:
    """Return an estimate of people's mean for every flow (row of both).

    ``predictors``: flows x predictors, without a column of ones; a flow that lacks one gets no estimate.
    Columns: direct (mean of the ratings), n_raters, predicted, estimate, std_err, conf_low, conf_high, weight (of the
    flow's own ratings), n_effective (raters that would give the direct mean the same standard error), status (``ok``,
    ``no_predictor``, ``few_flows``, ``one_rater``), explained (the share of the variance between flows that the
    predictors explain).
    """
    x = np.column_stack([np.ones(len(predictors)), predictors])
    known = ~np.isnan(x).any(axis=1)
    rated = known & (people.sizes > 0)
    freedom = int(rated.sum()) - x.shape[1]
    table = pd.DataFrame({"direct": people.means, "n_raters": people.sizes})
    table[["predicted", "estimate", "std_err", "conf_low", "conf_high", "weight", "n_effective"]] = np.nan
    table = table.assign(status=np.where(known, "ok", "no_predictor"), explained=np.nan)
    if freedom < FEWEST_FLOWS or not (people.sizes > 1).any():
        reason = "few_flows" if (people.sizes > 1).any() else "one_rater"
        return table.replace({"status": {"ok": reason}})
    within = moderated(people.variances, np.maximum(people.sizes - 1, 0).astype(np.float64))[0]
    within = np.where(people.sizes > 0, within, float(np.mean(within[people.sizes > 0])))
    h, v = people.means[rated], people.noise_of(within)[rated]
    # The covariance of two flows' means, not below 0: raters who rated both shift both.
    rows = people.of_flows(people.sizes > 0)
    n = len(rows.cells)
    whole = rows.variance_of(np.full(n, 1 / n))[0]
    shared = max((whole - float(rows.noise.sum()) / n**2) * n / (n - 1), 0.0)
    free = np.maximum(v - shared, 0.0)
    own = _own_variance(h, x[rated], free)
    plain = _own_variance(h, np.ones((len(h), 1)), free)
    # Every estimate is a weighted sum of the flows' direct means; its error is that of the raters plus that of the own
    # parts, the flow's own included.
    weight = 1 / np.maximum(free + own, 1e-12)
    xr = x[rated]
    share = np.zeros((len(x), len(h)))
    share[known] = x[known] @ (np.linalg.pinv(xr.T @ (xr * weight[:, None])) @ (xr * weight[:, None]).T)
    gamma = np.zeros(len(x))
    gamma[rated] = divide(np.full(len(h), own), own + free)
    place = np.flatnonzero(rated), np.arange(len(h))
    mixed = share * (1 - gamma)[:, None]
    mixed[place] += gamma[rated]
    of_shared = shared * mixed.sum(axis=1) ** 2
    of_raters = (mixed**2) @ free + of_shared
    itself, doubt = np.zeros((2, len(x)))
    itself[rated] = mixed[place]
    of_own = own * ((mixed**2).sum(axis=1) - itself**2 + (1 - itself) ** 2)
    # The variance of the own parts is estimated: a wrong weight adds to the error of rated flows.
    doubt[rated] = 2 * free**2 * weight**3 * (2 * len(h) / weight.sum() ** 2)
    std_err = np.where(known, np.sqrt(of_raters + of_own + doubt), np.nan)
    # Few raters who shift all flows alike are few units for that part of the error (Satterthwaite).
    raters = people.freedom(np.where(people.sizes > 0, 1.0, 0.0))
    total = divide(std_err**4, (std_err**2 - of_shared) ** 2 / freedom + of_shared**2 / raters)
    estimate, reach = np.where(known, mixed @ h, np.nan), quantile(total) * std_err
    return table.assign(
        predicted=np.where(known, share @ h, np.nan),
        estimate=estimate,
        std_err=std_err,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        weight=np.where(known, gamma, np.nan),
        n_effective=divide(within, std_err**2),
        explained=1 - own / plain if plain > 0 else np.nan,
    )


def _own_variance(h: Floats, x: Floats, v: Floats) -> float:
    """Return the variance of the flows' own parts: the value at which the weighted squares are their expectation."""
    freedom = len(h) - x.shape[1]

    def excess(own: float) -> Any:
        weight = 1 / np.maximum(v + own, 1e-12)
        beta = np.linalg.lstsq(x * np.sqrt(weight)[:, None], h * np.sqrt(weight), rcond=None)[0]
        return (weight * (h - x @ beta) ** 2).sum() - freedom

    if excess(0.0) <= 0:
        return 0.0
    from scipy.optimize import brentq

    high = float(np.var(h)) + 1.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 0.0, high))
