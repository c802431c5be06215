"""Tables of responses become tables of answers: each text as it is read alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.answers.read import read_responses
from cinorms.core import tables
from cinorms.core.errors import DataError

from ...asking import make_responses as responses
from ...scales import ACCEPTABILITY as ACCEPT

TEXTS = ["somewhat acceptable", "Neutral.", "s", "", "not neutral", "somwhat acceptable", "I can't help."]


def test_answers_keep_their_schema_and_the_responses_stay_as_they_are(tmp_path):
    table = responses(TEXTS)
    before = table.copy(deep=True)
    answers = read_responses(table, ACCEPT)
    pd.testing.assert_frame_equal(table, before)
    tables.write(answers, tmp_path / "a.parquet", tables.ANSWERS)
    back = tables.read(tmp_path / "a.parquet", tables.ANSWERS)
    assert back["level"].tolist()[:2] == [1, 0]
    tables.write(table, tmp_path / "r.parquet", tables.RESPONSES)
    again = read_responses(tables.read(tmp_path / "r.parquet", tables.RESPONSES), ACCEPT)
    for name in ("status", "rule"):
        assert back[name].tolist() == again[name].tolist() == answers[name].tolist()


def test_the_finish_reason_counts():
    answers = read_responses(
        responses(["somewhat"] * 3 + [None], ["stop", "length", "error", "stop"]), ACCEPT
    )
    assert answers["status"].tolist() == ["ambiguous", "truncated", "error", "error"]


@settings(max_examples=10)
@given(order=st.permutations(range(len(TEXTS))), plain=st.booleans())
def test_the_order_of_the_dictionary_does_not_matter(order, plain):
    reference = read_responses(responses(TEXTS), ACCEPT)
    other = responses(TEXTS, text=pd.Categorical(TEXTS, [TEXTS[i] for i in order]))
    if plain:
        other["text"] = other["text"].astype(str)
    pd.testing.assert_frame_equal(read_responses(other, ACCEPT), reference)


def test_templates_repeated_by_the_model_are_not_answers():
    asked = "Answer in words such as strongly acceptable or neutral:"
    prompts = pd.DataFrame({"template": [f"{asked} {{scenario}}"]})
    table = responses([f"{asked}\nsomewhat unacceptable"])
    assert read_responses(table, ACCEPT, prompts=prompts)["level"].tolist() == [-1]


# --- options


def test_the_most_probable_option_is_the_level():
    p = [[0.1, 0.6, 0.1, 0.1, 0.1], [0.3, 0.3, 0.2, 0.1, 0.1], [np.nan] * 5, None, [0.0, 0, 0, 0, 1]]
    answers = read_responses(responses([None, None, None, None, "neutral"], p_options=p), ACCEPT)
    assert answers["status"].tolist() == ["ok", "ambiguous", "error", "error", "ok"]
    assert answers["level"].tolist() == [-1, pd.NA, pd.NA, pd.NA, 0]
    assert answers["rule"].tolist() == ["options", "options", "options", "no_text", "exact"]


def test_probabilities_of_another_scale_are_refused():
    with pytest.raises(DataError, match=r"\[3\] probabilities; the scale acceptability has 5"):
        read_responses(responses([None], p_options=[[0.2, 0.3, 0.5]]), ACCEPT)
