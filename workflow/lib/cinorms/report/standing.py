"""The section of the people's page on where each model would stand among people, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from cinorms.core.labels import model_labels
from cinorms.report.words import plain

#: A model is like a class of people where more than this share of draws say so.
SURE = 0.95


def standing_section(
    facts: Mapping[str, Any], table: pd.DataFrame, scale: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the page says of one table of kind ``model_among_people``.

    ``facts`` name its people and factor, ``scale`` says what higher and lower answers are.
    """
    table = table.assign(
        label=model_labels(zip(table["arm"], table["model"], strict=True), "{model} ({arm})")
    )
    known = table[table["status"] == "ok"]
    levels = list(known.loc[known["what"] == "weight", "level"].drop_duplicates())
    models = [_model(str(label), rows, scale) for label, rows in known.groupby("label", sort=False)]
    return {
        "people": facts["people"],
        "factor": plain(facts["factor"]),
        "models": models,
        "n_people": int(known["n_people"].max()) if len(known) else 0,
        "left_out": list(table.loc[table["status"] != "ok", "label"].drop_duplicates()),
        "rows": [
            {"level": level, "cells": [model["weights"][level] for model in models]} for level in levels
        ],
    }


def _model(label: str, rows: pd.DataFrame, scale: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's sentences, and its share of people by level."""
    weights = rows[rows["what"] == "weight"].set_index("level")
    one = {str(what): row for what, row in rows[rows["what"] != "weight"].groupby("what")}
    mean, distance, nearest = (one[what].iloc[0] for what in ("mean", "distance", "class"))
    weight = weights.loc[(weights["share"] - 0.5).abs() == (weights["share"] - 0.5).abs().max()].iloc[0]
    high = mean["share"] >= 0.5
    sentences = [
        f"answers {'higher' if high else 'lower'} ({scale['more' if high else 'less']}) than {_of_people(mean)}",
        _unusual(weight),
        f"is farther from the average person than {_shown(distance)} of people",
        _likeness(nearest),
    ]
    shares = {str(level): _shown(row) for level, row in weights.iterrows()}
    return {"model": label, "sentences": sentences, "weights": shares}


def _of_people(row: pd.Series[Any]) -> str:
    """Return the share of people on the side where there are more of them."""
    if row["share"] < 0.5:
        row = pd.Series(
            {"share": 1 - row["share"], "conf_low": 1 - row["conf_high"], "conf_high": 1 - row["conf_low"]}
        )
    return f"{_shown(row)} of people"


def _shown(row: pd.Series[Any]) -> str:
    """Return a share with its interval, in per cent."""
    share, low, high = (100 * float(row[name]) for name in ("share", "conf_low", "conf_high"))
    return f"{share:.0f}% [{low:.0f}, {high:.0f}]"


def _unusual(row: pd.Series[Any]) -> str:
    """Return what the level weighs whose share is farthest from a half, if its interval is on one side of a half."""
    if row["conf_low"] <= 0.5 <= row["conf_high"]:
        return "gives no level a weight that clearly differs from that of the person in the middle"
    return f"gives \u2018{row.name}\u2019 {'more' if row['share'] >= 0.5 else 'less'} weight than {_of_people(row)}"


def _likeness(row: pd.Series[Any]) -> str:
    """Return whether a model is like a class of people or like the average person."""
    if row["share"] > SURE:
        return f"is more like a class of people than like the average person: {row['level']}"
    return f"may be like a class of people ({row['level']}) or like the average person: the answers do not decide"
