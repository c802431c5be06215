"""Whether models hold the same norms: flows on which a set of models agrees, and agreement in pairs.

``values`` has flows as rows, models as columns, and the kept norm of each, NaN where there is none. Rows are all flows
that any model was asked, so that shares can be taken of them.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from cinorms.core.errors import ConfigError


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
        same = int((held == held[:, :1]).all(axis=1).sum()) if n else 0
        same_sign = int((signs == signs[:, :1]).all(axis=1).sum()) if n else 0
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
        n = len(both)
        levels, places = np.unique(both, return_inverse=True)
        table = np.zeros((len(levels), len(levels)))
        np.add.at(table, tuple(places.reshape(both.shape).T), 1)
        linear, quadratic = (weighted_kappa(table, levels, weights) for weights in ("linear", "quadratic"))
        status = "no_flows" if n == 0 else ("no_variance" if linear is None else "ok")
        rows.append(
            {"model_a": a, "model_b": b, "n_flows": n, "agreement": np.trace(table) / n if n else np.nan}
            | {"kappa_linear": linear, "kappa_quadratic": quadratic}
            | {"mean_difference": float((both[:, 0] - both[:, 1]).mean()) if n else np.nan, "status": status}
        )
    columns = ["model_a", "model_b", "n_flows", "agreement", "kappa_linear", "kappa_quadratic"]
    frame = pd.DataFrame(rows, columns=[*columns, "mean_difference", "status"])
    return frame.astype({"kappa_linear": np.float64, "kappa_quadratic": np.float64})


def weighted_kappa(table: np.ndarray, levels: np.ndarray, weights: str) -> float | None:
    """Return Cohen's kappa of a square table of counts, with disagreement ``|i - j|`` of levels or its square.

    ``1 - sum(w * observed) / sum(w * expected)``, expected from the margins. None if it is undefined:
    an empty table, or no expected disagreement.
    """
    n = table.sum()
    if n == 0:
        return None
    distance = np.abs(np.subtract.outer(levels, levels))
    weight = distance if weights == "linear" else distance**2
    expected = (weight * np.outer(table.sum(axis=1), table.sum(axis=0))).sum() / n
    return None if expected == 0 else float(1 - (weight * table).sum() / expected)
