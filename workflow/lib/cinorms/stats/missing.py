"""Missing answers, and how much they could change each mean if they are not missing at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.norms import assessment


def by_status(answers: pd.DataFrame) -> pd.DataFrame:
    """Return how many answers have each status, all statuses listed: status, n, share (of those asked)."""
    n = answers["status"].astype(str).value_counts().reindex(list(tables.ANSWER_STATUSES), fill_value=0)
    share = n / len(answers) if len(answers) else n * np.nan
    return pd.DataFrame({"status": list(n.index), "n": n.to_numpy(), "share": share.to_numpy()})


def by_variant(answers: pd.DataFrame, prompts: pd.DataFrame) -> pd.DataFrame:
    """Return the share of valid answers of each template, each order number and each variant.

    Columns: by (``template_no``, ``order_no`` or ``variant``), level (text), n_asked, n_valid,
    share_valid. Raises `DataError` if a variant is not in the prompts table.
    """
    counts = (
        pd.DataFrame({"variant": answers["variant"].astype(str), "ok": answers["status"] == "ok"})
        .groupby("variant")["ok"]
        .agg(["size", "sum"])
        .reset_index()
    )
    strangers = sorted(set(counts["variant"]) - set(prompts["variant"]))
    if strangers:
        raise DataError(
            f"answers: variants {strangers[:3]} are not in the arm's prompts; delete both tables and rerun"
        )
    counts = counts.merge(prompts[["variant", "template_no", "order_no"]], on="variant")
    parts = []
    for by in ("template_no", "order_no", "variant"):
        part = counts.groupby(by)[["size", "sum"]].sum()
        part = part.rename(columns={"size": "n_asked", "sum": "n_valid"})
        parts.append(part.reset_index(names="level").assign(by=by).astype({"level": str}))
    table = pd.concat(parts, ignore_index=True)
    table["share_valid"] = table["n_valid"] / table["n_asked"]
    return table[["by", "level", "n_asked", "n_valid", "share_valid"]]


def flow_bounds(norms: pd.DataFrame) -> pd.DataFrame:
    """Return worst-case (Manski) bounds on each flow's mean level.

    All missing answers at the lowest level l, or all at the highest h: with m of n answers missing and S the
    sum of the valid levels, ``low = (S + l m) / n`` and ``high = (S + h m) / n``. Columns: flow, mean (of
    the valid answers), low, high, width (``(h - l) m / n``), n_asked, n_valid, status (``ok``; ``no_valid``:
    the mean is missing and the bounds are the ends of the scale).
    """
    total, n_valid, n_asked = _sums(norms)
    frame = _bounds(total, n_valid, n_asked, _ends(norms))
    frame.insert(0, "flow", norms["flow"].to_numpy())
    return frame


def mean_bounds(norms: pd.DataFrame, groups: pd.Series[Any] | None = None) -> pd.DataFrame:
    """Return worst-case bounds on the mean level of all answers, or of each group of flows.

    ``groups`` names the group of each row of ``norms``. Every answer asked counts once, so a flow asked
    more often weighs more; ``mean`` is over valid answers. Columns: group (``all`` without groups),
    n_flows, then as `flow_bounds`; without flows the status is ``no_flows``.
    """
    keys = np.full(len(norms), "all") if groups is None else groups.astype(str).to_numpy()
    total, n_valid, n_asked = _sums(norms)
    sums = pd.DataFrame({"group": keys, "n_flows": 1, "total": total, "n_valid": n_valid, "n_asked": n_asked})
    sums = sums.groupby("group").sum()
    if groups is None and sums.empty:
        sums.loc["all"] = 0
    total, n_valid, n_asked = (sums[c].to_numpy(dtype=np.float64) for c in ("total", "n_valid", "n_asked"))
    frame = _bounds(total, n_valid, n_asked, _ends(norms))
    frame.insert(0, "group", list(sums.index))
    frame.insert(1, "n_flows", sums["n_flows"].to_numpy())
    return frame


def _sums(norms: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    counts, levels = assessment.counted(norms)
    asked = norms["n_asked"].to_numpy(dtype=np.float64)
    return counts @ levels, counts.sum(axis=1).astype(np.float64), asked


def _ends(norms: pd.DataFrame) -> tuple[float, float]:
    levels = assessment.counted(norms)[1]
    return float(levels[0]), float(levels[-1])


def _bounds(
    total: np.ndarray, n_valid: np.ndarray, n_asked: np.ndarray, ends: tuple[float, float]
) -> pd.DataFrame:
    gone, (lowest, highest) = n_asked - n_valid, ends
    frame = pd.DataFrame(
        {
            "mean": assessment.divide(total, n_valid),
            "low": assessment.divide(total + lowest * gone, n_asked),
            "high": assessment.divide(total + highest * gone, n_asked),
            "n_asked": n_asked.astype(np.int64),
            "n_valid": n_valid.astype(np.int64),
            "status": np.select([n_asked == 0, n_valid == 0], ["no_flows", "no_valid"], "ok"),
        }
    )
    frame.insert(3, "width", frame["high"] - frame["low"])
    return frame
