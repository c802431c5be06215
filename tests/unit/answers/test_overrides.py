"""What a person does: the review list, safe to open in a spreadsheet, and overrides, which go before every rule."""

import csv

import pandas as pd
import pytest

from cinorms.answers.acting import read_replies
from cinorms.answers.overrides import (
    load_overrides,
    match_overrides,
    overrides_of,
    review_table,
    settled,
    write_review,
)
from cinorms.answers.read import read_responses, text_hash
from cinorms.core.csv_tables import REVIEW
from cinorms.core.errors import DataError

from ...asking import make_responses as responses
from ...scales import ACCEPTABILITY as ACCEPT
from .test_read import TEXTS

LEVELS = ACCEPT.levels
VIGNETTES = pd.DataFrame({"flow": range(6), "vignette": "v"})
PLACED = "arm,model,flow,variant,level,status"


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
    overrides = load_overrides(path, LEVELS)
    table = responses([*TEXTS, "s", "s"], ["stop"] * len(TEXTS) + ["stop", "error"])
    answers = read_responses(table, ACCEPT, overrides=overrides)
    decided = answers[answers["rule"] == "override"]
    assert decided["level"].tolist() == [pd.NA, 1, pd.NA]
    assert decided["status"].tolist() == ["refusal", "ok", "refusal"]
    assert answers["status"].tolist()[-1] == "error"
    assert match_overrides(table, overrides)["n_responses"].tolist() == [1, 2, 0]


def test_an_override_that_settles_nothing_in_the_whole_study_is_an_error(tmp_path):
    lines = ["not neutral,1", "s,0", "never said,0", "nor this,1"]
    path = write_csv(tmp_path / "mine.csv", "text,level", *lines)
    overrides = load_overrides(path, LEVELS)
    other = ("main", "other", responses(["s", "s"]))
    shards = [("main", "m", responses(["not neutral"])), other]
    assert settled(shards, overrides[:2], path)["n_responses"].tolist() == [1, 2]
    message = r"mine.csv, line 4: no response .* the text 'never said' \(and 1 further lines: 5\)"
    with pytest.raises(DataError, match=message):
        settled(shards, overrides, path)
    # A reply that failed is settled by nobody.
    with pytest.raises(DataError, match="line 2: no response"):
        settled([("main", "m", responses(["not neutral"], "error")), other], overrides[:2], path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["text,levle", "a,1"], r"line 1: columns \['text', 'levle'\]; allowed: text, sha256, arm"),
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
        (["arm,model,flow,level", "a,m,1,1"], r"line 1: columns"),
        ([PLACED, "a,m,,v,1,"], r"line 2: flow is empty"),
        ([PLACED, "a,m,x,v,1,"], r"line 2: flow is 'x'; give the flow's number"),
        ([PLACED, "a,m,1,v,1,", "a,m,2,v,1,", "a,m,1,v,,refusal"], r"line 4: the same answer as line 2"),
        (["text,level", "a,1,2"], r"line 2: 3 cells, but the header names 2 columns"),
    ],
)
def test_a_wrong_override_is_named_by_file_and_line(tmp_path, lines, message):
    path = write_csv(tmp_path / "overrides.csv", *lines)
    with pytest.raises(DataError, match=message) as caught:
        load_overrides(path, LEVELS)
    assert str(path) in str(caught.value)


def test_one_answer_is_set_right_by_its_place_and_no_other(tmp_path):
    path = write_csv(
        tmp_path / "o.csv",
        "text,arm,model,flow,variant,level,status",
        "s,,,,,0,",
        "s,main,m,1,0_0,,nonsense",  # this text and place
        "s,main,m,2,0_0,1,",  # another text by now
        ",main,m,3,0_0,-2,",
        ",main,m,4,0_0,1,",  # the engine failed
        ",main,other,0,0_0,1,",
        ",main,m,5,w,1,",
    )
    table = responses(["s", "s", "neutral", "s", "s", "neutral"], ["stop"] * 4 + ["error", "stop"])
    prompts = pd.DataFrame({"template": ["{scenario} {options}"]})
    overrides = overrides_of([path], LEVELS, "main", "m")
    answers = read_replies(table, ACCEPT, VIGNETTES, prompts, overrides)
    assert answers["level"].tolist() == [0, pd.NA, 0, -2, pd.NA, 0]
    assert answers["status"].tolist() == ["ok", "nonsense", "ok", "ok", "error", "ok"]
    assert answers["rule"].eq("override").tolist() == [True, True, False, True, False, False]
    # What is said about one answer is not said about another asking, nor about another model.
    again = read_replies(table, ACCEPT, VIGNETTES, prompts, overrides_of([path], LEVELS))
    assert again["level"].tolist() == [0, 0, 0, 0, pd.NA, 0]
    every = load_overrides(path, LEVELS)
    shards = [("main", "m", table), ("main", "other", table[:1]), ("say", "m", table)]
    kept = every[every["line"].isin([2, 3, 5, 7])]
    assert settled(shards, kept, path)["n_responses"].tolist() == [7, 1, 1, 1]
    with pytest.raises(DataError, match=r"line 4: .* arm main, model m, flow 2, variant 0_0 \(and 2 further"):
        settled(shards, every, path)
    assert overrides_of([], LEVELS) is None


def test_unreadable_overrides_are_one_message(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        load_overrides(tmp_path / "none.csv", LEVELS)
    (tmp_path / "latin.csv").write_bytes("text,level\ncaf\xe9,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="UTF-8"):
        load_overrides(tmp_path / "latin.csv", LEVELS)


def test_levels_are_those_of_the_studys_scales(tmp_path):
    path = write_csv(tmp_path / "o.csv", "text,level", "hm,3", "s,1")
    both = load_overrides(path, range(-3, 4))
    assert both["level"].tolist() == [3, 1]
    # A level that a scale lacks settles nothing there.
    answers = read_responses(responses(["hm", "s"]), ACCEPT, overrides=both)
    assert answers["level"].tolist() == [pd.NA, 1]
    with pytest.raises(DataError, match=r"line 2: level is '3'; allowed: -2, -1, 0, 1, 2"):
        load_overrides(path, LEVELS)
    with pytest.raises(DataError, match="level is '3'; allowed: 4 to 15"):
        load_overrides(path, range(4, 16))


# --- the review list


def test_the_review_lists_what_no_exact_rule_read_most_frequent_first_with_the_first_place():
    texts = ["neutral", "s", "not neutral", "Neutral.", "s", "s", "somwhat acceptable", None]
    table = responses(texts, variant=["0_0", "0_1", "1_0", "1_1", "1_2", "2_0", "2_1", "2_2"])
    whole = review_table(table, read_responses(table, ACCEPT))
    assert list(whole) == list(REVIEW.about)
    assert whole["sha256"].tolist() == whole["text"].map(text_hash).tolist()
    assert whole["level"].tolist() == [pd.NA, pd.NA, 1]
    assert whole[["text", "count", "flow", "variant"]].to_numpy().tolist() == [
        ["s", 3, 1, "0_1"],
        ["not neutral", 1, 2, "1_0"],
        ["somwhat acceptable", 1, 6, "2_1"],
    ]


def test_a_text_read_in_two_ways_is_listed_twice():
    table = responses(["somewhat"] * 3, ["stop", "length", "length"])
    review = review_table(table, read_responses(table, ACCEPT))
    assert review[["status", "count"]].to_numpy().tolist() == [["truncated", 2], ["ambiguous", 1]]


def test_answers_of_other_responses_are_refused():
    table = responses(TEXTS)
    for other in (table.iloc[::-1], table.iloc[1:]):
        with pytest.raises(DataError, match="not the answers of these responses"):
            review_table(other, read_responses(table, ACCEPT))


def test_no_text_of_the_review_is_a_formula_and_as_overrides_they_settle_what_they_came_from(tmp_path):
    texts = [
        "=1+1",
        "\tx",
        "'=1",
        "x;=cmd|' /C calc'!A0;y",
        "＝1",
        "-1\r\nnext",
        'a "quote", a comma',
        "é",
        "",
    ]
    table = responses(texts)
    write_review(review_table(table, read_responses(table, ACCEPT)), tmp_path / "review.csv")
    assert (
        (tmp_path / "review.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    )  # tells a spreadsheet what it is
    with (tmp_path / "review.csv").open(newline="", encoding="utf-8-sig") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == len(texts)
    cells = [cell for row in rows for cell in row["text"].split(";")]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "＝")) for cell in cells)
    verdicts = pd.DataFrame({"text": [row["text"] for row in rows if row["text"]], "status": "nonsense"})
    verdicts.to_csv(tmp_path / "overrides.csv", index=False)
    matched = match_overrides(table, load_overrides(tmp_path / "overrides.csv", ACCEPT.levels))
    assert matched["n_responses"].tolist() == [1] * (len(texts) - 1)
