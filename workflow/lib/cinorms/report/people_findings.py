"""What cards and the explorer say of people: how far a model is from them, and on which flows it differs."""

from __future__ import annotations

from typing import Any

import pandas as pd

from cinorms.core.csv_files import read_csv
from cinorms.report.results import Results


def _rows(results: Results, kind: str, arm: str, model: str) -> pd.DataFrame | None:
    """Return a model's rows in the study's first table of a kind that compares the arm, if there is one."""
    for name, entry in results.study["analyses"].items():
        if entry["kind"] == kind and arm in entry["arms"]:
            table = read_csv(results.tables[name])
            rows = table[(table["arm"] == arm) & (table["model"] == model)]
            if len(rows):
                return pd.DataFrame(rows)
    return None


def on_card(results: Results, arm: str, model: str) -> list[dict[str, Any]]:
    """Return, for each group of people and the expected values, the distance, the ceiling and the flows that differ."""
    distances = _rows(results, "people_distances", arm, model)
    flows = _rows(results, "people_flows", arm, model)
    if distances is None:
        return []
    found = []
    for row in distances[(distances["metric"] == "rms") & (distances["status"] == "ok")].to_dict("records"):
        here = None if flows is None else flows.loc[flows["baseline"] == row["baseline"], "verdict"]
        numbers = {name: _number(row[name]) for name in ("estimate", "conf_low", "conf_high", "ceiling_all")}
        counts = {} if here is None else {
            "more": int((here == "model accepts more").sum()),
            "less": int((here == "model accepts less").sum()),
        }  # fmt: skip
        found.append(
            {"baseline": row["baseline"], "verdict": row["verdict"], "flows": int(row["n_flows"])}
            | numbers
            | counts
        )
    return found


def in_explorer(results: Results, arm: str, model: str) -> dict[str, str]:
    """Return, per flow that was compared (its number as text), a sentence for each group of people."""
    flows = _rows(results, "people_flows", arm, model)
    if flows is None:
        return {}
    tested = flows[flows["status"] == "ok"]
    said = [
        f"{row['baseline']}: {row['people_mean']:.1f}, this model {row['model_mean']:.1f} "
        f"(95% interval of the difference {row['conf_low']:.1f} to {row['conf_high']:.1f}): {row['verdict']}."
        for row in tested.to_dict("records")
    ]
    sentences = pd.Series(said, index=tested["flow"].astype(int).astype(str), dtype=object)
    return {str(flow): " ".join(part) for flow, part in sentences.groupby(level=0)}


def _number(value: float) -> float | None:
    return None if pd.isna(value) else round(float(value), 2)
