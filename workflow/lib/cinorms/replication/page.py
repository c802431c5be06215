"""The page of a replication: printed and computed numbers, and where text and numbers disagree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms import __version__
from cinorms.core.rounding import rounded_once
from cinorms.core.templates import environment
from cinorms.published.releases import Release
from cinorms.replication.comparison import MATCHED, mismatches, summary

#: An item with this ending has no list of its own: it is a column of the item that it is named after.
BESIDE = ", maximum likelihood"


def render(release: Release, comparison: pd.DataFrame, models: Sequence[str]) -> str:
    """Return the page as one HTML text that needs no network. Everything that comes from data is escaped."""
    counted = summary(comparison)
    return (
        environment("replication")
        .get_template("replication.html")
        .render(
            release=release,
            models=[(name, release.models[name]) for name in models if name in release.models],
            summary=counted.to_dict("records"),
            matched=int(counted["matched"].sum()),
            total=int(counted["total"].sum()),
            missed=mismatches(comparison).to_dict("records"),
            twice=rounded_twice(comparison).to_dict("records"),
            reached=comparison[comparison["match"] == "within reach"].to_dict("records"),
            besides=[_besides(name, group) for name, group in _items(comparison) if name.endswith(BESIDE)],
            items=[
                _item(name, group, comparison)
                for name, group in _items(comparison)
                if not name.endswith(BESIDE)
            ],
            version=__version__,
        )
    )


def rounded_twice(comparison: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that match only because four decimals are rounded first (`rounding.rounded`)."""
    plain = comparison["printed"].str.fullmatch(r"-?\d+\.\d+") & comparison["match"].eq("yes")
    rows = comparison[plain]
    once = [
        rounded_once(float(full), len(printed.partition(".")[2]))
        for full, printed in zip(rows["computed_full"], rows["printed"], strict=True)
    ]
    differs = np.array(once, dtype=object) != rows["computed"].to_numpy(dtype=object)
    return pd.DataFrame(rows[differs])


def _items(comparison: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(str(name), group) for name, group in comparison.groupby("item", sort=False)]


def _item(name: str, group: pd.DataFrame, comparison: pd.DataFrame) -> dict[str, Any]:
    others = comparison[comparison["item"] == name + BESIDE]
    beside = dict(zip(others["cell"], others["computed_full"], strict=True))
    counted = group["match"].ne("not counted")
    return {
        "name": name,
        "counted": bool(counted.any()),
        "matched": int(group["match"].isin(MATCHED).sum()),
        "total": int(counted.sum()),
        "beside": len(beside) > 0,
        "rows": [row | {"beside": beside.get(row["cell"], "")} for row in group.to_dict("records")],
    }


def _besides(name: str, group: pd.DataFrame) -> dict[str, Any]:
    """Return how many printed numbers would differ with the values of an item that is a column of another."""
    differ = int((group["computed"] != group["printed"]).sum())
    return {"name": name.removesuffix(BESIDE), "differ": differ, "total": len(group)}
