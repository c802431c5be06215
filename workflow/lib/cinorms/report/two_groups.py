"""The section of the people's page on how far two groups of people differ, and how alike two answers are."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from cinorms.core.labels import model_labels

#: Who gives the two answers, and the words for it.
_PAIRS = {"same_person": "the same person, asked twice", "two_people": "two different people"}


def group_sections(titles: Mapping[str, str], table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return what the page says of each two groups in a table of kind ``people_groups``; ``titles`` by arm."""
    models = table[table["who"] == "two_wordings"]
    named = models.assign(
        label=model_labels(zip(models["arm"], models["model"], strict=True), "{model} ({arm})")
    )
    of_models = [
        {"who": f"{label}, in two wordings", **_alike(_by_measure(rows))}
        for label, rows in named.groupby("label", sort=False)
    ]
    found = []
    for (arm, other), rows in table[table["who"] != "two_wordings"].groupby(["arm", "other"], sort=False):
        parts = {str(who): _by_measure(part) for who, part in rows.groupby("who")}
        apart = parts.get("in_one_only", parts["everyone"])
        pairs = [{"who": words, **_alike(parts[who])} for who, words in _PAIRS.items() if who in parts]
        rms, shift = apart["rms"], apart["mean_signed"]
        found.append(
            {
                "titles": [titles[str(arm)], titles[str(other)]],
                "n": [int(rms["n_people"]), int(rms["n_other"])],
                "n_flows": int(rms["n"]),
                "apart": "in_one_only" in parts,
                "in_both": int(parts["same_person"]["same_answer"]["n_people"])
                if "same_person" in parts
                else 0,
                "known": rms["verdict"] != "no_verdict",
                "rms": rms,
                "digits": ".0f" if rms["expected"] > 10 else ".2f",
                "shift": shift,
                "pairs": [row for row in (*pairs, *of_models) if row["same"]],
            }
        )
    return found


def _by_measure(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {
        str(row["measure"]): {str(name): value for name, value in row.items()}
        for row in rows.to_dict("records")
    }


def _alike(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the shares of pairs with the same answer, and with the same or the next, as texts; empty without pairs."""
    same, near = rows["same_answer"], rows["one_step"]
    if same["status"] != "ok":
        return {"same": "", "next": "", "n": "0"}
    return {"same": _shown(same), "next": _shown(near), "n": f"{int(same['n']):,}"}


def _shown(row: Mapping[str, Any]) -> str:
    low, high = row["conf_low"], row["conf_high"]
    limits = "" if pd.isna(low) else f" [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{100 * row['estimate']:.0f}%{limits}"
