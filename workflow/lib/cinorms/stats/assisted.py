"""People's means over all flows of a design from a few ratings and a model's answers: prediction-powered estimates.

A linear estimate (a mean, the mean of a slice) of people's ratings is known on the rated flows only, with noise. The
same estimate of the model's answers is known on the rated flows and on all flows; the difference is the error that
drawing these flows made, in the model's answers. A share of it (``weight``) is taken out of the people's estimate. The
share is tuned from the ratings (PPI++), so a model that knows nothing gets a weight near 0 and does no harm. It is
valid whatever the model answers, if the rated flows are drawn at random from all; raters are a sample of raters.

What this cannot do: reduce the noise of who rated. If raters differ in strictness, that part stays, however good the
model; the effective sample size shows it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cinorms.norms.assessment import divide
from cinorms.stats.arrays import Floats, Ints, sums_by
from cinorms.stats.wordings import FEWEST, Units, interval, spread

ALL_FLOWS = "all flows"

_COLUMNS = ["plain", "plain_low", "plain_high", "estimate", "std_err", "conf_low", "conf_high", "weight"]
_COLUMNS += ["n_ratings", "n_raters", "n_effective", "status"]


def slices(flows: pd.DataFrame, ratings: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return people's mean over all flows, and over the flows of each level of the factors ``by``.

    ``flows``: a row per flow of the design with its factors and ``model``, the model's answer; ``ratings``: flow,
    rater, rating. Flows without a model's answer, and their ratings, are left out.

    Columns: factor, level, n_flows, plain, plain_low, plain_high (people alone), estimate, std_err, conf_low, conf_high
    (with the model), weight, n_ratings, n_raters, n_effective (ratings that people alone would need for the same
    standard error), status (``ok``, ``one_rater``, ``no_ratings``). Intervals are over raters and flows.
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
        table = _assisted(of_flows[row], people, answers[row], of_all, raters)
        levels = [str(level) for level in column.categories]
        names = pd.DataFrame({"factor": factor, "level": levels, "n_flows": size})
        parts.append(pd.concat([names, table], axis=1))
    return pd.concat(parts, ignore_index=True)


def _assisted(cell: Ints, ratings: Floats, predictions: Floats, of_all: Floats, raters: Ints) -> pd.DataFrame:
    """Return the estimate of each slice, from people alone and with the model.

    ``cell``, ``predictions``, ``raters``: the slice, the model's answer to the same flow, and the rater of each rating;
    ``of_all``: the means of the model's answers to all flows of the slices.
    """
    member = np.equal.outer(np.arange(len(of_all)), cell).astype(np.float64)
    # Row c takes the mean of the ratings of slice c.
    operator = np.nan_to_num(divide(member, member.sum(axis=1, keepdims=True)))
    plain, of_rated = operator @ ratings, operator @ predictions
    count = (operator != 0).sum(axis=1)
    by_rater = sums_by(raters, operator.T).T
    n_raters = (by_rater > 0).sum(axis=1)
    share = divide(by_rater, by_rater.sum(axis=1, keepdims=True))
    each = operator.T * (ratings - plain[cell])[:, None], operator.T * (predictions - of_rated[cell])[:, None]
    of_ratings, of_predictions = (sums_by(raters, part).T for part in each)
    weight = _tuned(*each, operator, predictions)
    table = pd.DataFrame(np.nan, index=range(len(of_all)), columns=_COLUMNS)
    table["plain"] = np.where(count > 0, plain, np.nan)
    table["status"] = np.select([count == 0, n_raters < FEWEST], ["no_ratings", "one_rater"], "ok")
    for i in np.flatnonzero(table["status"] == "ok"):
        alone, together = (
            spread(Units(x, share[i])) for x in (of_ratings[i], of_ratings[i] - weight[i] * of_predictions[i])
        )
        estimate = plain[i] - weight[i] * (of_rated[i] - of_all[i])
        plain_error, *of_plain = interval(plain[i], *alone)
        std_err, *limits = interval(estimate, *together)
        table.loc[i, "plain_low":"weight"] = [*of_plain, estimate, std_err, *limits, weight[i]]
        table.loc[i, "n_effective"] = count[i] * divide(plain_error**2, std_err**2)
    return table.assign(n_ratings=count, n_raters=n_raters)


def _tuned(of_ratings: Floats, of_predictions: Floats, operator: Floats, predictions: Floats) -> Floats:
    """Return the weight that makes the variance smallest, 0 where the predictions have no error to take out.

    Tuned over ratings, not over raters: flows are drawn apart from raters, so both have the same optimum, and there are
    more ratings. Any weight is valid; the interval is over raters.
    """
    top, below = (of_ratings * of_predictions).sum(axis=0), (of_predictions**2).sum(axis=0)
    # A model that the estimates describe exactly leaves rounding errors only.
    nothing = 1e-18 * (operator**2).sum(axis=1) * float((predictions**2).sum() / max(len(predictions), 1))
    return np.where(below > nothing, divide(top, below), 0.0)
