"""Labels: a model is called by its arm too only where there are several arms."""

from __future__ import annotations

import pytest

from cinorms.core import tables
from cinorms.core.labels import NORM_LABELS, model_labels


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
