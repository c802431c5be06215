"""Factors as terms: coding, grouping and crossproducts, against plain dummy matrices."""

import numpy as np
import pandas as pd
import pytest

from cumulink.coding import Crossproducts, aliased_terms, code_factors


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.choice(list("xyz"), 50), "b": rng.choice(["p", "q"], 50)})


def dummies(frame: pd.DataFrame, coding) -> np.ndarray:
    return np.column_stack([(frame[f] == level).to_numpy(float) for f, level, _ in coding.slot_names()])


def test_the_baseline_comes_first_and_has_no_term(frame):
    coding, slots = code_factors(frame, ["a", "b"], {"a": "y"})
    assert coding.levels == (("y", "x", "z"), ("p", "q"))
    terms = [coding.slot_names()[s] for s in coding.term_slots]
    assert terms == [("a", "x", "y"), ("a", "z", "y"), ("b", "q", "p")]
    assert [coding.slot_names()[s][1] for s in slots[:, 0]] == frame["a"].tolist()


def test_levels_are_in_the_order_of_a_categorical_else_in_their_own(frame):
    ordered = frame.assign(a=pd.Categorical(frame["a"], categories=["z", "w", "y", "x"]))
    numbers = pd.DataFrame({"a": [13, 7, 70, 7]})
    for given, levels in ((ordered, "z y x"), (frame, "x y z"), (numbers, "7 13 70")):
        assert code_factors(given, ["a"], categorical={"a"})[0].levels == (tuple(levels.split()),)


def test_crossproducts_equal_those_of_the_dummy_matrix(frame):
    coding, slots = code_factors(frame, ["a", "b"], {"a": "z"})
    cross, x = Crossproducts(coding, slots), dummies(frame, coding)
    rng = np.random.default_rng(1)
    w, beta, key = rng.normal(size=50), rng.normal(size=5), rng.integers(3, size=50)
    np.testing.assert_allclose(cross.linear(beta), x @ beta)
    np.testing.assert_allclose(cross.sums(w), x.T @ w)
    np.testing.assert_allclose(cross.gram(w), (x.T * w) @ x, atol=1e-12)
    np.testing.assert_allclose(cross.by_key(w, key, 3), (x.T * w) @ np.eye(3)[key], atol=1e-12)


def test_linked_factors_are_aliased_from_the_second_on(frame):
    linked = frame.assign(twin=frame["a"].str.upper(), whole=frame["a"] + frame["b"])
    coding, slots = code_factors(linked, ["a", "twin", "b", "whole"])
    aliased = aliased_terms(Crossproducts(coding, slots), coding.term_slots)
    terms = pd.Series(aliased, index=[coding.slot_names()[s][0] for s in coding.term_slots])
    assert not terms["a"].any()
    assert terms["twin"].all()
    assert not terms["b"]
    assert terms["whole"].sum() == 3  # six cells less a constant, two terms of a and one of b leave two
    x = dummies(linked, coding)[:, coding.term_slots]
    kept = np.column_stack([np.ones(len(x)), x[:, ~aliased]])
    assert np.linalg.matrix_rank(kept) == kept.shape[1] == np.linalg.matrix_rank(np.column_stack([kept, x]))
