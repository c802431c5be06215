"""Factors as settings name them: levels are compared as text."""

import pandas as pd
import pytest

from cinorms.vignettes.factors import DatasetFactors, has_levels, other_flows, text

FLOWS = pd.DataFrame({"age": [1, 2, 3], "sender": pd.Categorical(["a", "b", "a"])})


@pytest.mark.parametrize(
    ("select", "kept"),
    [
        ({}, [True, True, True]),
        ({"sender": ["a"]}, [True, False, True]),
        ({"sender": ["a"], "age": ["1", 2]}, [True, False, False]),
        ({"age": [4]}, [False, False, False]),
    ],
)
def test_flows_have_a_named_level_of_every_named_factor(select, kept):
    assert has_levels(FLOWS, select).tolist() == kept


TOLD = pd.DataFrame({"flow": [0, 1, 2], "age": [1, 2, 3], "sender": ["a", "b", "a"]})
A, B = (DatasetFactors(name, ("age", "sender")) for name in "AB")


@pytest.mark.parametrize(
    ("a", "b", "flows", "why"),
    [
        (A, B, TOLD, ""),  # equal levels
        (A, DatasetFactors("B", ("sender", "age")), TOLD, ""),
        (A, B, TOLD.iloc[[2, 0]].astype({"sender": "category"}), ""),  # fewer flows, in another order
        (A, B, TOLD.assign(sender=["a", "b", "c"]), "sender of its flow 2 is 'a', not 'c'"),
        (A, B, TOLD.assign(flow=[0, 2, 1]), "age of its flow 1 is '2', not '3'"),
        (A, B, None, ""),  # only a file tells
        (A, DatasetFactors("B", ("age",)), None, "its factors are age, sender, not age"),
        (A, DatasetFactors("B", ("alter",), flows_of="A"), TOLD, ""),
        (DatasetFactors("C", ("eta",), flows_of="A"), DatasetFactors("B", ("old",), flows_of="A"), TOLD, ""),
        (A, DatasetFactors("B", ("age",), flows_of="C"), TOLD, "its factors are age, sender, not age"),
        (A, DatasetFactors("A", ("age",)), None, ""),
    ],
)
def test_two_datasets_tell_the_same_flows_by_equal_levels_or_by_declaration(a, b, flows, why):
    found = other_flows(a, b, TOLD, flows), other_flows(b, a, flows, TOLD)
    assert [bool(each) for each in found] == [bool(why)] * 2
    assert why in found[0]


@pytest.mark.parametrize(
    ("level", "words"), [(1, "1"), (1.0, "1"), (2.5, "2.5"), (True, "True"), ("1.0", "1.0")]
)
def test_a_level_in_words_has_no_decimals_where_it_is_whole(level, words):
    assert text(level) == words
