"""Labels: a model is called by its arm too only where there are several arms."""

import pytest

from cinorms.core import tables
from cinorms.core.labels import NORM_LABELS, PLANTED_MARK, model_labels, planted_mark, with_labels


@pytest.mark.parametrize(
    ("pairs", "labels"),
    [
        ([], []),
        ([("main", "a"), ("main", "b")], ["a", "b"]),
        ([("main", "a"), ("warm", "a")], ["a, main", "a, warm"]),
    ],
)
def test_a_label_names_the_arm_where_there_are_several(pairs, labels):
    assert model_labels(iter(pairs)) == labels


def test_every_reason_for_a_missing_norm_has_a_label():
    assert ("kept", *NORM_LABELS) == tables.NORM_STATUSES


@pytest.mark.parametrize(
    ("planted", "shown", "mark"),
    [
        ([], ["a"], ""),
        (["a"], ["a"], PLANTED_MARK),
        (["a", "b", "a"], ["b", "a"], PLANTED_MARK),
        (
            ["b"],
            ["a", "b"],
            "Simulated respondents (no model gave their answers): b. The others are models.",
        ),
    ],
)
def test_the_mark_names_the_planted_and_does_not_deny_the_models(planted, shown, mark):
    assert planted_mark(iter(planted), iter(shown)) == mark


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("planted-a and planted-a-b agree", "simulated A (a-like) and planted-a-b agree"),
        ("planted-a: 3%; planted-a.", "simulated A (a-like): 3%; simulated A (a-like)."),
        ("planted-\na", "simulated A\n(a-like)"),
        ("norms/main/planted-a.parquet, model=planted-a", "norms/main/planted-a.parquet, model=planted-a"),
        ('["planted-a"]', '["planted-a"]'),
    ],
)
def test_a_model_is_called_by_its_label_except_in_paths_addresses_and_settings(text, shown):
    assert with_labels(text, {"planted-a": "simulated A (a-like)"}) == shown
