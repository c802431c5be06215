"""Whether a file of responses has every question that its job asked, exactly once and in the order shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import DataError
from cinorms.core.tables import RESPONSES
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.inference.until_decided import is_possible, rule_of
from cinorms.prompts.orders import orders_of


def check_complete(
    path: str | Path,
    responses: pd.DataFrame,
    spec: Mapping[str, Any],
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
) -> None:
    """Raise ``DataError`` unless the ``responses`` in ``path`` are those of its shard's questions, row for row.

    ``spec`` is the model's in the arm, as plain data; the file has the name of the shard.
    """
    questions = Questions.of(Spec.from_plain({**spec, "shard": Path(path).stem}), vignettes, variants)
    grid, rule = questions.grid, rule_of(questions.spec)
    if rule is not None:
        asked_rows = rows_of(questions, responses)
        if not is_possible(questions, rule, asked_rows):
            raise DataError(f"{path}: has responses that no rounds ask for; {RESPONSES.remedy}")
        grid = grid[asked_rows].reset_index(drop=True)
    asked = pd.DataFrame(
        {
            "flow": grid["flow"],
            "variant": questions.variants["variant"].to_numpy(dtype=object)[grid["row"]],
            "order": np.array(orders_of(questions.spec.answer_scale.n_shown).names, dtype=object)[
                grid["order_code"]
            ],
        }
    )
    found = pd.DataFrame({name: responses[name].to_numpy() for name in asked})
    if len(found) == len(asked) and all((found[name] == asked[name]).all() for name in asked):
        return
    rows = pd.MultiIndex.from_frame(asked)
    missing = rows[~rows.isin(pd.MultiIndex.from_frame(found))]
    what = "rows are missing, doubled or in another order"
    if len(missing):
        flow, variant, _ = missing[0]
        what = f"{len(missing):,} of {len(asked):,} questions are missing, e.g. flow {flow} with variant {variant}"
    raise DataError(
        f"{path}: has {len(found):,} responses that are not those asked ({what}); {RESPONSES.remedy}"
    )


def rows_of(questions: Questions, responses: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Return which rows of the grid have a row in ``responses`` (or answers)."""
    variant = questions.variants["variant"].to_numpy(dtype=object)[questions.grid["row"]]
    grid = pd.MultiIndex.from_arrays([questions.grid["flow"].to_numpy(), variant])
    found = [responses["flow"].to_numpy(), responses["variant"].astype(str).to_numpy(dtype=object)]
    return np.asarray(grid.isin(pd.MultiIndex.from_arrays(found)))
