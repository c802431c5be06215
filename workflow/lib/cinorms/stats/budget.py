"""How many variants are enough: from a pilot, the standard error of a flow's mean over k variants.

``levels`` is `norms.level_matrix(answers)` of the pilot. A flow's answers vary over variants with the
variance S^2 (divided by one less than their number); flows with fewer than two valid answers say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import ConfigError
from cinorms.norms import assessment

Floats = npt.NDArray[np.float64]


def predicted(levels: pd.DataFrame, ks: Sequence[int], of: int | None = None) -> pd.DataFrame:
    """Return the predicted root mean square error of a flow's mean over k variants drawn at random.

    Against the mean over ``of`` variants, or against all that could be written (``of=None``). If all
    answers are valid this is ``rms S * sqrt(1 / k - 1 / of)`` (``rms S / sqrt(k)``). Of k variants
    asked only m give a valid answer, so 1 / k becomes the expected 1 / m, given m > 0: m is
    hypergeometric (binomial) with the flow's own share of valid answers; flows weigh by P(m > 0).
    Columns: k, rmse (levels), n_flows, status (``ok``; ``one_variant``: no flow has two valid answers;
    ``too_many``: k exceeds ``of``).
    """
    spread, share = _spread(levels)
    rows: list[tuple[int, float, str]] = []
    for k in ks:
        if not len(spread):
            rows.append((k, np.nan, "one_variant"))
        elif of is not None and k > of:
            rows.append((k, np.nan, "too_many"))
        else:
            rest, some = _inverse_count(share, k, of)
            rows.append((k, math.sqrt(float((spread**2 * rest * some).sum() / some.sum())), "ok"))
    frame = pd.DataFrame(rows, columns=["k", "rmse", "status"])
    frame.insert(2, "n_flows", len(spread))
    return frame


def observed(levels: pd.DataFrame, ks: Sequence[int], seed: int, draws: int = 20) -> pd.DataFrame:
    """Return the root mean square difference of a flow's mean over k random variants from that over all.

    The check on `predicted`: variants are drawn without replacement, the same for all flows, ``draws``
    times; flows without a valid answer among the k are left out of that draw. Columns: k, rmse, status
    (``ok``, ``one_variant``, ``too_many``).
    """
    x = levels.reindex(sorted(levels.columns), axis=1).to_numpy()
    valid = ~np.isnan(x)
    x = np.where(valid, x, 0)
    everything, judged = assessment.divide(x.sum(axis=1), valid.sum(axis=1)), valid.sum(axis=1) >= 2
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, float, str]] = []
    for k in ks:
        if x.shape[1] < 2 or k > x.shape[1]:
            rows.append((k, np.nan, "one_variant" if x.shape[1] < 2 else "too_many"))
            continue
        squares, n = 0.0, 0
        for _ in range(draws):
            chosen = rng.choice(x.shape[1], size=k, replace=False)
            few = assessment.divide(x[:, chosen].sum(axis=1), valid[:, chosen].sum(axis=1))
            gap = (few - everything)[judged]
            squares, n = squares + float(np.nansum(gap**2)), n + int((~np.isnan(gap)).sum())
        rows.append((k, math.sqrt(squares / n), "ok") if n else (k, np.nan, "one_variant"))
    return pd.DataFrame(rows, columns=["k", "rmse", "status"])


def needed(levels: pd.DataFrame, target_se: float) -> pd.DataFrame:
    """Return how many variants give a flow's mean the standard error ``target_se`` (levels).

    ``k = ceil(S^2 / target_se^2)``, at least 1, for the typical flow (rms S) and for the flow at the
    50th, 90th and 95th percentile of S; a share of invalid answers in the pilot is made up for by asking
    ``k / share valid``. Columns: flows (which), spread (S), valid (k), ask, status (``ok``,
    ``one_variant``). Raises `ConfigError` unless the target is above 0.
    """
    if not target_se > 0:
        raise ConfigError(f"target standard error {target_se}: give a number of levels above 0, such as 0.2")
    spread, _ = _spread(levels)
    names = ["typical (rms)", "50%", "90%", "95%"]
    if not len(spread):
        blank = pd.array([pd.NA] * len(names), dtype="Int64")
        return pd.DataFrame(
            {"flows": names, "spread": np.nan, "valid": blank, "ask": blank, "status": "one_variant"}
        )
    s = np.array([np.sqrt(np.mean(spread**2)), *np.quantile(spread, [0.5, 0.9, 0.95])])
    # Rounded first, so that 4.0000000001 from floating point does not ask for a fifth variant.
    k = np.maximum(np.ceil(np.round(s**2 / target_se**2, 9)), 1)
    share = float(levels.notna().to_numpy().mean())
    counts = {"valid": pd.array(k, dtype="Int64"), "ask": pd.array(np.ceil(k / share), dtype="Int64")}
    return pd.DataFrame({"flows": names, "spread": s} | counts | {"status": "ok"})


def design_grid(shares: pd.DataFrame, templates: Sequence[int], orders: Sequence[int]) -> pd.DataFrame:
    """Return the standard error of a flow's mean for numbers of templates and orders per template.

    From the variances of `reliability.variance_shares` (a negative one counts 0):
    ``relative = sqrt(flow x template / t + order / (t o))`` for comparing flows of one study, and
    ``absolute``, which adds ``template / t`` under the root, for a level on the scale. Columns:
    templates, orders, variants, relative, absolute, status (``ok``, or the reason that a variance is
    missing).
    """
    variance = shares.set_index("source")["variance"].clip(lower=0)
    unknown = shares.loc[shares["variance"].isna() & (shares["source"] != "flow"), "status"]
    status = "ok" if unknown.empty else str(unknown.iloc[0])
    t, o = (a.ravel() for a in np.meshgrid(templates, orders, indexing="ij"))
    relative = variance["flow x template"] / t + variance["order"] / (t * o)
    absolute = relative + variance["template"] / t
    return pd.DataFrame(
        {"templates": t, "orders": o, "variants": t * o, "relative": np.sqrt(relative)}
        | {"absolute": np.sqrt(absolute), "status": status}
    )


def _spread(levels: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return S, and the share of valid answers, of each flow with at least two valid answers."""
    x = levels.to_numpy()
    n = (~np.isnan(x)).sum(axis=1)
    return np.nanstd(x[n >= 2], axis=1, ddof=1), n[n >= 2] / max(x.shape[1], 1)


def _inverse_count(share: Floats, k: int, of: int | None) -> tuple[Floats, Floats]:
    """Return E[1 / m | m > 0] less one over the valid answers among ``of``, and P(m > 0), of each flow."""
    from scipy.stats import binom, hypergeom

    distinct, which = np.unique(share, return_inverse=True)
    m = np.arange(1, k + 1)[:, None]
    if of is None:
        chance, rest = binom.pmf(m, k, distinct), np.zeros(len(distinct))
    else:
        valid = np.maximum(np.round(distinct * of), 1)
        chance, rest = hypergeom.pmf(m, of, valid, k), 1 / valid
    some = chance.sum(axis=0)
    inverse = assessment.divide((chance / m).sum(axis=0), some)
    # Not below 0 by a rounding error where all that were asked are drawn.
    return np.maximum(np.nan_to_num(inverse - rest), 0.0)[which], some[which]
