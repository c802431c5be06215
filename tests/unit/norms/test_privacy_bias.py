"""Privacy bias: a row per flow, the tensor of them, missing norms, levels that no flow combines."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import DataError
from cinorms.norms.assessment import assess
from cinorms.norms.distances import STATUSES, mean_values, norm_values, privacy_bias, tensor
from cinorms.norms.thresholds import Thresholds
from cinorms.vignettes.designs import factor_columns, load_dataset

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
EXPECTED_CELLS = {
    ("a fitness tracker", "the police"): (2.0, "kept"),
    ("a fitness tracker", "owner's doctor"): (-1.0, "kept"),
    ("a fitness tracker", "its maker"): (None, "tie"),
    ("a door lock", "the police"): (None, "no_majority"),
    ("a door lock", "owner's doctor"): (None, "below_t_val"),
    ("a door lock", "its maker"): (None, "not_asked"),
}


@pytest.fixture(scope="module")
def bias():
    norms = assess(answers_of(ANSWERS), "strict", ACCEPTABILITY)
    values = norm_values(norms, Thresholds(1, 0.5, "strict"))
    return privacy_bias(values, vignettes_of(FACTORS), list(FACTORS))


def test_every_cell_has_its_value_or_its_reason(bias):
    assert bias.columns.tolist() == ["flow", *FACTORS, "value", "status"]
    levels, values, statuses = tensor(bias, list(FACTORS))
    assert levels == {name: tuple(known) for name, known in FACTORS.items()}
    assert values.shape == statuses.shape == (2, 1, 3)
    for (sender, recipient), (value, status) in EXPECTED_CELLS.items():
        at = (FACTORS["sender"].index(sender), 0, FACTORS["recipient"].index(recipient))
        assert statuses[at] == status
        assert np.isnan(values[at]) if value is None else values[at] == value
    assert set(statuses.ravel()) <= set(STATUSES)


def test_a_slice_has_the_axes_that_are_named(bias):
    part = tensor(bias[bias["sender"] == "a door lock"], ["recipient"])
    assert part.levels == {"recipient": tuple(FACTORS["recipient"])}
    assert part.statuses.tolist() == ["no_majority", "below_t_val", "not_asked"]


def test_linked_factors_leave_cells_without_a_flow(folder):
    design = load_dataset(folder / "resources/vignettes/confaide_2a.yaml").design
    flows = factor_columns(design)
    flows.insert(0, "flow", np.arange(len(flows)))
    values = pd.DataFrame({"flow": flows["flow"], "value": 1.0, "status": "kept"})
    bias = privacy_bias(values, flows, list(design.factors))
    _, numbers, statuses = tensor(bias, list(design.factors))
    assert numbers.shape == (7, 7, 14)
    assert (statuses == "kept").sum() == len(bias) == 98
    assert (statuses == "no_flow").sum() == np.isnan(numbers).sum() == 686 - 98


def test_a_flow_that_the_vignettes_lack_is_refused():
    values = pd.DataFrame({"flow": [4], "value": [1.0], "status": ["kept"]})
    with pytest.raises(DataError, match="flow 4 is not in the vignettes"):
        privacy_bias(values, vignettes_of(FACTORS).head(4), ["sender"])


def test_flows_with_the_same_levels_are_no_tensor(bias):
    with pytest.raises(DataError, match=r"flows 0 and 1 have the same levels.*a fitness tracker"):
        tensor(bias, ["sender"])
    with pytest.raises(DataError, match=r"flows 3 and 4 have the same levels.*a door lock"):
        tensor(bias[bias["sender"] == "a door lock"], ["sender"])


def test_a_tensor_too_large_is_refused():
    names = {factor: pd.Categorical([f"{factor}{i}" for i in range(300)]) for factor in "abc"}
    bias = pd.DataFrame({"flow": range(300), **names, "value": 0.0, "status": "kept"})
    with pytest.raises(DataError, match="300 x 300 x 300 cells are too many"):
        tensor(bias, list("abc"))


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
