"""How often models take the same side in other words, in one sentence, and in lines for the end of a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from cinorms.core.labels import listed
from cinorms.report.standing import Standing, ranked, standing_of
from cinorms.report.words import FEWEST_SAID

#: Characters of a line for a terminal.
WIDEST = 110


def headline(rows: Sequence[Standing]) -> str:
    """Return how often the first and the last of ``rows`` take the same side in other words; empty without numbers."""
    known = [row for row in rows if row.kind]
    if not known or min(row.flows for row in rows) < FEWEST_SAID:
        return ""
    first, *others = known
    text = f"Asked in other words, {first.model} {first.takes()}"
    return f"{text}; {others[-1].model} {others[-1].takes('{}')}" if others else text


def nouns_of(rows: Sequence[Standing]) -> str:
    """Return what the rows are, in the plural."""
    return "respondents" if all(row.planted for row in rows) else "models"


def closing_lines(cards: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the headline and a line for each model, for the end of a run; ``cards`` are the study's (`cards`)."""
    every = [standing_of(card) for card in cards if card["standing"]]
    if not every:
        return []
    # A card knows its model's arms only; the page is about one arm, that with most norms.
    flows = Counter[str]()
    for row in every:
        flows[row.arm] += row.flows
    rows = ranked(row for row in every if row.arm == flows.most_common(1)[0][0])
    cells = [("", "same side", "95% interval", "if the flow is not read", "replies read")]
    cells += [(row.model, row.number, row.between, row.blind, row.read) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    noted: dict[str, list[str]] = {}
    for row in rows:
        noted.setdefault(row.note, []).append(row.model)
    notes = [line for note, who in noted.items() if note for line in wrap(f"{listed(who)}: {note}", WIDEST)]
    return [*wrap(headline(rows), WIDEST), *lines, *notes]
