"""The responses of a model in an arm read into answers, with what a person must know of how they were read."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from cinorms.answers.acting import read_replies
from cinorms.answers.coding.codes import apply_codes
from cinorms.answers.overrides import match_overrides, review_table
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.scales import Scale
from cinorms.inference.responses import check_complete, request_in


class ReadArm(NamedTuple):
    """The answers, what no exact rule has read, and the overrides with how many responses each settles, if any."""

    answers: pd.DataFrame
    review: pd.DataFrame
    settled: pd.DataFrame | None


def read_arm(
    path: str,
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    scale: Scale,
    model: str,
    asked: Mapping[str, Any] | None = None,
    overrides: pd.DataFrame | None = None,
    codes: pd.DataFrame | None = None,
) -> ReadArm:
    """Read the file of responses of ``model``, whose ``codes`` count.

    ``asked`` is the request of the arm as plain data, without which nothing says whether the responses are complete.
    """
    if asked and (found := request_in(path).model) != asked["model"]:
        remedy = tables.RESPONSES.remedy
        raise DataError(f"{path}: has the responses of {found}, expected {asked['model']}; {remedy}")
    responses = tables.read(path, tables.RESPONSES)
    if asked:
        check_complete(path, responses, asked, vignettes, variants)
    responses = tables.by_key(responses, tables.RESPONSES)
    answers = read_replies(responses, scale, vignettes, variants, overrides)
    if codes is not None:
        answers = apply_codes(answers, responses, vignettes, scale.name, codes, model)
    settled = None if overrides is None else match_overrides(responses, overrides)
    return ReadArm(answers, review_table(responses, answers), settled)
