"""Traces and answers told apart, in texts that models write; the two requests of a model that reasons under vLLM."""

import pandas as pd
import pytest

from cinorms.answers.read import read_responses
from cinorms.inference.engines.openai.replies import split_trace
from cinorms.inference.request import ReasoningLevel

from ...asking import make_responses
from ...scales import ACCEPTABILITY


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<think>why</think>neutral", ("why", "neutral", True)),
        ("\n <think>\nwhy\n</think>\n\nneutral", ("\nwhy\n", "\n\nneutral", True)),
        ("why</think>neutral", ("why", "neutral", True)),
        ("neutral", (None, "neutral", True)),
        ("<think>why", ("why", "", False)),
        ("<think></think>neutral", ("", "neutral", True)),
        ("<think>a</think>the mark </think> is neutral", ("a", "the mark </think> is neutral", True)),
        ("Neutral. I write <think> and </think>.", (None, "Neutral. I write <think> and </think>.", True)),
        ("", (None, "", True)),
        ("</think>", ("", "", True)),
    ],
)
def test_a_trace_is_what_stands_before_its_first_end(text, found):
    assert split_trace(text, "<think>\n", "</think>\n\n") == found


def test_a_condition_is_a_word():
    assert [ReasoningLevel("none", 0).shown, ReasoningLevel("low", 500).shown] == ["none", "low 500"]


@pytest.mark.parametrize(
    ("text", "status", "finish", "read"),
    [
        ("neutral", "whole", "stop", ("ok", 0)),
        ("neutral", "cut", "stop", ("ok", 0)),
        ("", "cut", "length", ("trace_cut", None)),
        (" \n", "cut", "stop", ("trace_cut", None)),
        ("", "whole", "stop", ("empty", None)),
        ("", None, "stop", ("empty", None)),
        ("", "whole", "length", ("truncated", None)),
        ("neutral</think>", "whole", "stop", ("ok", 0)),
        ("</think></think> neutral", "whole", "stop", ("ok", 0)),
        ("<think>once more: neutral", "whole", "length", ("truncated", None)),
        ("<think>more</think>neutral", "whole", "stop", ("ok", 0)),
    ],
)
def test_stray_marks_do_not_hide_an_answer(text, status, finish, read):
    traced = {"n_trace_tokens": pd.array([3], dtype="Int32"), "trace_status": pd.Categorical([status])}
    found = read_responses(make_responses([text], finish, **traced), ACCEPTABILITY).iloc[0]
    assert (found["status"], None if pd.isna(found["level"]) else found["level"]) == read
