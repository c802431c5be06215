"""The review list: what no exact rule read, safe to open in a spreadsheet."""

import csv

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinorms.answers.overrides import load_overrides, match_overrides, review_table, write_review
from cinorms.answers.read import read_responses, text_hash
from cinorms.core.csv_files import defuse, undo_defusing
from cinorms.core.errors import DataError

from .tables_of_texts import ACCEPT, TEXTS, responses


def test_the_review_lists_what_no_exact_rule_read_most_frequent_first():
    table = responses(["s", "neutral", "Neutral.", "not neutral", "s", "somwhat acceptable", None])
    review = review_table(table, read_responses(table, ACCEPT))
    assert review["text"].tolist() == ["s", "not neutral", "somwhat acceptable"]
    assert review["count"].tolist() == [2, 1, 1]
    assert review["level"].tolist() == [pd.NA, pd.NA, 1]
    assert review["sha256"].tolist()[0] == text_hash("s")


def test_a_text_read_in_two_ways_is_listed_twice():
    table = responses(["somewhat", "somewhat", "somewhat"], ["stop", "length", "length"])
    review = review_table(table, read_responses(table, ACCEPT))
    assert review[["status", "count"]].to_numpy().tolist() == [["truncated", 2], ["ambiguous", 1]]


def test_answers_of_other_responses_are_refused():
    table = responses(TEXTS)
    answers = read_responses(table, ACCEPT)
    with pytest.raises(DataError, match="not the answers of these responses"):
        review_table(table.iloc[::-1], answers)
    with pytest.raises(DataError, match="not the answers of these responses"):
        review_table(table.iloc[1:], answers)


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@sum",
    "\tx",
    "\rx",
    "=HYPERLINK(1)",
    "'=1",
    "''-1",
    "plain",
    "'quoted'",
    "＝1",
    "",
]


def test_no_cell_of_the_review_is_a_formula_and_every_text_comes_back(tmp_path):
    texts = [*FORMULAS, "two\nlines", 'a "quote", and a comma', "- somewhat bad\r\nnext"]
    table = responses(texts)
    review = review_table(table, read_responses(table, ACCEPT))
    write_review(review, tmp_path / "review.csv")
    with (tmp_path / "review.csv").open(newline="", encoding="utf-8-sig") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == len(texts)
    assert not any(row["text"].startswith(("=", "+", "-", "@", "\t", "\r", "＝")) for row in rows)
    assert {undo_defusing(row["text"]) for row in rows} == set(texts)
    # The same lines with a verdict are an overrides file that matches every one of those texts.
    with (tmp_path / "overrides.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["text", "status"])
        writer.writerows([row["text"], "nonsense"] for row in rows if row["text"])
    matched = match_overrides(table, load_overrides(tmp_path / "overrides.csv", ACCEPT.levels))
    assert matched["n_responses"].tolist() == [1] * (len(texts) - 1)


@given(st.text(alphabet="'=+-@\t\r\n a", max_size=6) | st.text(max_size=20))
def test_defusing_can_be_undone(text):
    assert undo_defusing(defuse(text)) == text
    assert not defuse(text).startswith(("=", "+", "-", "@", "\t", "\r"))
