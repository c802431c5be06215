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


def mean_bounds(norms: pd.DataFrame, groups: pd.Series[Any] | None = None) -> pd.DataFrame:
    """Return worst-case (Manski) bounds on the mean level of all answers, or of each group of flows.

    All missing answers at the lowest level l, or all at the highest h: with m of n answers missing and S the
    sum of the valid levels, ``low = (S + l m) / n`` and ``high = (S + h m) / n``. ``groups`` names the group of each
    row of ``norms``. Every answer asked counts once, so a flow asked more often weighs more.

    Columns: group (``all`` without groups), n_flows, mean (of the valid answers), low, high, width
    (``(h - l) m / n``), n_asked, n_valid, status (``ok``; ``no_valid``: the mean is missing and the bounds are the ends
    of the scale; ``no_flows``).
    """
    counts, levels = assessment.counted(norms)
    keys = np.full(len(norms), "all") if groups is None else groups.astype(str).to_numpy()
    sums = pd.DataFrame(
        {"group": keys, "n_flows": 1, "total": counts @ levels, "n_valid": counts.sum(axis=1)}
    )
    sums = sums.assign(n_asked=norms["n_asked"].to_numpy(dtype=np.float64)).groupby("group").sum()
    if groups is None and sums.empty:
        sums.loc["all"] = 0
    total, n_valid, n_asked = (sums[c].to_numpy(dtype=np.float64) for c in ("total", "n_valid", "n_asked"))
    low, high = (assessment.divide(total + levels[i] * (n_asked - n_valid), n_asked) for i in (0, -1))
    return pd.DataFrame(
        {
            "group": list(sums.index),
            "n_flows": sums["n_flows"].to_numpy(),
            "mean": assessment.divide(total, n_valid),
            "low": low,
            "high": high,
            "width": high - low,
            "n_asked": n_asked.astype(np.int64),
            "n_valid": n_valid.astype(np.int64),
            "status": np.select([n_asked == 0, n_valid == 0], ["no_flows", "no_valid"], "ok"),
        }
    )
