"""Tables of responses into tables of answers, overrides, and the review list."""

import csv

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.answers.reading.reader import read_text
from cinorms.answers.stage import (
    defuse,
    load_overrides,
    match_overrides,
    read_responses,
    review_table,
    text_hash,
    undo_defusing,
    write_review,
)
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.core.scales import SCALES

ACCEPT = SCALES["acceptability"]
TEXTS = ["somewhat acceptable", "Neutral.", "s", "", "not neutral", "somwhat acceptable", "I can't help."]


def responses(texts, finish="stop", order="01234", p_options=None, categories=None):
    n = len(texts)
    return pd.DataFrame(
        {
            "flow": np.arange(n, dtype=np.int32),
            "variant": pd.Categorical(["v"] * n),
            "order": pd.Categorical([order] * n if isinstance(order, str) else order),
            "text": pd.Categorical(texts, categories=categories),
            "finish_reason": pd.Categorical([finish] * n if isinstance(finish, str) else finish),
            "n_prompt_tokens": pd.array([None] * n, dtype="Int32"),
            "n_output_tokens": pd.array([None] * n, dtype="Int32"),
            "p_options": p_options if p_options is not None else [None] * n,
        }
    )


def test_each_row_is_read_as_its_text_alone():
    table = responses(TEXTS * 3)
    answers = read_responses(table, ACCEPT)
    for text, row in zip(TEXTS * 3, answers.itertuples(), strict=True):
        alone = read_text(text, ACCEPT)
        assert (row.status, row.rule) == (alone.status, alone.rule)
        assert (None if pd.isna(row.level) else row.level) == alone.level


def test_answers_keep_their_contract_and_the_responses_stay_as_they_are(tmp_path):
    table = responses(TEXTS)
    before = table.copy(deep=True)
    answers = read_responses(table, ACCEPT)
    pd.testing.assert_frame_equal(table, before)
    tables.write(answers, tmp_path / "a.parquet", tables.ANSWERS)
    back = tables.read(tmp_path / "a.parquet", tables.ANSWERS)
    assert back["level"].tolist()[:2] == [1, 0]
    assert back["status"].tolist() == answers["status"].tolist()
    tables.write(table, tmp_path / "r.parquet", tables.RESPONSES)
    again = read_responses(tables.read(tmp_path / "r.parquet", tables.RESPONSES), ACCEPT)
    assert again["rule"].tolist() == answers["rule"].tolist()


def test_the_finish_reason_counts():
    table = responses(["somewhat", "somewhat", "somewhat", None], ["stop", "length", "error", "stop"])
    answers = read_responses(table, ACCEPT)
    assert answers["status"].tolist() == ["ambiguous", "truncated", "error", "error"]


@settings(max_examples=50, deadline=None)
@given(order=st.permutations(range(len(TEXTS))), plain=st.booleans())
def test_the_order_of_the_dictionary_does_not_matter(order, plain):
    reference = read_responses(responses(TEXTS), ACCEPT)
    other = responses(TEXTS, categories=[TEXTS[i] for i in order])
    if plain:
        other["text"] = other["text"].astype(str)
    pd.testing.assert_frame_equal(read_responses(other, ACCEPT), reference)


def test_letters_are_read_by_the_order_of_their_row():
    table = responses(["A", "A", "B"], order=["01234", "43210", "20143"])
    answers = read_responses(table, ACCEPT, offered="letters")
    assert answers["level"].tolist() == [-2, 2, -2]


def test_templates_repeated_by_the_model_are_not_answers():
    prompts = pd.DataFrame(
        {"template": ["Answer in words such as strongly acceptable or neutral: {scenario}"]}
    )
    table = responses(["Answer in words such as strongly acceptable or neutral:\nsomewhat unacceptable"])
    assert read_responses(table, ACCEPT, prompts=prompts)["level"].tolist() == [-1]


def test_an_empty_table_gives_an_empty_table():
    assert len(read_responses(responses([]), ACCEPT)) == 0


# --- options


def test_the_most_probable_option_is_the_level():
    p = [[0.1, 0.6, 0.1, 0.1, 0.1], [0.3, 0.3, 0.2, 0.1, 0.1], [np.nan] * 5, None, [0.0, 0, 0, 0, 1]]
    answers = read_responses(responses([None, None, None, None, "neutral"], p_options=p), ACCEPT)
    assert answers["status"].tolist() == ["ok", "ambiguous", "error", "error", "ok"]
    assert answers["level"].tolist() == [-1, pd.NA, pd.NA, pd.NA, 0]
    assert answers["rule"].tolist() == ["options", "options", "options", "no_text", "exact"]
    assert answers["p_options"].tolist()[0] == p[0]


def test_a_failed_engine_has_no_most_probable_option():
    answers = read_responses(responses([None], "error", p_options=[[0, 0, 0, 0, 1.0]]), ACCEPT)
    assert answers["status"].tolist() == ["error"]


def test_probabilities_of_another_scale_are_refused():
    with pytest.raises(DataError, match=r"\[3\] probabilities; the scale acceptability has 5"):
        read_responses(responses([None], p_options=[[0.2, 0.3, 0.5]]), ACCEPT)


# --- overrides


def write_csv(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_overrides_settle_texts_and_say_how_many(tmp_path):
    path = write_csv(
        tmp_path / "overrides.csv",
        "text,sha256,level,status,note",
        "not neutral,,1,,asked the authors",
        f",{text_hash('s')},,refusal,",
        "never said,,0,,",
    )
    overrides = load_overrides(path)
    table = responses([*TEXTS, "s", "s"], ["stop"] * len(TEXTS) + ["stop", "error"])
    answers = read_responses(table, ACCEPT, overrides=overrides)
    settled = answers[answers["rule"] == "override"]
    assert settled["level"].tolist() == [pd.NA, 1, pd.NA]
    assert settled["status"].tolist() == ["refusal", "ok", "refusal"]
    assert answers["status"].tolist()[-1] == "error"
    assert match_overrides(table, overrides)["n_responses"].tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["text,levle", "a,1"], r"line 1: columns \['text', 'levle'\]; allowed: text, sha256, level"),
        (["text,note", "a,b"], r"line 1: columns"),
        (["text,level", "a,3"], r"line 2: level is '3'; allowed: -2, -1, 0, 1, 2"),
        (["text,level", "ok,1", "a,1.5"], r"line 3: level is '1.5'"),
        (["text,status", "a,fine"], r"line 2: status is 'fine'; allowed: refusal, needs_context"),
        (["text,status", "a,ok"], r"for a valid answer give its level"),
        (["text,level,status", "a,1,refusal"], r"line 2: level '1' and status 'refusal'; give exactly one"),
        (["text,level,status", "a,,"], r"line 2: neither level nor status"),
        (["text,sha256,level", ",,1"], r"line 2: neither text nor sha256"),
        (["sha256,level", "abc,1"], r"line 2: sha256 is 'abc'; copy the 64"),
        (["text,level", "a,1", "a,1"], r"line 3: the same text as line 2"),
        (["text,level", "a,1,2"], r"line 2: more cells than the header"),
    ],
)
def test_a_wrong_override_is_named_by_file_and_line(tmp_path, lines, message):
    path = write_csv(tmp_path / "overrides.csv", *lines)
    with pytest.raises(DataError, match=message) as caught:
        load_overrides(path)
    assert str(path) in str(caught.value)


def test_unreadable_overrides_are_one_message(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        load_overrides(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes("text,level\ncaf\xe9,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="UTF-8"):
        load_overrides(tmp_path / "latin.csv")


def test_an_empty_overrides_file_settles_nothing(tmp_path):
    overrides = load_overrides(write_csv(tmp_path / "o.csv", "text,level"))
    answers = read_responses(responses(TEXTS), ACCEPT, overrides=overrides)
    assert "override" not in set(answers["rule"])


# --- review


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
    matched = match_overrides(table, load_overrides(tmp_path / "overrides.csv"))
    assert matched["n_responses"].tolist() == [1] * (len(texts) - 1)


@given(st.text(alphabet="'=+-@\t\r\n a", max_size=6) | st.text(max_size=20))
def test_defusing_can_be_undone(text):
    assert undo_defusing(defuse(text)) == text
    assert not defuse(text).startswith(("=", "+", "-", "@", "\t", "\r"))
