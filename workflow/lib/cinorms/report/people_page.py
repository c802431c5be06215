"""The page on people and models: what both say, where they differ beyond noise, how close other people would come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from cinorms.analyses.people import EXPECTED
from cinorms.core.filling import render_page
from cinorms.core.labels import model_labels, relabelled, share, share_in_cell
from cinorms.core.version import version
from cinorms.report.words import plain

#: Flows that the chart of flows shows; of more, those with the largest differences.
MOST_FLOWS = 40

#: Numbers on an axis that is no longer than this have two decimals.
FEW_POINTS = 10
#: What the parameters of a flow answer, as headings of columns; another factor has its name.
ASKS = {
    "sender": "who",
    "subject": "about whom",
    "information_type": "what",
    "recipient": "to whom",
    "transmission_principle": "if",
}
_VERDICTS = {
    "farther": "farther than other people",
    "undecided": "undecided",
    "nearer": "nearer than other people",
    "no_verdict": "",
}
#: What a test of a flow can end with, and the mark of each verdict: the shape says what the colour says.
_TESTED = ["model higher", "model lower", "no difference shown"]
_MARKS = {"model higher": "higher", "model lower": "lower"}
#: Who gives the two answers, and the words for it.
_PAIRS = {"same_person": "the same person, asked twice", "two_people": "two different people"}


@dataclass(frozen=True)
class NumberLine:
    """A number line of a drawing."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return where a value is, within the line, in per cent of its length."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(100 * min(max(share, 0.0), 1.0), 2)

    @property
    def digits(self) -> str:
        """The format of numbers on the axis: whole ones where it is long."""
        return ".0f" if self.high - self.low > FEW_POINTS else ".2f"

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Return four to eight places with round numbers, from the low end on."""
        size = self.high - self.low
        round_numbers = (unit * 10.0**power for power in range(-3, 9) for unit in (1, 2, 2.5, 5))
        step = next((number for number in round_numbers if number * 8 > size), size) if size > 0 else 1.0
        places = [self.low + i * step for i in range(int(size / step + 1e-9) + 1)]
        return [(self.at(place), f"{place:g}") for place in places]


def render(
    metadata: Mapping[str, Any],
    distances: pd.DataFrame,
    flows: pd.DataFrame,
    vignettes: pd.DataFrame,
    standing: Sequence[pd.DataFrame] = (),
    groups: Sequence[pd.DataFrame] = (),
) -> str:
    """Return the page as one HTML text that needs no network; ``metadata``: `people_page_metadata`."""
    distances, flows, *further = (
        relabelled(table, metadata["labels"]) for table in (distances, flows, *standing, *groups)
    )
    standing, groups = further[: len(standing)], further[len(standing) :]
    distances, flows = (
        table.assign(model=model_labels(zip(table["arm"], table["model"], strict=True), "{model} ({arm})"))
        for table in (distances, flows)
    )
    people, scale = metadata["people"], metadata["scale"]
    names = list(dict.fromkeys(distances["baseline"]))
    rated = [name for name in names if name != EXPECTED]
    ordered = sorted(names, key=EXPECTED.__eq__)  # the expected values last
    # One axis for all groups of people: distances from several are compared by eye.
    drawn = distances[(distances["metric"] == "rms") & (distances["status"] == "ok")]
    longest = drawn[["conf_high", "ceiling_all"]].max().max()
    axis = NumberLine(0.0, float(longest) if pd.notna(longest) else 1.0)
    alone = {name: _rated_alone(flows[flows["baseline"] == name]) for name in rated}
    line = (scale["lowest"], scale["highest"])
    # A mean of one rating is that person's: the largest differences would be those of the most unusual people.
    charted = [name for name in rated if not alone[name]["most"]]
    return render_page(
        "report",
        "people",
        metadata=metadata,
        scale=scale,
        baselines=[
            _baseline(name, distances, flows, people, axis) | {"alone": alone.get(name)} for name in ordered
        ],
        titles={name: people[name]["title"] for name in rated}
        | {EXPECTED: "the expected values of the dataset"},
        charts=[_flows_chart(name, flows, vignettes, line) for name in charted],
        people=[people[name] for name in rated],
        standing=[
            standing_section(stated, table, scale)
            for stated, table in zip(metadata.get("standing", ()), standing, strict=True)
        ],
        groups=[
            part
            for titles, table in zip(metadata.get("groups", ()), groups, strict=True)
            for part in group_sections(titles, table)
        ],
        has_expected=EXPECTED in names,
        version=version(),
    )


def _rated_alone(rows: pd.DataFrame) -> dict[str, Any]:
    """Return how many flows people rated, how many of these one person only, and whether that is most of them."""
    raters = rows.groupby("flow")["n_raters"].max()
    rated, one = int((raters > 0).sum()), int((raters == 1).sum())
    return {"rated": rated, "one": one, "most": 2 * one > rated}


def _baseline(
    name: str, distances: pd.DataFrame, flows: pd.DataFrame, people: Mapping[str, Any], axis: NumberLine
) -> dict[str, Any]:
    """Return what the page says of one group of people, or of the expected values, with its drawing."""
    rows = distances[(distances["baseline"] == name) & (distances["metric"] == "rms")]
    # What is decided comes first; how far at least each model is from people is the lower end of its interval.
    rows = rows.assign(open=rows["verdict"] == "undecided").sort_values(["open", "conf_low"])
    usable = rows[rows["status"] == "ok"]
    ceiling = rows["ceiling_all"].dropna()
    verdicts, digits = flows.loc[flows["baseline"] == name, ["model", "verdict"]], axis.digits
    drawn = []
    for row in usable.to_dict("records"):
        n = verdicts.loc[verdicts["model"] == row["model"], "verdict"].value_counts()
        drawn.append(
            {
                "model": row["model"],
                "x": axis.at(row["estimate"]),
                "low": axis.at(row["conf_low"]),
                "high": axis.at(row["conf_high"]),
                "text": f"{row['estimate']:{digits}} ({row['conf_low']:{digits}} to {row['conf_high']:{digits}})",
                "verdict": row["verdict"],
                "words": _VERDICTS[row["verdict"]],
                "higher": int(n.get("model higher", 0)),
                "lower": int(n.get("model lower", 0)),
                "tested": int(n.reindex(_TESTED).sum()),
            }
        )
    return {
        "name": name,
        "expected": name == EXPECTED,
        **({"title": "the expected values", "people": ""} if name == EXPECTED else people[name]),
        "n_flows": int(rows["n_flows"].max()) if len(rows) else 0,
        "models": drawn,
        "left_out": rows.loc[rows["status"] != "ok", "model"].tolist(),
        "ticks": axis.ticks,
        "ceiling": axis.at(float(ceiling.max())) if len(ceiling) else None,
        "ceiling_number": f"{ceiling.max():{digits}}" if len(ceiling) else "",
        **{verdict: int((usable["verdict"] == verdict).sum()) for verdict in _VERDICTS},
    }


def _flows_chart(
    name: str, flows: pd.DataFrame, vignettes: pd.DataFrame, scale: tuple[float, float]
) -> dict[str, Any]:
    """Return a row per flow: its parameters, where people and models are, and which models say otherwise."""
    rows = flows[(flows["baseline"] == name) & (flows["status"] == "ok")]
    axis = NumberLine(*scale)
    size = rows.groupby("flow")["difference"].apply(lambda d: d.abs().max())
    kept = size.nlargest(MOST_FLOWS).index
    order = rows[rows["flow"].isin(kept)].groupby("flow")["people_mean"].first().sort_values()
    texts: Any = vignettes.set_index("flow")
    factors: Any = texts.drop(columns=["vignette", "expected"], errors="ignore").reindex(order.index)
    varying = [factor for factor in factors if len(set(factors[factor].astype(str))) > 1]
    same = {
        plain(factor): factors[factor].iloc[0] for factor in factors if factor not in varying and len(order)
    }
    drawn = []
    for flow, mean in order.items():
        marks = [
            {"x": axis.at(row["model_mean"]), "kind": _MARKS.get(row["verdict"], "same")}
            | {"model": row["model"], "mean": row["model_mean"]}
            for row in rows[rows["flow"] == flow].to_dict("records")
        ]
        cells = [factors.loc[flow, factor] for factor in varying]
        drawn.append(
            {"people": axis.at(mean), "mean": mean}
            | {"cells": cells or [texts["vignette"].get(flow, f"flow {flow}")]}
            | {"marks": sorted(marks, key=lambda mark: mark["kind"] != "same")}
        )
    return {
        "name": name,
        "columns": [ASKS.get(factor, plain(factor)) for factor in varying] or ["flow"],
        "same": same,
        "flows": drawn,
        "all": len(size),
        "ticks": axis.ticks,
    }


# --- Where each model would stand among people, in words


def standing_section(
    metadata: Mapping[str, Any], table: pd.DataFrame, scale: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the page says of one table of kind ``model_among_people``.

    ``metadata`` names its people and factor, ``scale`` says what higher and lower answers are.
    """
    pairs = zip(table["arm"], table["model"], strict=True)
    table = table.assign(label=model_labels(pairs, "{model} ({arm})"))
    known = table[table["status"] == "ok"]
    levels = list(known.loc[known["what"] == "weight", "level"].drop_duplicates())
    models = [_model(str(label), rows, scale) for label, rows in known.groupby("label", sort=False)]
    return {
        "people": metadata["people"],
        "factor": plain(metadata["factor"]),
        "models": models,
        "n_people": int(known["n_people"].max()) if len(known) else 0,
        "left_out": list(table.loc[table["status"] != "ok", "label"].drop_duplicates()),
        "rows": [{"level": level, "cells": [m["weights"][level] for m in models]} for level in levels],
    }


def _model(label: str, rows: pd.DataFrame, scale: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's sentences, and its share of people by level."""
    weights = rows[rows["what"] == "weight"].set_index("level")
    mean = rows[rows["what"] == "mean"].iloc[0]
    weight = weights.loc[(weights["share"] - 0.5).abs() == (weights["share"] - 0.5).abs().max()].iloc[0]
    high = mean["share"] >= 0.5
    sentences = [
        f"answers {'higher' if high else 'lower'} ({scale['more' if high else 'less']}) than {_of_people(mean)}",
        _unusual(weight),
    ]
    shares = {str(level): _percent(row, "share") for level, row in weights.iterrows()}
    return {"model": label, "sentences": sentences, "weights": shares}


def _of_people(row: pd.Series) -> str:
    """Return the share of people on the side where there are more of them."""
    if row["share"] < 0.5:
        share, low, high = (1 - row[name] for name in ("share", "conf_high", "conf_low"))
        row = pd.Series({"share": share, "conf_low": low, "conf_high": high})
    return f"{_percent(row, 'share')} of people"


def _unusual(row: pd.Series) -> str:
    """Return what the level weighs whose share is farthest from a half, if its interval is on one side of a half."""
    if row["conf_low"] <= 0.5 <= row["conf_high"]:
        return "gives no level a weight that clearly differs from that of the person in the middle"
    return f"gives \u2018{row.name}\u2019 {'more' if row['share'] >= 0.5 else 'less'} weight than {_of_people(row)}"


# --- How far two groups of people differ, and how alike two answers are


def group_sections(titles: Mapping[str, str], table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return what the page says of each two groups in a table of kind ``people_groups``; ``titles`` by arm."""
    models = table[table["who"] == "two_wordings"]
    named = zip(models["arm"], models["model"], strict=True)
    models = models.assign(label=model_labels(named, "{model} ({arm})"))
    of_models = [
        {"who": f"{label}, in two wordings", **_alike(_by_measure(rows))}
        for label, rows in models.groupby("label", sort=False)
    ]
    found = []
    for (arm, other), rows in table[table["who"] != "two_wordings"].groupby(["arm", "other"], sort=False):
        parts = {str(who): _by_measure(part) for who, part in rows.groupby("who")}
        apart = parts.get("in_one_only", parts["everyone"])
        pairs = [{"who": words, **_alike(parts[who])} for who, words in _PAIRS.items() if who in parts]
        rms, same = apart["rms"], parts.get("same_person")
        found.append(
            {
                "titles": [titles[str(arm)], titles[str(other)]],
                "n": [int(rms["n_people"]), int(rms["n_other"])],
                "n_flows": int(rms["n"]),
                "apart": "in_one_only" in parts,
                "in_both": int(same["same_answer"]["n_people"]) if same else 0,
                "known": rms["verdict"] != "no_verdict",
                "rms": rms,
                "digits": ".0f" if rms["expected"] > 10 else ".2f",
                "shift": apart["mean_signed"],
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
    return {"same": _percent(same), "next": _percent(near), "n": f"{int(same['n']):,}"}


def _percent(row: Mapping[str, Any] | pd.Series, of: str = "estimate") -> str:
    """Return a share with its interval, if it has one, in per cent."""
    low, high = row["conf_low"], row["conf_high"]
    limits = "" if pd.isna(low) else f" [{share_in_cell(low)}, {share_in_cell(high)}]"
    return f"{share(row[of], 1)}{limits}"
