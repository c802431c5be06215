"""What asking until decided is expected to save and to lose, stated before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

#: Lowest and highest share of the prompts that the eight published models needed, and the lowest agreement with the
#: verdicts of the full design, replayed at this risk with a pilot of 400 of 6,912 flows (benchmarks/deciding.py).
REPLAYED_RISK = 0.02
LEAST, MOST, AGREED = 0.28, 0.72, 0.991


def expected_savings(asked: Sequence[Mapping[str, Any]], plan: pd.DataFrame) -> list[str]:
    """Return one line for each model in an arm that is asked until decided; ``asked`` as of ``Study.asked``."""
    lines = []
    rows = {(row["arm"], row["model"]): row for row in plan.to_dict("records")}
    for ask in asked:
        rule, row = ask.get("asking"), rows[ask["arm"], ask["model"]]
        if rule is None:
            continue
        who = f"{ask['arm']}, {ask['model']}: asked until decided"
        if rule["pilot"] >= row["flows"]:
            lines.append(
                f"{who}: saves nothing, because the pilot ({rule['pilot']:,}) is all {row['flows']:,} flows; "
                "lower asking.pilot"
            )
            continue
        low, high = (
            round(row["prompts"] * max(part, rule["pilot"] / row["flows"])) for part in (LEAST, MOST)
        )
        lines.append(
            f"{who}: {row['prompts']:,} prompts at most; {low:,} to {high:,} expected, if it answers like the eight "
            f"published models (replayed at risk {REPLAYED_RISK:g}, where at least {AGREED:.1%} of flows kept the "
            f"verdict of the full design; here risk {rule['risk']:g})"
        )
    return lines
