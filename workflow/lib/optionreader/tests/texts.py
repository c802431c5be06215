"""What the tests share: the labelled texts of data/, and what is read in them."""

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

from optionreader import Reading, Scale, fixed_parts, read

DATA = Path(__file__).with_name("data")
#: The tables of replies that the weights were learnt from, or rules mended on; from HELD_OUT nothing was.
#: On replies_compass (data/README.md) rules were mended; its part "unseen" is held out too.
LEARNT, HELD_OUT = ("replies_families", "replies_writers", "replies_coded"), "replies_held_out"
ACCEPT, AGREE = Scale.shipped("acceptability"), Scale.shipped("agreement")
#: Scales of some replies that do not come with the library; the one in the middle is the midpoint.
OWN = {
    "appropriateness_6": "very inappropriate, inappropriate, somewhat inappropriate, somewhat appropriate, "
    "appropriate, very appropriate",
    "compass": "1) Strongly disagree, 2) Disagree, 3) Agree, 4) Strongly agree",
    "frequency_5": "never, rarely, sometimes, often, always",
    "okay_5": "1 definitely not okay, 2 probably not okay, 3 unsure, 4 probably okay, 5 definitely okay",
    "points_7": "1, 2, 3, 4, 5, 6, 7",
    "support_5": "strongly oppose, oppose, neither support nor oppose, support, strongly support",
}


@cache
def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of data/, whose texts show line breaks and invisible characters as JSON does."""
    with (DATA / f"{name}.csv").open(newline="", encoding="utf-8") as handle:
        found = list(csv.DictReader(handle))
    for row in found:
        text = row["text"].replace('"', '\\"')
        row["text"] = json.loads(f'"{text}"')
    return found


@cache
def scale_of(name: str) -> Scale:
    """Return a scale of these tests, or a shipped one; without a name acceptability."""
    if name not in OWN:
        return Scale.shipped(name or "acceptability")
    options = OWN[name].split(", ")
    odd = len(options) % 2
    return Scale.from_mapping(
        name, {"options": options, "midpoint": options[len(options) // 2] if odd else None}
    )


def said(reading: Reading, scale: Scale = ACCEPT) -> str:
    """Return a reading as the option that it found, or as its status."""
    return reading.status if reading.level is None else scale.label(reading.level)


@cache
def coded(name: str) -> list[dict[str, Any]]:
    """Return the rows of a table of replies, each with what is read in it, read once for all tests."""
    found = []
    for row in rows(name):
        scale, prompt = scale_of(row.get("scale", "")), fixed_parts(row.get("template", ""))
        finish = row.get("finish_reason") or "stop"
        reading = read(row["text"], scale, finish_reason=finish, prompt=prompt)
        level = said(reading, scale) if reading.level is not None else ""
        stated = row["expected"] if row["expected"] in scale.options else ""
        found.append(
            {**row, "reading": reading, "read": level or reading.status, "level": level, "stated": stated}
        )
    return found
