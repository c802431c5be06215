"""Missing answers: shares by hand, and bounds that always hold the truth."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.stats import missing

from .made import answers_of, norms_of

VARIANTS = ["0_0", "0_1", "1_0"]
PROMPTS = pd.DataFrame({"variant": VARIANTS, "template_no": [0, 0, 1], "order_no": [0, 1, 0]})


def test_shares_by_status_list_every_status():
    found = missing.by_status(answers_of([[1, "refusal", "refusal"], [2, "empty"]])).set_index("status")
    assert found.index.tolist() == list(tables.ANSWER_STATUSES)
    assert found.loc[["ok", "refusal", "empty", "error"], "n"].tolist() == [2, 2, 1, 0]
    assert found["share"].sum() == pytest.approx(1)


def test_shares_by_template_order_and_variant():
    found = missing.by_variant(answers_of([[1, "empty", 2], [1, 1, "error"]], variants=VARIANTS), PROMPTS)
    share = found.set_index(["by", "level"])["share_valid"]
    assert share["template_no", "0"] == 0.75
    assert share["template_no", "1"] == 0.5
    assert share["order_no", "0"] == 0.75
    assert share["order_no", "1"] == 0.5
    assert share["variant", "0_0"] == 1
    assert found["n_asked"].sum() == 3 * 6
    with pytest.raises(DataError, match="1_0"):
        missing.by_variant(answers_of([[1, 1, 1]], variants=VARIANTS), PROMPTS.iloc[:2])


def test_bounds_of_each_flow_by_hand():
    norms = norms_of([[1, 1, "empty"], [2, 2, 2], ["empty", "error", "refusal"]])
    found = missing.mean_bounds(norms, norms["flow"])
    assert found["mean"].tolist()[:2] == [1, 2]
    assert found["low"].tolist() == [0, 2, -2]
    assert found["high"].tolist() == [pytest.approx(4 / 3), 2, 2]
    assert found["width"].to_numpy() == pytest.approx([4 / 3, 0, 4])
    assert found["status"].tolist() == ["ok", "ok", "no_valid"]
    assert np.isnan(found["mean"].iloc[2])


def test_mean_bounds_over_all_and_by_group():
    table = norms_of([[1, 1, "empty"], [2, 2, 2], ["empty", "error", "refusal"]])
    overall = missing.mean_bounds(table).iloc[0]
    assert (overall["group"], overall["n_flows"], overall["n_asked"], overall["n_valid"]) == ("all", 3, 9, 5)
    assert (overall["mean"], overall["low"], overall["high"]) == (1.6, 0, pytest.approx(16 / 9))
    groups = missing.mean_bounds(table, pd.Series(["a", "a", "b"])).set_index("group")
    assert groups.loc["a", "low"] == 1
    assert groups.loc["b", "status"] == "no_valid"
    assert missing.mean_bounds(table.iloc[:0])["status"].tolist() == ["no_flows"]


@given(
    st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1, max_size=8),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_bounds_hold_the_mean_that_missing_answers_hide(truth, data):
    hidden = data.draw(st.lists(st.tuples(*[st.booleans()] * 3), min_size=len(truth), max_size=len(truth)))
    seen = [
        ["refusal" if h else x for x, h in zip(*pair, strict=True)]
        for pair in zip(truth, hidden, strict=True)
    ]
    table = norms_of(seen)
    overall = missing.mean_bounds(table).iloc[0]
    assert overall["low"] - 1e-9 <= np.mean(truth) <= overall["high"] + 1e-9


def test_informative_missingness_fools_the_mean_but_not_the_bounds():
    # Half of the flows are unacceptable, and the model refuses to say so.
    truth = [[-2, -2, -2]] * 50 + [[1, 1, 1]] * 50
    seen = [["refusal" if x == -2 else x for x in flow] for flow in truth]
    overall = missing.mean_bounds(norms_of(seen)).iloc[0]
    assert overall["mean"] == 1
    assert overall["low"] == np.mean(truth) == -0.5
