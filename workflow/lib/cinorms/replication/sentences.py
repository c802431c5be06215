"""Sentences of a paper about flows, compared with the norms of its published answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from cinorms.core.csv_tables import SENTENCES
from cinorms.core.errors import DataError, listing
from cinorms.published.releases import Release, Sentence


def compare_sentences(release: Release, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row for each flow and model of each sentence (`csv_tables.SENTENCES`); of two models where they differ.

    ``tables`` are the study's analyses by name; the one that the sentences name has a row per model and flow
    (kind ``flow_norms``).

    Raises ``DataError`` for a factor, a level or a model that it does not have.
    """
    rows: list[dict[str, Any]] = []
    if release.sentences:
        norms = tables[release.sentences.table]
        for sentence in release.sentences.rows:
            stated = {"section": sentence.section, "sentence": sentence.says}
            cells = _shares if sentence.share else _sides if sentence.opposite else _cells
            chosen = _chosen(norms, sentence)
            rows += [stated | cell | {"remark": sentence.but} for cell in cells(chosen, sentence)]
    return pd.DataFrame(rows, columns=list(SENTENCES.about), dtype="str")


def unexpected(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that do not hold, and those that hold where the release says that none does."""
    return cells[(cells["holds"] == "no") != (cells["remark"] != "")]


def sentences_text(cells: pd.DataFrame) -> str:
    """Return how many cells hold, as a line for a terminal; nothing where no sentence is compared."""
    counted = cells[cells["holds"].isin(["yes", "no"])]
    if counted.empty:
        return ""
    hold, slips = int(counted["holds"].eq("yes").sum()), int((counted["remark"] != "").sum())
    known = f"; {slips} are slips of the paper" if slips else ""
    return f"  sentences about flows: {hold} of {len(counted)} cells hold{known}"


def _chosen(norms: pd.DataFrame, sentence: Sentence) -> pd.DataFrame:
    """Return the rows of the models and flows that ``sentence`` is about."""
    chosen = _has(norms, "model", sentence.opposite or tuple(sentence.levels), sentence)
    for factor, levels in sentence.flows.items():
        chosen &= _has(norms, factor, levels, sentence)
    for factor, levels in sentence.others.items():
        chosen &= ~_has(norms, factor, levels, sentence)
    return norms[chosen]


def _has(norms: pd.DataFrame, column: str, values: Sequence[str], sentence: Sentence) -> pd.Series[bool]:
    """Return which rows have one of ``values`` in ``column``; raise ``DataError`` for a value that none has."""
    place = f"sentence {sentence.says!r}"
    if column not in norms:
        raise DataError(f"{place}: {column!r} is not known; {listing(column, norms)}")
    present = list(map(str, norms[column].unique()))
    for value in values:
        if value not in present:
            raise DataError(f"{place}: {column}: {value!r} is not known; {listing(value, present)}")
    return norms[column].isin(values)


def _cells(chosen: pd.DataFrame, sentence: Sentence) -> Iterator[dict[str, str]]:
    for model, options in sentence.levels.items():
        for row in chosen[chosen["model"] == model].to_dict("records"):
            found = _norm(row)
            yield {
                "model": model,
                "flow": _flow(row, sentence),
                "stated": " or ".join(options),
                "found": found,
                "holds": _yes(found in options),
            }


def _sides(chosen: pd.DataFrame, sentence: Sentence) -> Iterator[dict[str, str]]:
    a, b = sentence.opposite or ("", "")
    for flow, rows in chosen.groupby("flow"):
        by_model = {row["model"]: row for row in rows.to_dict("records")}
        if len(by_model) < 2:
            raise DataError(f"sentence {sentence.says!r}: {a} and {b} do not both have a row for flow {flow}")
        levels = [by_model[model]["level"] for model in (a, b)]
        yield {
            "model": f"{a}, {b}",
            "flow": _flow(by_model[a], sentence),
            "stated": "opposite sides",
            "found": ", ".join(_norm(by_model[model]) for model in (a, b)),
            "holds": _yes(not any(map(pd.isna, levels)) and levels[0] * levels[1] < 0),
        }


def _shares(chosen: pd.DataFrame, sentence: Sentence) -> Iterator[dict[str, str]]:
    for model, options in sentence.levels.items():
        norms = chosen.loc[chosen["model"] == model, "norm"]
        yield {
            "model": model,
            "flow": f"{len(norms):,} flows",
            "stated": " or ".join(options),
            "found": f"{norms.isin(options).mean():.1%}",
            "holds": "not counted",
        }


def _flow(row: Mapping[Any, Any], sentence: Sentence) -> str:
    return "; ".join(str(row[factor]) for factor in sentence.flows)


def _norm(row: Mapping[Any, Any]) -> str:
    """Return the norm in the words of the scale, or why there is none."""
    return str(row["reason"] if pd.isna(row["level"]) else row["norm"])


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
