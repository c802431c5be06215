"""Answers as one byte each, flows by variants: small enough for a page, quick enough to count in."""

import base64
import gzip
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import tables
from cinorms.core.scales import Scale
from cinorms.norms import assessment
from cinorms.prompts.orders import codes_of
from cinorms.stats.arrays import Floats

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

#: Code of an answer: 0, 1, ... for the levels, lowest first, then one for each status without a level, in this order.
INVALID = tuple(status for status in tables.ANSWER_STATUSES if status != "ok")
#: Code of what was not asked, and of an order that is not known.
NOTHING, NO_ORDER = 255, 65535
#: The file that lists the scripts with a model's replies in an arm, and the call that each of them makes.
INDEX, CALL = "index.json", ('cinormsReplies("', '");\n')


@dataclass(frozen=True)
class AnswerCodes:
    """Codes of a model's answers in an arm: ``answers[i, j]`` is that to ``flows[i]`` in variant ``j``.

    ``shown`` holds the order of the options in that prompt, as its code (`orders.Orders`). The levels are those of the
    ``scale``, a number line in bins.
    """

    flows: Ints
    answers: Bytes
    shown: npt.NDArray[np.uint16]
    scale: Scale

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.scale.levels)

    @property
    def n_asked(self) -> int:
        """Number of answers, valid or not."""
        return int((self.answers != NOTHING).sum())

    @property
    def n_valid(self) -> int:
        """Number of answers that have a level."""
        return int((self.answers < self.n_levels).sum())

    def invalid(self) -> dict[str, int]:
        """Return how many answers have each status without a level, most frequent first."""
        n = np.bincount(self.answers.ravel(), minlength=NOTHING + 1)
        counts = Counter({status: int(n[self.n_levels + i]) for i, status in enumerate(INVALID)})
        return dict((+counts).most_common())


def pack(data: bytes) -> str:
    """Return ``data`` as base64 of gzip, equal data equally; nothing in it can end a text or a script."""
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


def encode(answers: pd.DataFrame, prompts: pd.DataFrame, scale: Scale) -> AnswerCodes:
    """Return the codes of an answers table; the columns are the variants in the order of ``prompts``."""
    flows, row = np.unique(answers["flow"].to_numpy(np.int64), return_inverse=True)
    column = pd.Index(prompts["variant"].astype(str)).get_indexer(pd.Index(answers["variant"].astype(str)))
    level = assessment.valid_levels(answers)
    # Each category of status is looked up once; what was not asked has no place among those that are invalid.
    status = answers["status"].astype("category").cat
    places = pd.Index(INVALID).get_indexer(status.categories.astype(str))
    numbers = np.where(places < 0, NOTHING, len(scale.binned.levels) + places)
    code = np.where(np.isnan(level), np.append(numbers, NOTHING)[status.codes], scale.places(level))
    whole = np.full((len(flows), len(prompts)), NOTHING, dtype=np.uint8)
    shown = np.full(whole.shape, NO_ORDER, dtype=np.uint16)
    whole[row, column] = code.astype(np.uint8)
    order = codes_of(answers["order"], scale.n_shown)
    shown[row, column] = np.where(order < 0, NO_ORDER, order)
    return AnswerCodes(flows, whole, shown, scale.binned)


def counts_by_template(codes: AnswerCodes, prompts: pd.DataFrame) -> Floats | None:
    """Return how often each level was answered (levels x flows x templates), as `stats.wordings.level_counts` does.

    None where some flow was not asked in some variant: what the flows have then is no sample of the same templates.
    """
    if (codes.answers == NOTHING).any():
        return None
    member = np.eye(prompts["template_no"].max() + 1)[prompts["template_no"]]
    member = member[:, member.any(axis=0)]
    return np.stack([(codes.answers == level) @ member for level in range(codes.n_levels)])


def tally(codes: AnswerCodes, groups: Mapping[Any, Ints]) -> tuple[Ints, Ints]:
    """Return accepting and valid answers per group (rows) and variant (columns).

    ``groups`` has the flows of each group; those that were not asked do not count.
    """
    member = np.array([np.isin(codes.flows, flows) for flows in groups.values()]).reshape(len(groups), -1)
    valid = codes.answers < codes.n_levels
    upper = np.flatnonzero(np.array(codes.scale.sides) > 0)
    accepts = valid & np.isin(codes.answers, upper)
    weights = member.astype(np.float64)
    accepted, answered = (weights @ counted.astype(np.float64) for counted in (accepts, valid))
    return np.rint(accepted).astype(np.int64), np.rint(answered).astype(np.int64)
