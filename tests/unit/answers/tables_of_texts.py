"""Tables of responses that tests of this folder read."""

import csv
from functools import cache

import numpy as np
import pandas as pd

from cinorms.answers.reading.normalise import fixed_wording
from cinorms.answers.reading.rules import read_text
from cinorms.core.scales import papers_scale

ACCEPT = papers_scale("acceptability")
TEXTS = ["somewhat acceptable", "Neutral.", "s", "", "not neutral", "somwhat acceptable", "I can't help."]


def responses(texts, finish="stop", order="01234", p_options=None, categories=None):
    n = len(texts)
    return pd.DataFrame(
        {
            "flow": np.arange(n, dtype=np.int32),
            "variant": pd.Categorical(["v"] * n),
            "order": pd.Categorical([order] * n if isinstance(order, str) else order),
            "text": pd.Categorical(texts, categories=categories),
            "finish_reason": pd.Categorical([finish] * n if isinstance(finish, str) else finish),
            "n_prompt_tokens": pd.array([None] * n, dtype="Int32"),
            "n_output_tokens": pd.array([None] * n, dtype="Int32"),
            "p_options": p_options if p_options is not None else [None] * n,
        }
    )


def said(reading, scale=ACCEPT):
    """Return a reading as the option that it found, or as its status."""
    return reading.status if reading.level is None else scale.label(reading.level)


@cache
def coded(path):
    """Return the rows of a table of texts, each with what the reader makes of it, read once for all tests."""
    with path.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:
        words = fixed_wording(row["template"]) if "template" in row else frozenset()
        reading = read_text(row["text"], ACCEPT, row.get("finish_reason", "stop"), words)
        row |= {"read": said(reading), "rule": reading.rule, "cases": reading.cases or ""}
    return rows
