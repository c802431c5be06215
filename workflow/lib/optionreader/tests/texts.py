"""What the tests share: the labelled texts of data/, and what is read in them."""

import csv
from functools import cache
from pathlib import Path

from optionreader import Reading, Scale, fixed_parts, read

DATA = Path(__file__).with_name("data")
ACCEPT, AGREE = Scale.shipped("acceptability"), Scale.shipped("agreement")


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of data/."""
    with (DATA / f"{name}.csv").open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


@cache
def scale_of(name: str) -> Scale:
    """Return a scale of these tests, or a shipped one."""
    path = DATA / f"scales/{name}.yaml"
    return Scale.from_yaml(path) if path.exists() else Scale.shipped(name)


def said(reading: Reading, scale: Scale = ACCEPT) -> str:
    """Return a reading as the option that it found, or as its status."""
    return reading.status if reading.level is None else scale.label(reading.level)


@cache
def coded(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of texts, each with what is read in it, read once for all tests."""
    found = rows(name)
    for row in found:
        scale, prompt = scale_of(row.get("scale", "acceptability")), fixed_parts(row.get("template", ""))
        reading = read(row["text"], scale, finish_reason=row.get("finish_reason", "stop"), prompt=prompt)
        row["read"], row["rule"], row["cases"] = said(reading, scale), reading.rule, repr(reading.cases)
        row["expected"] = row.get("expected") or row["code"]
        row["level"] = row["read"] if reading.level is not None else ""
        row["stated"] = row["expected"] if row["expected"] in scale.options else ""
    return found
