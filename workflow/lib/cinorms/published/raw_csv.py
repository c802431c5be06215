"""Read the authors' raw CSV files: the texts that models answered with, before they were scored."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd

from cinorms.core.errors import DataError
from cinorms.published.frames import category, flows_of

#: The columns of the authors' raw CSV files.
RAW_COLUMNS = ("Scenario", "Prompt", "Response", "prompt_id", "likert", "likert_order_id")

_ORDERS = ["".join(p) for p in itertools.permutations("01234")]


def order_of(ordering: str) -> str:
    """Return our order string for the authors' ``ordering_{i}``: the option index at each shown position.

    The i-th (from 1) permutation of the labels, in the order of `itertools.permutations`; "01234" is
    lowest first. Raises `DataError` for any other name.
    """
    match = re.fullmatch(r"ordering_(\d{1,3})", ordering)
    if not match or not 1 <= int(match[1]) <= len(_ORDERS):
        raise DataError(f"likert_order_id '{ordering}': expected 'ordering_1' to 'ordering_{len(_ORDERS)}'")
    return _ORDERS[int(match[1]) - 1]


def read_raw_csv(path: str | Path, vignettes: pd.DataFrame) -> pd.DataFrame:
    """Return the responses table (`tables.RESPONSES`) in one of the authors' raw CSV files.

    The variant is ``t_o``: the number in ``prompt_id``, and how often the flow and template came before
    in the file. Texts are kept as they are; an empty cell is an empty text. ``finish_reason`` was not
    recorded and reads ``unknown``.

    Raises `DataError` if the file or a column is missing, or a row names an unknown vignette, template
    or order.
    """
    try:
        raw = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not a readable CSV file ({error})") from error
    missing = [c for c in RAW_COLUMNS if c not in raw]
    if missing:
        raise DataError(
            f"{path}: the columns {missing} are missing; the authors' raw files have {list(RAW_COLUMNS)}"
        )
    flow = flows_of(raw["Scenario"], vignettes).astype(np.int32)
    template = raw["prompt_id"].str.extract(r"^(?:p#)?(\d+)$", expand=False)
    if template.isna().any():
        wrong = raw.loc[template.isna(), "prompt_id"].iloc[0]
        raise DataError(f"{path}: prompt_id '{wrong}' is not a template number")
    # ASSUME: rows of one flow and template are in the order in which the random orders were drawn.
    number = pd.Series(flow.to_numpy()).groupby([flow.to_numpy(), template.to_numpy()]).cumcount()
    orders = {name: order_of(name) for name in raw["likert_order_id"].unique()}
    return pd.DataFrame(
        {
            "flow": flow.to_numpy(),
            "variant": pd.Categorical(template + "_" + number.astype(str)),
            "order": pd.Categorical(raw["likert_order_id"].map(orders)),
            "text": pd.Categorical(raw["Response"]),
            "finish_reason": category(np.zeros(len(raw), dtype=np.int8), ["unknown"]),
            "n_prompt_tokens": pd.array([pd.NA] * len(raw), dtype="Int32"),
            "n_output_tokens": pd.array([pd.NA] * len(raw), dtype="Int32"),
            "p_options": None,
        }
    )
