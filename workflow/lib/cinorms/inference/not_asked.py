"""What was not asked: a row with a status of its own for every question that a decided flow was spared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.tables import NOT_ASKED
from cinorms.inference.completeness import rows_of
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.inference.until_decided import PARTS, parts, rule_of
from cinorms.prompts.orders import as_categorical


def add_not_asked(
    answers: pd.DataFrame, spec: Mapping[str, Any], vignettes: pd.DataFrame, variants: pd.DataFrame
) -> pd.DataFrame:
    """Return the answers of a model with the column ``part`` and a row for what was not asked.

    ``spec`` is the model's in the arm, as plain data. Answers of an arm that asks everything are returned as they are.
    """
    rule = rule_of(Spec.from_plain(spec))
    if rule is None:
        return answers
    questions = Questions.of(Spec.from_plain(spec), vignettes, variants)
    asked = rows_of(questions, answers)
    at = np.flatnonzero(asked)
    grid = questions.grid
    whole = answers.set_axis(at).reindex(np.arange(len(grid)))
    names = pd.Index(questions.variants["variant"])
    whole["flow"] = grid["flow"].to_numpy()
    whole["variant"] = pd.Categorical.from_codes(grid["row"], categories=names)
    whole["order"] = as_categorical(grid["order_code"].to_numpy(), questions.spec.answer_scale.n_shown)
    for name, word in (("status", NOT_ASKED), ("rule", "decided")):
        column = whole[name].astype("category")
        column = column.cat.add_categories([word]) if word not in column.cat.categories else column
        whole[name] = column.fillna(word)
    return whole.assign(
        part=pd.Categorical.from_codes(parts(questions, rule, asked), categories=pd.Index(PARTS))
    )
