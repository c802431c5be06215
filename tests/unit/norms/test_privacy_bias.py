"""The tensor of privacy bias: slices against plain filtering, missing norms, flows that do not exist."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.core.errors import ConfigError, DataError
from cinorms.norms.assessment import assess
from cinorms.norms.privacy_bias import (
    STATUSES,
    Norm,
    PrivacyBias,
    mean_over_variants,
    mean_values,
    norm_values,
)
from cinorms.norms.thresholds import Thresholds
from cinorms.vignettes.designs import expand, load_dataset

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


USUAL = Thresholds(1, 0.5, "strict")


@pytest.fixture(scope="module")
def bias():
    norms = assess(answers_of(ANSWERS), "strict", ACCEPTABILITY)
    return PrivacyBias.from_norms(norms, vignettes_of(FACTORS), list(FACTORS), USUAL)


def test_every_cell_has_its_value_or_its_reason(bias):
    values, statuses = bias.to_array()
    assert values.shape == statuses.shape == bias.shape == (2, 1, 3)
    for (sender, recipient), (value, status) in EXPECTED_CELLS.items():
        at = (FACTORS["sender"].index(sender), 0, FACTORS["recipient"].index(recipient))
        assert statuses[at] == status
        assert np.isnan(values[at]) if value is None else values[at] == value
    assert set(statuses.ravel()) <= set(STATUSES)


def test_fully_specified_is_one_norm(bias):
    for flow, ((sender, recipient), (value, status)) in enumerate(EXPECTED_CELLS.items()):
        assert bias.slice(sender=sender, recipient=recipient, subject="owner") == Norm(value, status, flow)


def test_fixed_factors_drop_and_the_others_stay(bias):
    part = bias.slice(sender="a door lock", recipient=None)
    assert part.factors == {"subject": ("owner",), "recipient": tuple(FACTORS["recipient"])}
    assert part.fixed == {"sender": "a door lock"}
    assert part.to_frame().columns.tolist() == ["flow", "subject", "recipient", "value", "status"]
    assert part.to_array()[1].tolist() == [["no_majority", "below_t_val", "not_asked"]]
    again = bias[{"sender": "a door lock"}]
    pd.testing.assert_frame_equal(again.to_frame(), part.to_frame())


def test_a_list_restricts_a_factor_to_its_levels_in_that_order(bias):
    part = bias.slice(recipient=["its maker", "the police"], sender="a fitness tracker", subject="owner")
    assert part.factors == {"recipient": ("its maker", "the police")}
    values, statuses = part.to_array()
    assert statuses.tolist() == ["tie", "kept"]
    assert values[1] == 2
    assert bias.slice(sender=["a door lock"]).shape == (1, 1, 3)


def test_slices_of_slices_and_the_whole_stay_as_they_are(bias):
    before = bias.to_frame()
    nested = bias.slice(sender="a fitness tracker").slice(recipient="the police", subject="owner")
    assert nested == bias.slice(sender="a fitness tracker", subject="owner", recipient="the police")
    copy = bias.to_frame()
    copy["value"] = 9.0
    pd.testing.assert_frame_equal(bias.to_frame(), before)


def test_linked_factors_leave_cells_without_a_flow(folder):
    design = load_dataset(folder / "resources/vignettes/confaide_2a.yaml").design
    from cinorms.vignettes.designs import factor_columns

    flows = factor_columns(design)
    flows.insert(0, "flow", np.arange(len(flows)))
    flows = flows.assign(vignette="", expected=np.nan)
    values = pd.DataFrame({"flow": flows["flow"], "value": 1.0, "status": "kept"})
    bias = PrivacyBias.from_values(values, flows, list(design.factors))
    assert bias.shape == (7, 7, 14)
    numbers, statuses = bias.to_array()
    assert (statuses == "kept").sum() == 98
    assert (statuses == "no_flow").sum() == 686 - 98
    assert np.isnan(numbers).sum() == 686 - 98
    assert len(bias.to_frame()) == 98
    of_doctor = bias.slice(recipient="your doctor")
    assert (of_doctor.to_array()[1] == "kept").sum() == 7 * 2
    wrong = {"recipient": "your doctor", "transmission_principle": "detect fraud"}
    assert bias[{**wrong, "information_type": "your social security number"}] == Norm(None, "no_flow", None)


def test_the_null_level_is_a_level_like_others(folder):
    design = load_dataset(folder / "resources/vignettes/iot.yaml").design
    flows = expand(design, null_principle=True)
    values = pd.DataFrame({"flow": flows["flow"], "value": 0.0, "status": "kept"})
    bias = PrivacyBias.from_values(values, flows, list(design.factors))
    assert bias.shape == (1, 8, 9, 8, 13)
    assert bias.slice(transmission_principle="no condition stated").shape == (1, 8, 9, 8)
    assert (bias.to_array()[1] == "kept").all()


SLICE = st.fixed_dictionaries(
    {},
    optional={
        name: st.one_of(
            st.none(),
            st.sampled_from(levels),
            st.lists(st.sampled_from(levels), min_size=1, unique=True),
        )
        for name, levels in FACTORS.items()
    },
)


@given(asked=st.sets(st.integers(0, 5)), exists=st.sets(st.integers(0, 5), min_size=1), wanted=SLICE)
@settings(max_examples=40, deadline=None)
def test_a_slice_holds_what_filtering_the_flows_gives(asked, exists, wanted):
    vignettes = vignettes_of(FACTORS)
    vignettes = vignettes[vignettes["flow"].isin(exists)]
    flows = sorted(asked & exists)
    values = pd.DataFrame(
        {"flow": flows, "value": [float(f) for f in flows], "status": ["kept"] * len(flows)}
    )
    bias = PrivacyBias.from_values(values, vignettes, list(FACTORS))
    known = {name: set(levels) for name, levels in bias.factors.items()}
    plain = {name: [w] if isinstance(w, str) else w for name, w in wanted.items() if w is not None}
    if any(set(levels) - known[name] for name, levels in plain.items()):
        with pytest.raises(ConfigError):
            bias[wanted]
        return
    rows = vignettes
    for name, levels in plain.items():
        rows = rows[rows[name].isin(levels)]
    part = bias[wanted]
    if isinstance(part, Norm):
        assert part.flow == (None if rows.empty else rows["flow"].iloc[0])
        assert part.status == ("no_flow" if rows.empty else "kept" if part.flow in asked else "not_asked")
        return
    values, statuses = part.to_array()
    assert sorted(values[statuses == "kept"]) == sorted(float(f) for f in rows["flow"] if f in asked)
    assert np.isnan(values[statuses != "kept"]).all()
    assert (statuses != "no_flow").sum() == len(rows) == len(part.to_frame())
    for place in np.argwhere(statuses == "kept"):
        levels = {name: of[i] for (name, of), i in zip(part.factors.items(), place, strict=True)}
        one = bias[{**{n: w for n, w in wanted.items() if isinstance(w, str)}, **levels}]
        assert one == Norm(values[tuple(place)], "kept", int(values[tuple(place)]))


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"sendr": "a door lock"}, "'sendr' is not a factor.*did you mean 'sender'"),
        ({"sender": "a door look"}, "sender: 'a door look' is not a level.*did you mean 'a door lock'"),
        ({"recipient": ["the police", "the polic"]}, "'the polic' is not a level.*did you mean 'the police'"),
        ({"sender": []}, "sender: the list is empty"),
    ],
)
def test_a_wrong_slice_says_what_there_is(bias, wanted, words):
    with pytest.raises(ConfigError, match=words):
        bias[wanted]


def test_a_fixed_factor_cannot_be_fixed_again(bias):
    with pytest.raises(ConfigError, match=r"'sender' is not a factor.*fixed: sender"):
        bias.slice(sender="a door lock").slice(sender="a fitness tracker")


def test_wrong_factors_flows_and_thresholds_are_refused():
    vignettes = vignettes_of(FACTORS)
    norms = assess(answers_of(ANSWERS), "strict", ACCEPTABILITY)
    with pytest.raises(ConfigError, match=r"'recipent'.*did you mean 'recipient'"):
        PrivacyBias.from_norms(norms, vignettes, ["sender", "recipent"], USUAL)
    with pytest.raises(ConfigError, match="none were given; allowed: recipient, sender, subject"):
        PrivacyBias.from_norms(norms, vignettes, [], USUAL)
    with pytest.raises(DataError, match="flow 4 is not in the vignettes"):
        PrivacyBias.from_norms(norms, vignettes[vignettes["flow"] < 4], ["sender"], USUAL)
    with pytest.raises(ConfigError, match="t_maj 5: give"):
        PrivacyBias.from_norms(norms, vignettes, ["sender"], Thresholds(1, 5, "strict"))


def test_flows_with_the_same_levels_are_no_tensor(bias):
    values = bias.to_frame()
    twins = PrivacyBias.from_values(values, vignettes_of(FACTORS), ["sender"])
    assert len(twins.to_frame()) == 6
    with pytest.raises(DataError, match=r"flows 0 and 1 have the same levels.*a fitness tracker"):
        twins.to_array()
    with pytest.raises(DataError, match=r"flows 3 and 4 have the same levels.*a door lock"):
        twins.slice(sender="a door lock")


def test_an_array_too_large_is_refused():
    n = 300
    vignettes = vignettes_of({"a": ["x"]}).loc[[0] * n].reset_index(drop=True)
    vignettes = vignettes.assign(flow=range(n), **{c: [f"{c}{i}" for i in range(n)] for c in "abc"})
    values = pd.DataFrame({"flow": range(n), "value": 0.0, "status": "kept"})
    bias = PrivacyBias.from_values(values, vignettes, list("abc"))
    with pytest.raises(DataError, match="300 x 300 x 300 cells are too many"):
        bias.to_array()
    assert (bias.slice(c="c7").to_array()[1] == "kept").sum() == 1


def test_norm_values_hold_nothing_that_is_no_norm():
    norms = assess(answers_of({0: [1, 1, -1], 1: [1, 0, -1, -1, 2]}), "strict", ACCEPTABILITY)
    found = norm_values(norms, Thresholds(0, 0.5, "strict"))
    assert found["status"].tolist() == ["kept", "no_majority"]
    assert found["value"][0] == 1
    assert found["value"][1] is pd.NA


def test_the_mean_over_variants_by_hand():
    answers = answers_of({7: [2, -1, None, 1], 8: [None], 9: [-2]})
    found = mean_over_variants(answers, ACCEPTABILITY)
    assert found["flow"].tolist() == [7, 8, 9]
    assert found["status"].tolist() == ["kept", "below_t_val", "kept"]
    assert found["value"][0] == pytest.approx(2 / 3)
    assert found["value"].isna().tolist() == [False, True, False]
    assert mean_over_variants(answers, ACCEPTABILITY, t_val=2)["status"].tolist() == [
        "kept",
        "below_t_val",
        "below_t_val",
    ]
    norms = assess(answers, "strict", ACCEPTABILITY)
    pd.testing.assert_frame_equal(mean_values(norms), found)
