"""Consistency over wordings of the published answers."""

import numpy as np
import pandas as pd
import pytest

from cinorms.norms.assessment import level_matrix
from cinorms.stats.wordings import level_counts
from rewordings import consistency

from ...scales import ACCEPTABILITY

SIDES = np.sign(ACCEPTABILITY.levels)

#: Same side and without reading the flow, in percent, of the answers that the paper's authors published.
PUBLISHED = {
    "gpt-4o-mini-8B": (94, 53),
    "Meta-Llama-3.1-8B-Instruct": (82, 60),
    "tulu-2-dpo-13b": (69, 45),
    "tulu-2-13B-AWQ": (60, 44),
    "tulu-2-dpo-7b": (59, 44),
    "tulu-2-13b": (55, 37),
    "tulu-2-7b": (49, 41),
    "tulu-2-7B-AWQ": (49, 42),
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_consistency_of_the_published_answers(published, model):
    levels = level_matrix(published(model))
    templates = pd.Series([int(name.partition("_")[0]) for name in levels], index=levels.columns)
    found = consistency(level_counts(levels, templates, ACCEPTABILITY), SIDES)
    assert (round(100 * found.same_side), round(100 * found.blind_side)) == PUBLISHED[model]
    assert found.low < found.same_side < found.high
