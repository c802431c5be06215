"""What cards and the explorer say of people: how far a model is from them, and on which flows it differs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from cinorms.report.results import Results


def on_card(results: Results, arm: str, model: str) -> list[dict[str, Any]]:
    """Return, for each group of people and the expected values, the distance, the ceiling and the flows that differ."""
    distances = next(results.tables_of("people_distances", arm, model), None)
    flows = next(results.tables_of("people_flows", arm, model), None)
    if distances is None:
        return []
    found = []
    for row in distances[(distances["metric"] == "rms") & (distances["status"] == "ok")].to_dict("records"):
        here = None if flows is None else flows.loc[flows["baseline"] == row["baseline"], "verdict"]
        numbers = {
            name: None if pd.isna(row[name]) else round(float(row[name]), 2)
            for name in ("estimate", "conf_low", "conf_high", "ceiling_all")
        }
        verdicts = {"more": "model higher", "less": "model lower"}
        counts = {
            name: None if here is None else int((here == verdict).sum()) for name, verdict in verdicts.items()
        }
        found.append(
            {"baseline": row["baseline"], "verdict": row["verdict"], "flows": int(row["n_flows"])}
            | numbers
            | counts
        )
    return found


def in_explorer(results: Results, arm: str, model: str) -> dict[str, str]:
    """Return, per flow that was compared (its number as text), a sentence for each group of people."""
    flows = next(results.tables_of("people_flows", arm, model), None)
    if flows is None:
        return {}
    tested = flows[flows["status"] == "ok"]
    spoken = results.scale(arm).spoken
    beyond = {
        "model higher": f"the model answers higher ({spoken.more}), beyond noise",
        "model lower": f"the model answers lower ({spoken.less}), beyond noise",
        # The interval is of this flow alone, so it can leave out 0 where the corrected test does not.
        "no difference shown": "no difference shown, corrected for all flows compared",
    }
    # The units of the dataset, which can differ from the scale's levels.
    levels = results.study.arms[arm].levels
    low, high = results.study.dataset_of(arm).expected_range or (levels[0], levels[-1])
    said = [
        f"{_who(row)} {row['people_mean']:.1f}, this model {row['model_mean']:.1f} (from {low:g} to {high:g}); "
        f"difference {row['difference']:.1f} (95% interval {row['conf_low']:.1f} to {row['conf_high']:.1f}): "
        f"{beyond.get(row['verdict'], row['verdict'])}."
        for row in tested.to_dict("records")
    ]
    sentences = pd.Series(said, index=tested["flow"].astype(int).astype(str), dtype=object)
    return {str(flow): " ".join(part) for flow, part in sentences.groupby(level=0)}


def _who(row: Mapping[Hashable, Any]) -> str:
    """Return who answered, with the number of people: the mean of one is no mean."""
    n = int(row["n_raters"])
    if not n:
        return "Expected value:"
    return f"{row['baseline']}, one rating:" if n == 1 else f"{row['baseline']}, mean of {n} people:"
