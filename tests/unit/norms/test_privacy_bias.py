"""Privacy bias: a row per flow with its value, or the reason why there is none."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import DataError
from cinorms.norms.assessment import assess
from cinorms.norms.distances import mean_values, norm_values, privacy_bias
from cinorms.norms.thresholds import Thresholds

from ...scales import ACCEPTABILITY

FACTORS = {
    "sender": ["a fitness tracker", "a door lock"],
    "subject": ["owner"],
    "recipient": ["the police", "owner's doctor", "its maker"],
}


def vignettes_of(factors):
    """Return the full product of the factors, the first slowest, levels in the order given."""
    index = pd.MultiIndex.from_product(factors.values(), names=list(factors))
    frame = index.to_frame(index=False)
    for name, levels in factors.items():
        frame[name] = pd.Categorical(frame[name], categories=levels)
    frame.insert(0, "flow", np.arange(len(frame), dtype=np.int32))
    return frame.assign(vignette=frame["flow"].astype(str), expected=np.nan)


def answers_of(levels_by_flow):
    rows = [
        (flow, f"{i}_0", level, "refusal" if level is None else "ok")
        for flow, levels in levels_by_flow.items()
        for i, level in enumerate(levels)
    ]
    frame = pd.DataFrame(rows, columns=["flow", "variant", "level", "status"])
    return frame.astype({"flow": "int32", "variant": "category", "level": "Int8", "status": "category"})


# One flow of each status; flow 5 was not asked.
ANSWERS = {0: [2, 2, 2], 1: [-1, -1, 0], 2: [1, -1, None], 3: [-2, -1, 1, 1, 0], 4: [None, None]}


@pytest.fixture(scope="module")
def bias():
    norms = assess(answers_of(ANSWERS), "strict", ACCEPTABILITY)
    values = norm_values(norms, Thresholds(1, 0.5, "strict"))
    return privacy_bias(values, vignettes_of(FACTORS), list(FACTORS))


def test_every_flow_has_its_value_or_its_reason(bias):
    assert bias.columns.tolist() == ["flow", *FACTORS, "value", "status"]
    assert bias["status"].tolist() == ["kept", "kept", "tie", "no_majority", "below_t_val", "not_asked"]
    assert bias["value"].fillna(9).tolist() == [2, -1, 9, 9, 9, 9]
    assert bias["recipient"].tolist() == FACTORS["recipient"] * 2


def test_a_flow_that_the_vignettes_lack_is_refused():
    values = pd.DataFrame({"flow": [4], "value": [1.0], "status": ["kept"]})
    with pytest.raises(DataError, match="flow 4 is not in the vignettes"):
        privacy_bias(values, vignettes_of(FACTORS).head(4), ["sender"])


def test_norm_values_hold_nothing_that_is_no_norm():
    norms = assess(answers_of({0: [1, 1, -1], 1: [1, 0, -1, -1, 2]}), "strict", ACCEPTABILITY)
    values = norm_values(norms, Thresholds(0, 0.5, "strict"))
    assert values["status"].tolist() == ["kept", "no_majority"]
    assert values["value"][0] == 1
    assert values["value"][1] is pd.NA


def test_the_mean_over_variants_by_hand():
    norms = assess(answers_of({7: [2, -1, None, 1], 8: [None], 9: [-2]}), "strict", ACCEPTABILITY)
    means = mean_values(norms)
    assert means["flow"].tolist() == [7, 8, 9]
    assert means["status"].tolist() == ["kept", "below_t_val", "kept"]
    assert means["value"][0] == pytest.approx(2 / 3)
    assert means["value"].isna().tolist() == [False, True, False]
    assert mean_values(norms, t_val=2)["status"].tolist() == ["kept", "below_t_val", "below_t_val"]
