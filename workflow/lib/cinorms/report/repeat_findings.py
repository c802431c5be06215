"""What the page says of the engine itself: what differs when an arm is asked again, and contrasts within that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from cinorms.core.csv_files import read_csv
from cinorms.core.labels import listed
from cinorms.report.results import Results
from cinorms.report.words import count

#: Contrasts of one table that are named; of more, only the number is given.
NAMED = 3


def on_page(results: Results) -> tuple[str, str] | None:
    """Return the number that matters most and the sentences; None where no table of the study is about repeats."""
    found = list(results.tables_of("repeatability"))
    if not found:
        return None
    table = pd.concat(found, ignore_index=True).drop_duplicates(["arm", "model"])
    asked = table[table["answers_differ"].notna()]
    if asked.empty:
        text = "No arm was asked again with valid answers, so the share that the engine alone changes is not known."
        return "not known", text
    worst = asked.iloc[int(asked["answers_differ"].to_numpy(dtype=float).argmax())]
    text = " ".join([*_sentences(asked, worst), *_contrasts(results)])
    return _percent(worst["answers_differ"]), text


def _sentences(asked: pd.DataFrame, worst: pd.Series[Any]) -> Iterator[str]:
    n = len(asked)
    yield (
        f"The same prompts were asked again in other batches ({count(n)} {'pair' if n == 1 else 'pairs'} of model and "
        "arm)."
    )
    of = (
        "Of its answers" if n == 1 else f"{worst['model']} in arm {worst['arm']} changed most: of its answers"
    )
    interval = ""
    if pd.notna(worst["conf_low"]):
        interval = f" (95% interval {_percent(worst['conf_low'])} to {_percent(worst['conf_high'])})"
    norms = ""
    if pd.notna(worst["norms_differ"]):
        norms = f", and of its norms {_percent(worst['norms_differ'])}"
    yield f"{of}, {_percent(worst['answers_differ'])} were another level{interval}{norms}."
    drawn = asked[asked["what"] == "engine_and_sampling"]
    if len(drawn):
        who = listed([f"{row['model']} ({row['arm']})" for row in drawn.to_dict("records")])
        yield f"Answers of {who} are drawn at random, so sampling is part of that share."


def _contrasts(results: Results) -> Iterator[str]:
    """Yield, for each table of contrasts, how many are no larger than what the engine alone changes."""
    for name, entry in results.study.analyses.items():
        if "engine_status" not in entry.meanings:
            continue
        table = read_csv(results.tables[name])
        judged = table[table["engine_status"].isin(["above", "not_above", "one_side_repeated"])]
        within = judged[judged["engine_status"] == "not_above"]
        if judged.empty:
            yield f"Table {name}: neither side of any contrast was asked again, so this floor is not known there."
        elif within.empty:
            yield f"Table {name}: every contrast with a side that was asked again is larger."
        else:
            yield (
                f"Table {name}: {count(len(within))} of {count(len(judged))} contrasts{_named(within)} are no larger, "
                "so the engine alone may be the reason."
            )


def _percent(part: Any) -> str:
    """Return a share as text; a small one, as engines have, is not rounded to 0."""
    return "below 0.1%" if 0 < part < 0.0005 else f"{float(part):.1%}"


def _named(within: pd.DataFrame) -> str:
    if len(within) > NAMED or "model_a" not in within:
        return ""
    sides = [
        f"{row['model_a']} ({row['arm_a']}) and {row['model_b']} ({row['arm_b']})"
        for row in within.to_dict("records")
    ]
    return f" ({'; '.join(sides)})"
