"""Labels: a model is called by its arm too only where there are several arms."""

import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.labels import (
    NORM_LABELS,
    PEOPLE_MARK,
    PLANTED_MARK,
    SIMULATED_MARK,
    alone,
    listed,
    model_labels,
    origin_mark,
    percent,
    planted_mark,
    relabelled,
    share,
    share_in_cell,
    shared_words,
)

AMONG_MODELS = "Simulated respondents (no model gave their answers): b. The others are models."


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


@pytest.mark.parametrize(
    ("part", "words", "in_cell", "stated", "measured"),
    [
        (0.0, "0%", "0%", "0%", "0.0%"),
        (0.004, "under 1%", "<1%", "0.4%", "0.4%"),
        (2 / 3, "67%", "67%", "66.6667%", "66.7%"),
        (0.29, "29%", "29%", "29%", "29.0%"),
        (0.996, "over 99%", ">99%", "99.6%", "99.6%"),
        (1.0, "100%", "100%", "100%", "100.0%"),
    ],
)
def test_a_share_in_words_hides_none_and_a_stated_one_keeps_its_digits(
    part, words, in_cell, stated, measured
):
    assert (share(part, 1), share_in_cell(part), percent(part), percent(part, 1)) == (
        words,
        in_cell,
        stated,
        measured,
    )
    assert share(0, 0) == percent(float("nan"), 1) == "none"


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_names_are_listed_as_in_a_sentence(names, text):
    assert listed(names) == text


def test_every_reason_for_a_missing_norm_has_a_label():
    assert ("kept", *NORM_LABELS) == tables.NORM_STATUSES


@pytest.mark.parametrize(
    ("planted", "shown", "mark"),
    [
        ([], ["a"], ""),
        (["a"], ["a"], PLANTED_MARK),
        (["a", "b", "a"], ["b", "a"], PLANTED_MARK),
        (["b"], ["a", "b"], AMONG_MODELS),
    ],
)
def test_the_mark_names_the_planted_and_does_not_deny_the_models(planted, shown, mark):
    assert planted_mark(iter(planted), iter(shown)) == mark


OF_PEOPLE = "Rated by people, not by a model: p and q."
OTHERS = "The others are simulated respondents: no model gave their answers."


@pytest.mark.parametrize(
    ("planted", "shown", "unreal", "mark"),
    [
        ([], ["p", "q"], False, PEOPLE_MARK),
        (["a"], ["p", "q", "a"], True, SIMULATED_MARK),
        (["a"], ["p", "a"], False, f"{OF_PEOPLE} {OTHERS}"),
        (["a"], ["p", "a", "m"], False, f"{OF_PEOPLE} {AMONG_MODELS.replace(': b', ': a')}"),
        ([], ["p", "m"], True, "Simulated ratings, not by real people: p and q. The others are models."),
    ],
)
def test_people_come_first_and_are_not_called_real_where_a_script_rated(planted, shown, unreal, mark):
    assert origin_mark(planted, shown, ["p", "q", "p"], unreal) == mark


def test_a_label_takes_the_place_of_a_name_in_columns_of_models_alone():
    labels = alone({"a": "simulated A", "b": "a", "c": "twin", "d": "twin"})
    assert labels == {"a": "simulated A"}, "a label that another model has, as name or label, is left out"
    table = pd.DataFrame({"model": ["a", "b", None], "model_b": ["b", "a", "a"], "level": ["a", "a", "a"]})
    assert relabelled(table, labels).fillna("").to_numpy().T.tolist() == [
        ["simulated A", "b", ""],
        ["b", "simulated A", "simulated A"],
        ["a", "a", "a"],
    ]


@pytest.mark.parametrize(
    ("labels", "shared"),
    [
        (["simulated A (gpt-like)", "simulated B (llama-like)"], "simulated "),
        (["simulated A", "simulated"], ""),
        (["simulated A"], ""),
        (["a-b", "a-c"], ""),
        ([], ""),
    ],
)
def test_the_words_that_all_labels_begin_with_leave_each_a_word(labels, shared):
    assert shared_words(labels) == shared
