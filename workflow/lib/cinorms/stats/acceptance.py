"""Which share of the answers that could be read accept, with its interval over other wordings, and means of models."""

import numpy as np
import pandas as pd

from cinorms.core.arrays import Bools, Floats, Ints
from cinorms.stats.wordings import Units, spread
from rewordings import FEWEST, interval
from rewordings.arrays import divide

#: Readable answers of a model that a level needs before it can be named as most or least accepted.
ENOUGH = 30
#: Columns of `acceptance`.
COLUMNS = ("asked", "answers", "accepts", "accepts_low", "accepts_high")


def acceptance(group: Ints, template: Ints, answered: Bools, accepts: Bools) -> pd.DataFrame:
    """Return `COLUMNS` for each group of answers, of which there are 0, 1, ...: a row of the arrays is an answer.

    ``asked`` counts all, ``answers`` those that could be read (``answered``). The interval is of the share of these
    that accept, over templates, and missing where fewer than two have an answer.
    """
    shape = int(group.max(initial=-1)) + 1, int(template.max(initial=-1)) + 1

    def count(which: Bools) -> Floats:
        at = group[which] * shape[1] + template[which]
        return np.bincount(at, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)

    yes, n = count(answered & accepts), count(answered)
    total = n.sum(axis=1, keepdims=True)
    share, weight = divide(yes.sum(axis=1, keepdims=True), total), divide(n, total)
    _, low, high = interval(share[:, 0], *spread(Units(divide(yes, total) - share * weight, weight)))
    known = (n > 0).sum(axis=1) >= FEWEST
    low, high = (np.where(known, np.clip(end, 0.0, 1.0), np.nan) for end in (low, high))
    asked = count(np.ones(len(group), dtype=bool)).sum(axis=1).astype(np.int64)
    columns = (asked, total[:, 0].astype(np.int64), share[:, 0], low, high)
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def by_model(means: pd.DataFrame, name: str = "accepts") -> pd.DataFrame:
    """Return ``name`` of a table of marginal means: a row per model, a column per factor and level, in its order.

    Missing where a model has fewer than `ENOUGH` readable answers.
    """
    known = means[means["answers"] >= ENOUGH].astype({"level": str, name: float})
    return known.pivot_table(name, "model", ["factor", "level"], sort=False)


def over_models(shares: pd.DataFrame) -> "pd.Series[float]":
    """Return the mean of each column of `by_model`, over the models that have all levels of its factor."""
    factors = dict.fromkeys(shares.columns.get_level_values(0))
    means = [shares[[factor]].dropna().mean() for factor in factors]
    return pd.concat(means) if means else pd.Series(dtype=float)
