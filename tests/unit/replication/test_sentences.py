"""Sentences about flows as data: what they say, compared with norms, by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from cinorms.core.errors import DataError
from cinorms.core.scales import papers_scale
from cinorms.published.releases import load_release
from cinorms.replication.comparison import compare_sentences, sentences_text, unexpected

from .test_comparison import release_file

WORDS = {-2: "bad", 0: "neutral", 2: "good"}


def norms() -> pd.DataFrame:
    """Return norms of two models for two flows; model b holds none for the second."""
    frame = pd.DataFrame(
        [("a", 1, "x", -2), ("a", 2, "y", 0), ("b", 1, "x", 2), ("b", 2, "y", None)],
        columns=["model", "flow", "sender", "level"],
    ).astype({"level": "Int8"})
    return frame.assign(
        norm=frame["level"].map(WORDS).astype("str"),
        reason=frame["level"].isna().map({True: "several most frequent answers", False: ""}),
    )


def compared(tmp_path, **sentence):
    stated = {"section": "5", "says": "S", **sentence}
    path = release_file(tmp_path, sentences={"table": "flows", "rows": [stated]})
    return compare_sentences(load_release(path), {"flows": norms()})


@pytest.mark.parametrize(
    ("sentence", "found", "holds"),
    [
        ({"levels": {"a": ["bad", "neutral"]}}, ["bad", "neutral"], ["yes", "yes"]),
        ({"levels": {"a": ["good"]}, "flows": {"sender": ["y"]}}, ["neutral"], ["no"]),
        ({"levels": {"a": ["bad"]}, "others": {"sender": ["y"]}}, ["bad"], ["yes"]),
        ({"levels": {"b": ["good"]}}, ["good", "several most frequent answers"], ["yes", "no"]),
        ({"opposite": ["a", "b"], "flows": {"sender": ["x"]}}, ["bad, good"], ["yes"]),
        ({"opposite": ["a", "b"], "flows": {"sender": ["y"]}}, ["neutral, several most frequent answers"], ["no"]),
        ({"levels": {"a": ["bad"], "b": ["good"]}, "share": True}, ["50.0%", "50.0%"], ["not counted"] * 2),
    ],
)  # fmt: skip
def test_each_flow_and_model_of_a_sentence_is_compared(tmp_path, sentence, found, holds):
    cells = compared(tmp_path, **sentence)
    assert cells["found"].tolist() == found
    assert cells["holds"].tolist() == holds


def test_a_slip_is_expected_not_to_hold_and_everything_else_to_hold(tmp_path):
    slip = compared(tmp_path, levels={"a": ["bad"]}, but="B")
    assert slip["holds"].tolist() == ["yes", "no"]
    assert unexpected(slip)["flow"].tolist() == slip["flow"].tolist()[:1]
    assert sentences_text(slip) == "  sentences about flows: 1 of 2 cells hold; 2 are slips of the paper"
    wrong = compared(tmp_path, levels={"a": ["good"]}, flows={"sender": ["x"]})
    assert unexpected(wrong)[["flow", "stated", "found"]].to_numpy().tolist() == [["x", "good", "bad"]]
    share = compared(tmp_path, levels={"a": ["good"]}, share=True)
    assert unexpected(share).empty
    assert sentences_text(share) == ""


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ({"levels": {"c": ["bad"]}}, "'S': model: 'c' is not known; .*a, b"),
        ({"levels": {"a": ["bad"]}, "flows": {"sender": ["z"]}}, "sender: 'z' is not known; .*x, y"),
        ({"levels": {"a": ["bad"]}, "others": {"sendr": ["x"]}}, "'sendr' is not known; .*sender"),
    ],
)
def test_names_that_the_norms_do_not_have_are_refused(tmp_path, sentence, message):
    with pytest.raises(DataError, match=message):
        compared(tmp_path, **sentence)


def test_a_release_without_sentences_has_no_cells(tmp_path):
    assert compare_sentences(load_release(release_file(tmp_path)), {}).empty


def test_the_papers_sentences_name_options_of_its_scale():
    release = load_release("resources/published/pets2026.yaml")
    options = set(papers_scale("acceptability").options)
    assert {
        word for row in release.sentences.rows for words in row.levels.values() for word in words
    } <= options
