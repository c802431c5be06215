"""Reading one text: the hand-labelled table, the rules' order, and properties that hold for any text."""

import csv
import json
import time
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.answers.reading.asked_text import AskedText
from cinorms.answers.reading.normalise import fixed_wording
from cinorms.answers.reading.rules import RULES, Reading, read_text, second_reader
from cinorms.answers.reading.second_reader import Second
from cinorms.answers.reading.words import speller
from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER, papers_scale
from cinorms.core.tables import ANSWER_STATUSES, OVERRIDE_STATUSES

ACCEPT, AGREE = papers_scale("acceptability"), papers_scale("agreement")
TABLE = Path(__file__).resolve().parents[2] / "data" / "answers_labelled.csv"


def unescape(text):
    """The table shows line breaks and invisible characters as JSON does."""
    return json.loads('"' + text.replace('"', '\\"') + '"')


@cache
def labelled():
    found = []
    with TABLE.open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            words = fixed_wording(unescape(row["template"])) if row["template"] else frozenset()
            scale = papers_scale(row["scale"])
            reading = read_text(unescape(row["text"]), scale, row["finish_reason"], words)
            found.append((row, int(row["level"]) if row["level"] else None, reading))
    return found


@pytest.mark.parametrize("first", ["Verdict: {}.", "Final answer: {}."])
def test_two_last_words_that_differ_are_no_level(first):
    texts = [f"{first.format(option)} Overall: neutral." for option in ACCEPT.options if option != "neutral"]
    assert {read_text(text, ACCEPT).status for text in texts} == {"ambiguous"}


def test_the_labelled_table_is_read_without_a_single_wrong_level(capsys):
    rows = labelled()
    assert len(rows) >= 300
    wanted = Counter(row["status"] for row, _, _ in rows)
    got = Counter(reading.status for _, _, reading in rows)
    right = Counter(row["status"] for row, _, reading in rows if row["status"] == reading.status)
    with capsys.disabled():
        print(f"\n{len(rows)} labelled texts   precision  recall")
        for status in sorted(wanted, key=wanted.__getitem__, reverse=True):
            precision, recall = right[status] / max(got[status], 1), right[status] / wanted[status]
            print(f"{status:14} {wanted[status]:8}   {precision:9.3f} {recall:7.3f}")
    assert all((r.level is None) == (r.status != "ok") for _, _, r in rows)
    wrong = [(row["text"], level, r) for row, level, r in rows if r.status == "ok" and r.level != level]
    assert wrong == []
    assert set(wanted) == {"ok", *OVERRIDE_STATUSES}
    for status in wanted:
        assert right[status] >= 0.97 * wanted[status], status
        assert right[status] >= (0.965 if status == "ambiguous" else 0.97) * got[status], status


def test_every_rule_decides_something_in_the_table():
    deciding = {reading.rule for _, _, reading in labelled()}
    assert {rule.__name__ for rule in RULES} - deciding == set()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("somewhat acceptable", "exact"),
        ("With consent, neutral. Without it, strongly unacceptable.", "conditional"),
        ("**Somewhat acceptable.**", "punctuation"),
        ("4. somewhat acceptable", "label"),
        ("Answer: somewhat acceptable", "label"),
        ("somwhat acceptable", "misspelt"),
        ("somewhat un-acceptable", "misspelt"),
        ("The flow is fine. Final answer: somewhat acceptable", "stated_answer"),
        ("Somewhat acceptable. The owner knows.", "leading_answer"),
        ("Sharing is common, so I would rate it as somewhat acceptable.", "stated_answer"),
        (", ".join(ACCEPT.options), "whole_scale"),
        ("smoothly acceptable", "wrong_scale_word"),
        ("acceptable", "half_option"),
        ("somewhat uacceptable", "misspelt"),
        ("s", "no_option"),
    ],
)
def test_the_rule_that_decided_is_named(text, rule):
    assert read_text(text, ACCEPT).rule == rule


def test_a_missing_text_is_an_error_and_an_empty_one_is_empty():
    assert read_text(None, ACCEPT) == Reading(None, "error", "no_text")
    assert read_text("", ACCEPT).status == "empty"
    assert read_text("\x00", ACCEPT).status == "empty"
    assert read_text("", ACCEPT, "length").status == "truncated"


def test_letters_and_numbers_are_no_answers():
    assert {read_text(sign, ACCEPT).status for sign in "ABCDE12345"} == {"nonsense"}


def test_the_wording_of_the_prompt_is_not_its_answer():
    template = "Say how acceptable this is, for instance 'strongly acceptable' or 'neutral': {{ vignette }}"
    words = fixed_wording(template)
    echoed = "Say how acceptable this is, for instance\n'strongly acceptable' or 'neutral': \n"
    assert read_text(echoed, ACCEPT, prompt_words=words).status == "nonsense"
    assert read_text(echoed + "somewhat unacceptable", ACCEPT, prompt_words=words).level == -1


def test_a_short_wording_is_never_taken_for_an_echo():
    assert (
        read_text("somewhat acceptable", ACCEPT, prompt_words=frozenset({"somewhat acceptable"})).level == 1
    )


def test_no_misspelling_within_reach_changes_the_sign():
    # Every text one edit away from an option keeps the option's level or has none.
    letters = "abcdefghijklmnopqrstuvwxyz -"
    for scale in (ACCEPT, AGREE):
        for i, option in enumerate(scale.options):
            for at in range(len(option) + 1):
                edits = [option[:at] + c + option[at:] for c in letters]
                edits += [option[:at] + option[at + 1 :]]
                edits += [option[:at] + c + option[at + 1 :] for c in letters if at < len(option)]
                for text in edits:
                    assert read_text(text, scale).level in (ACCEPT.levels[i], None), text


def test_swapped_letters_are_one_slip():
    assert speller(ACCEPT)("somehwat") == "somewhat"
    assert speller(ACCEPT)("soemhwat") is None


def test_a_spelling_between_two_option_words_is_unclear():
    spell = speller(ACCEPT)
    assert spell("uacceptable") == "?"
    assert spell("inacceptable") == "?"
    assert spell("unaceptable") == "unacceptable"
    assert spell("accountable") is None
    assert speller(AGREE)("degree") is None


LONG = {
    "the whole scale": (", ".join(ACCEPT.options) + ". ") * 1200,
    "one option": "somewhat acceptable " * 5000,
    "line breaks": "\n" * 100_000 + "x",
    "signs": "!" * 50_000 + "strongly acceptable" + "?" * 50_000,
    "half a word": "un " * 33_000,
    "tags": "<think>" * 14_000,
    "braces": "({[" * 33_000,
    "negations": "not somewhat acceptable, " * 4000,
    "openings": "I would rate " * 8000,
    "one word": "acceptable" * 10_000,
    "invisible": "\u200b" * 100_000,
}


@pytest.mark.parametrize("name", LONG)
def test_very_long_texts_take_a_bounded_time(name):
    # The bound is generous for a busy machine; a regular expression gone wild takes minutes.
    start = time.process_time()
    read_text(LONG[name], ACCEPT, "length")
    assert time.process_time() - start < 60


@settings(max_examples=250)
@given(text=st.text(), finish=st.sampled_from(["stop", "length", "error", "other"]))
def test_no_text_raises(text, finish):
    reading = read_text(text, ACCEPT, finish)
    assert reading.status in ANSWER_STATUSES
    assert (reading.level is None) == (reading.status != "ok")


FRAGMENTS = [*ACCEPT.options, "acceptable", "un", "not", "but", "answer:", ".", ",", "\n", "?", "<think>"]
FRAGMENTS += ["</think>", "(", ")", "or", "4.", "A", "is", "the", "final", "-", "if", "I would rate this as"]


@settings(max_examples=250)
@given(parts=st.lists(st.sampled_from(FRAGMENTS), max_size=12), finish=st.sampled_from(["stop", "length"]))
def test_a_level_is_always_one_that_the_text_names(parts, finish):
    text = " ".join(parts)
    level = read_text(text, ACCEPT, finish).level
    if level is not None:
        # "un" before "acceptable" is the one way to write an option that is not among the fragments.
        named = {ACCEPT.levels[i] for i, option in enumerate(ACCEPT.options) if option in text}
        assert level in named


CASES = st.sampled_from([str, str.upper, str.title, str.capitalize, str.swapcase])
MARKS = st.sampled_from(["", '"', "'", "**", "(", "[", " ", "\n", "- ", "`", "“", "_"])
ENDS = st.sampled_from(["", ".", "!", '"', "'", "**", ")", "]", " ", "\n", "`", "”", "...", ".)"])


@settings(max_examples=200)
@given(scale=st.sampled_from((ACCEPT, AGREE)), i=st.integers(0, 4), case=CASES, a=MARKS, b=MARKS, c=ENDS)
def test_decoration_keeps_the_level(scale, i, case, a, b, c):
    reading = read_text(a + b + case(scale.options[i]) + c, scale)
    assert (reading.status, reading.level) == ("ok", ACCEPT.levels[i])


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("it falls under strongly acceptable", 2),
        ("my answer is neutral. one might land at strongly acceptable", None),
        ("neutral. all in all, this falls under strongly acceptable", None),
        ("it falls under neutral, it falls under strongly acceptable", 2),
        ("my answer is neutral. no, my answer is strongly acceptable", 2),
        ("but strongly acceptable would suggest no risk", None),
        ("it is not strongly acceptable", None),
        ("strongly unacceptable, somewhat unacceptable, strongly acceptable", None),
    ],
)
def test_the_second_reader_overrules_no_firmer_answer_and_takes_none_that_is_set_aside(text, level):
    asked = AskedText(text, ACCEPT, "stop", frozenset())
    asked.__dict__["second"] = Second(4, sure=True)
    assert second_reader(asked) == level
    asked.__dict__["second"] = Second(4, sure=False)
    assert second_reader(asked) is None


def test_a_number_that_counts_something_is_no_answer_of_the_second_reader():
    asked = AskedText(
        "kept for 24 hours by them", load_scale(FOLDER / "appropriateness_0_100.yaml"), "stop", frozenset()
    )
    asked.__dict__["second"] = Second(asked.mentions[0].option, sure=True)
    assert second_reader(asked) is None
