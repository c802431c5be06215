"""Asking until decided, replayed on published answers of one model; `benchmarks/deciding.py` does it for all eight."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from cinorms.inference.until_decided import make_design
from cinorms.norms.assessment import level_matrix
from cinorms.norms.thresholds import Thresholds
from cinorms.stats.deciding.rounds import Rule, replay
from cinorms.stats.deciding.schedule import NOT_ASKED

from ....scales import ACCEPTABILITY

RULE = Rule(Thresholds(10, 0.5, "strict"), 0.02, 400)


@pytest.mark.slow
def test_a_model_whose_answers_agree_needs_a_third_of_the_prompts(
    published: Callable[[str], pd.DataFrame], iot: pd.DataFrame
) -> None:
    levels = level_matrix(published("Meta-Llama-3.1-8B-Instruct"))
    variants = pd.DataFrame({"variant": levels.columns})
    variants[["template_no", "order_no"]] = variants["variant"].str.split("_", expand=True).astype(int)
    flows = iot.set_index("flow").loc[levels.index].reset_index()
    factors = ["sender", "infotype", "recipient", "transmission"]
    design = make_design(flows, factors, variants, ACCEPTABILITY, seed=1)
    codes = ACCEPTABILITY.places(levels.to_numpy(), missing=len(ACCEPTABILITY.levels))
    asked = replay(design, RULE, codes)
    stopped, full = (
        design.verdict(seen, RULE.thresholds) for seen in (np.where(asked, codes, NOT_ASKED), codes)
    )
    assert asked.mean() < 0.29
    assert (stopped == full).mean() > 0.995
