"""What a few people's ratings and a model's answers on all flows say together: prediction-powered estimates.

A linear estimate (a mean, the mean of a slice, a coefficient) of people's ratings is known on the rated flows only,
with noise. The same estimate of the model's answers is known on the rated flows and on all flows; the difference is the
error that drawing these flows made, in the model's answers. A share of it (``weight``) is taken out of the people's
estimate. The share is tuned from the ratings (PPI++), so a model that knows nothing gets a weight near 0 and does no
harm. It is valid whatever the model answers, if the rated flows are drawn at random from all; raters are a sample of
raters.

What this cannot do: reduce the noise of who rated. If raters differ in strictness, that part stays, however good the
model; the effective sample size shows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.norms.assessment import divide
from cinorms.stats.wordings import CONFIDENCE, FEWEST, Units, interval, spread

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Why an estimate has no numbers.
STATUSES = ("ok", "one_rater", "no_ratings")


_COLUMNS = [
    "plain",
    "plain_low",
    "plain_high",
    "plain_variance",
    "estimate",
    "std_err",
    "conf_low",
    "conf_high",
]
_COLUMNS += ["weight", "status"]


def cell_operator(codes: Ints, n_cells: int) -> Floats:
    """Return cells x ratings: row c takes the mean of the ratings of cell c (``codes``: the cell of each rating)."""
    member = np.equal.outer(np.arange(n_cells), codes).astype(np.float64)
    return divide(member, member.sum(axis=1, keepdims=True))


def within(raters: Ints, values: Floats) -> Floats:
    """Return the values less the mean of each rater."""
    return np.asarray(values - (_by(raters, values) / np.bincount(raters)[:, None])[raters])


def assisted(
    operator: Floats,
    ratings: Floats,
    predictions: Floats,
    whole: Floats,
    fitted: tuple[Floats, Floats],
    raters: Ints,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Return each estimate from people alone and with the model, with intervals over raters and flows.

    ``operator``: estimates x ratings (such as `cell_operator`). ``ratings``, ``predictions``: people's rating,
    and the model's answer to the same flow, per rating. ``whole``: the same estimates of the model's answers to all
    flows. ``fitted``: what the estimates say of each rating, and of each prediction: the mean of its cell, or the
    fitted value. ``raters``: the rater of each rating, counted from 0.

    Columns: plain, plain_low, plain_high (people alone), estimate, std_err, conf_low, conf_high (with the model),
    weight, n_ratings, n_raters, n_effective (ratings that people alone would need for the same standard error), status.
    """
    plain = operator @ ratings
    error = operator @ predictions - whole
    count, n_raters = (operator != 0).sum(axis=1), _raters(operator, raters)
    each = [
        operator.T * (values - mean)[:, None]
        for values, mean in zip((ratings, predictions), fitted, strict=True)
    ]
    of_ratings, of_predictions = (_by(raters, part).T for part in each)
    share = _shares(operator, raters)
    weight = _tuned(each[0], each[1], operator, predictions)
    rows = []
    for i in range(len(operator)):
        judged = n_raters[i] >= FEWEST and count[i] > 0
        if not judged:
            rows.append(
                _row(plain[i], None, None, np.nan, "one_rater" if count[i] else "no_ratings", confidence)
            )
            continue
        units = [Units(x, share[i]) for x in (of_ratings[i], of_ratings[i] - weight[i] * of_predictions[i])]
        alone, together = (spread(unit) for unit in units)
        found = plain[i] - weight[i] * error[i]
        rows.append(_row(plain[i], alone, (found, *together), weight[i], "ok", confidence))
    table = pd.DataFrame(rows, columns=_COLUMNS)
    gain = divide(table.pop("plain_variance").to_numpy(), table["std_err"].to_numpy() ** 2)
    table.insert(len(table.columns) - 1, "n_ratings", count)
    table.insert(len(table.columns) - 1, "n_raters", n_raters)
    table.insert(len(table.columns) - 1, "n_effective", count * gain)
    return table


def _row(
    plain: float,
    alone: tuple[float, float] | None,
    together: tuple[float, float, float] | None,
    weight: float,
    status: str,
    confidence: float,
) -> dict[str, Any]:
    nothing = (np.nan,) * 3
    one = interval(plain, *alone, confidence) if alone else nothing
    two = interval(*together, confidence) if together else nothing
    return {
        "plain": plain if status != "no_ratings" else np.nan,
        "plain_low": one[1],
        "plain_high": one[2],
        "plain_variance": one[0] ** 2,
        "estimate": together[0] if together else np.nan,
        "std_err": two[0],
        "conf_low": two[1],
        "conf_high": two[2],
        "weight": weight,
        "status": status,
    }


def _tuned(of_ratings: Floats, of_predictions: Floats, operator: Floats, predictions: Floats) -> Floats:
    """Return the weight that makes the variance smallest, 0 where the predictions have no error to take out.

    Tuned over ratings, not over raters: flows are drawn apart from raters, so both have the same optimum, and there are
    more ratings. Any weight is valid; the interval is over raters.
    """
    top, below = (of_ratings * of_predictions).sum(axis=0), (of_predictions**2).sum(axis=0)
    # A model that the estimates describe exactly leaves rounding errors only.
    nothing = 1e-18 * (operator**2).sum(axis=1) * float((predictions**2).sum() / max(len(predictions), 1))
    return np.where(below > nothing, divide(top, below), 0.0)


def _by(raters: Ints, values: Floats) -> Floats:
    """Return raters x columns: the sums of each rater's rows."""
    found = np.zeros((raters.max(initial=-1) + 1, values.shape[1]))
    np.add.at(found, raters, values)
    return found


def _raters(operator: Floats, raters: Ints) -> npt.NDArray[np.int64]:
    return np.asarray((_by(raters, (operator != 0).T.astype(np.float64)) > 0).sum(axis=0), dtype=np.int64)


def _shares(operator: Floats, raters: Ints) -> Floats:
    """Return how much each rater counts in each estimate; the sum is 1."""
    size = _by(raters, np.abs(operator).T).T
    return divide(size, size.sum(axis=1, keepdims=True))
