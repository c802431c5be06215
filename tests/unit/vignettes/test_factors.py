"""Factors as settings name them: levels are compared as text."""

from __future__ import annotations

import pandas as pd
import pytest

from cinorms.vignettes.factors import has_levels

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
