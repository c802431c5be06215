"""Whether models hold the same norms: flows on which a set of models agrees, and agreement in pairs.

``values`` has flows as rows, models as columns, and the kept norm of each, NaN where there is none. Rows are all flows
that any model was asked, so that shares can be taken of them.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from cinorms.core.arrays import Floats
from cinorms.core.errors import ConfigError
from cinorms.norms.thresholds import Thresholds
from rewordings import verdicts_of_parts

#: Times that one model's wordings are cut into two halves, and the templates that this needs.
CUTS, FEWEST_HALVED = 10, 4


def common(values: pd.DataFrame, sets: Mapping[str, Sequence[str]], middle: float) -> pd.DataFrame:
    """Return on how many flows each set of models holds the same norm (as LLM-CI section 6.2 counts).

    Raises `ConfigError` for an unknown model.
    """
    rows = []
    for name, models in sets.items():
        unknown = [m for m in models if m not in values]
        if unknown:
            raise ConfigError(f"models {unknown} have no norms here; choose among {list(values.columns)}")
        held = values[list(models)].dropna().to_numpy()
        n, signs = len(held), np.sign(held - middle)
        status = "one_model" if len(set(models)) < 2 else ("ok" if n else "no_flows")
        same = int((held == held[:, :1]).all(axis=1).sum())
        same_sign = int((signs == signs[:, :1]).all(axis=1).sum())
        numbers = status == "ok"
        rows.append(
            {"set": name, "models": len(models), "flows": len(values), "n_all": n, "n_same": same}
            | {"n_same_sign": same_sign, "share_same": same / n if numbers else np.nan}
            | {"share_same_sign": same_sign / n if numbers else np.nan, "status": status}
        )
    return pd.DataFrame(rows)


def pairs(values: pd.DataFrame) -> pd.DataFrame:
    """Return the agreement of every two models on the flows for which both hold a norm."""
    rows = []
    for a, b in itertools.combinations(values.columns, 2):
        both = values[[a, b]].dropna().to_numpy()
        n, levels = len(both), np.unique(both)
        row = {"model_a": a, "model_b": b, "n_flows": n}
        row["agreement"] = (both[:, 0] == both[:, 1]).mean() if n else np.nan
        row |= {"kappa_linear": np.nan, "kappa_quadratic": np.nan}
        if len(levels) > 1:
            table = np.zeros((len(levels), len(levels)))
            np.add.at(table, tuple(np.searchsorted(levels, both).T), 1)
            apart = np.abs(levels[:, None] - levels)
            row["kappa_linear"] = _kappa(table, apart)
            row["kappa_quadratic"] = _kappa(table, apart**2)
        row["mean_difference"] = (both[:, 0] - both[:, 1]).mean() if n else np.nan
        row["status"] = "no_flows" if n == 0 else ("ok" if len(levels) > 1 else "no_variance")
        rows.append(row)
    return pd.DataFrame(rows)


def _kappa(table: Floats, weights: Floats) -> float:
    """Return Cohen's kappa of a table of counts; ``weights`` are 0 where its two levels are equal.

    As statsmodels' ``cohens_kappa``, which takes longer to load than a figure of agreement to draw.
    """
    n = table.sum()
    expected = (table.sum(axis=1) / n)[:, None] * (table.sum(axis=0) / n)
    return float(1 - (weights * table).sum() / n / (weights * expected).sum())


def opposed(both: pd.DataFrame, middle: float) -> float:
    """Return the share of the flows with a norm in both columns on which these are on opposite sides of the middle."""
    sides = np.sign(both.dropna().to_numpy(dtype=np.float64) - middle)
    return float((sides.prod(axis=1) < 0).mean()) if len(sides) else np.nan


def halves(counts: Floats, thresholds: Thresholds, levels: Sequence[int]) -> pd.DataFrame:
    """Return the norms of one model in halves of its wordings, as `pairs` takes those of two models.

    Of random halves of its templates, the flows with a norm in both. ``counts`` are as of `wordings.level_counts`.
    Without rows for fewer than four templates.
    """
    sides = ["one", "other"]
    if counts.shape[2] < FEWEST_HALVED:
        return pd.DataFrame(columns=sides, dtype=np.float64)
    norms = verdicts_of_parts(counts, thresholds.rule, counts.shape[2] // 2, CUTS, parts=2)
    level, held = (x.reshape(-1, 2) for x in norms)
    return pd.DataFrame(np.array(levels, dtype=np.float64)[level[held.all(axis=1)]], columns=sides)
