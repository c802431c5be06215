"""The responses of a model in an arm read into answers, by ranges of flows: memory does not grow with the arm."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.answers.acting import read_replies
from cinorms.answers.coding.codes import apply_codes
from cinorms.answers.overrides import match_overrides, review_table
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.scales import Scale
from cinorms.inference.responses import check_complete, request_in


@dataclass
class ArmReader:
    """What is needed to read the responses, and what is found beside the answers.

    ``asked`` is the request of the arm as plain data, without which nothing says whether the responses are complete.
    """

    vignettes: pd.DataFrame
    variants: pd.DataFrame
    scale: Scale
    asked: Mapping[str, Any] | None = None
    overrides: pd.DataFrame | None = None
    codes: pd.DataFrame | None = None
    #: The model whose codes count.
    model: str = ""
    #: Of each range: what no exact rule has read, and how many responses each override settles.
    reviews: list[pd.DataFrame] = field(default_factory=list)
    settled: list[npt.NDArray[np.int64]] = field(default_factory=list)
    #: How often each status was given.
    statuses: "pd.Series[int]" = field(default_factory=lambda: pd.Series(dtype="int64", name="count"))

    def read(self, path: str, most: int | None = tables.MOST_ROWS) -> Iterator[pd.DataFrame]:
        """Yield the answers of each range of flows of the file of responses."""
        if self.asked and (model := request_in(path).model) != self.asked["model"]:
            remedy = tables.RESPONSES.remedy
            raise DataError(f"{path}: has the responses of {model}, expected {self.asked['model']}; {remedy}")
        if self.asked and self.asked["select"]:  # there may be no selected flow in a range
            most = None
        for flows, (responses,) in tables.read_ranges([path], tables.RESPONSES, most):
            yield self._range(flows, path, responses)

    def _range(self, flows: tables.FlowRange, path: str, responses: pd.DataFrame) -> pd.DataFrame:
        low, high = flows
        number = self.vignettes["flow"]
        vignettes = self.vignettes[(number >= low) & (number < high)].reset_index(drop=True)
        if self.asked:
            check_complete(path, responses, self.asked, vignettes, self.variants)
        responses = tables.stack([responses], tables.RESPONSES)
        answers = read_replies(responses, self.scale, vignettes, self.variants, self.overrides)
        if self.codes is not None:
            answers = apply_codes(answers, responses, vignettes, self.scale.name, self.codes, self.model)
        if "cases" in answers:  # only of what the rules read, and neither a person nor a coder replaced
            answers["cases"] = answers["cases"].where(answers["status"] == "conditional")
        self.reviews.append(review_table(responses, answers))
        if self.overrides is not None:
            self.settled.append(match_overrides(responses, self.overrides)["n_responses"].to_numpy())
        counts = answers["status"].value_counts()
        self.statuses = counts if self.statuses.empty else self.statuses.add(counts, fill_value=0).astype(int)
        return answers
