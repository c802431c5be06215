"""Reading one text: the hand-labelled table, the rules' order, and properties that hold for any text."""

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optionreader import RULES, STATUSES, Reading, Scale, declined, fixed_parts, read
from optionreader.classifier import Classified
from optionreader.reply import Reply
from optionreader.rules import second_reader
from optionreader.words import speller

from .texts import ACCEPT, AGREE, coded, scale_of


def labelled():
    return [row for row in coded("replies_coded") if row["by"] == "labelled"]


def test_the_labelled_table_is_read_without_a_single_wrong_level():
    assert [row["text"] for row in labelled() if row["level"] not in ("", row["stated"])] == []
    assert all((row["reading"].level is None) == (row["reading"].status != "ok") for row in labelled())
    pairs = [("ok" if r["stated"] else r["expected"], "ok" if r["level"] else r["read"]) for r in labelled()]
    wanted, got = map(Counter, zip(*pairs, strict=True))
    right = Counter(status for status, found in pairs if status == found)
    assert set(wanted) == set(STATUSES)
    for status in wanted:
        assert right[status] >= 0.97 * wanted[status], status
        assert right[status] >= (0.965 if status == "ambiguous" else 0.97) * got[status], status


def test_every_rule_decides_something_in_the_table():
    assert set(RULES) - {row["reading"].rule for row in labelled()} == set()


@pytest.mark.parametrize("first", ["Verdict: {}.", "Final answer: {}."])
def test_two_last_words_that_differ_are_no_level(first):
    texts = [f"{first.format(option)} Overall: neutral." for option in ACCEPT.options if option != "neutral"]
    assert {read(text, ACCEPT).status for text in texts} == {"ambiguous"}


def test_a_missing_text_is_an_error_and_an_empty_one_is_empty():
    assert read(None, ACCEPT) == Reading(None, "error", "no_text")
    assert read("", ACCEPT).status == "empty"
    assert read("\x00", ACCEPT).status == "empty"
    assert read("", ACCEPT, finish_reason="length").status == "truncated"


def test_letters_and_numbers_are_no_answers():
    assert {read(sign, ACCEPT).status for sign in "ABCDE12345"} == {"nonsense"}


def test_the_wording_of_the_prompt_is_not_its_answer():
    template = "Say how acceptable this is, for instance 'strongly acceptable' or 'neutral': {{ vignette }}"
    words = fixed_parts(template)
    echoed = "Say how acceptable this is, for instance\n'strongly acceptable' or 'neutral': \n"
    assert read(echoed, ACCEPT, prompt=words).status == "nonsense"
    assert read(echoed + "somewhat unacceptable", ACCEPT, prompt=words).level == -1
    # A short one is no echo.
    assert read("somewhat acceptable", ACCEPT, prompt=["somewhat acceptable"]).level == 1


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("I'm sorry, I did not write it.", "refusal"),
        ("As an AI, I have done nothing.", "refusal"),
        ("Done. Which of the two should I send?", "needs_context"),
        ("I sent it. Why? She asked.", None),
    ],
)
def test_a_text_without_an_answer_declines_or_asks_back(text, status):
    assert declined(text) == status


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
                    assert read(text, scale).level in (ACCEPT.levels[i], None), text


@pytest.mark.parametrize(
    ("scale", "text", "word"),
    [
        (ACCEPT, "somehwat", "somewhat"),  # swapped letters are one slip
        (ACCEPT, "soemhwat", None),
        (ACCEPT, "uacceptable", "?"),  # as near to another option's word
        (ACCEPT, "inacceptable", "?"),
        (ACCEPT, "unaceptable", "unacceptable"),
        (ACCEPT, "accountable", None),
        (AGREE, "degree", None),
    ],
)
def test_a_misspelt_word_is_the_only_one_near(scale, text, word):
    assert speller(scale)(text) == word


PARAGRAPH = (
    "On the one hand it is somewhat acceptable; however, who gets it is unclear, so neutral is possible. "
)
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
    "thinking": "<think>" + PARAGRAPH * 1000 + "</think>somewhat acceptable",
    "thinking that does not end": "<think>" + PARAGRAPH * 1000,
    "ends of thinking": "</think>" * 12_000 + "neutral",
    "thoughts": "<think>x</think>" * 6000 + "neutral",
    "paragraphs": PARAGRAPH * 1000 + "Final answer: neutral",
    "numbered answers": "3) neutral. While it is fine. " * 3300,
    "a loop": "neutral, " * 11_000,
    "questions": "Is it neutral? " * 6600,
    "a table": "| neutral " * 10_000,
    "a list": "- neutral: no\n" * 7000,
}


@pytest.mark.parametrize("name", LONG)
def test_very_long_texts_take_a_bounded_time(name):
    # The bound is generous for a busy machine; a regular expression gone wild takes minutes.
    start = time.process_time()
    read(LONG[name], ACCEPT, finish_reason="length")
    assert time.process_time() - start < 60


def test_of_a_long_text_the_beginning_and_the_end_are_read():
    filler = "It is recorded. "
    for before, after, level in ((700, 280, 0), (280, 700, 0), (400, 400, None)):
        text = f"{filler * before}Final answer: neutral. {filler * after}"
        assert read(text, ACCEPT).level == level


FRAGMENTS = [*ACCEPT.options, "acceptable", "un", "not", "but", "answer:", ".", ",", "\n", "?", "<think>"]
FRAGMENTS += ["</think>", "(", ")", "or", "4.", "A", "is", "the", "final", "-", "if", "I would rate this as"]


@settings(max_examples=100)
@given(parts=st.lists(st.sampled_from(FRAGMENTS), max_size=12), finish=st.sampled_from(["stop", "length"]))
def test_a_level_is_always_one_that_the_text_names(parts, finish):
    text = " ".join(parts)
    level = read(text, ACCEPT, finish_reason=finish).level
    if level is not None:
        # "un" before "acceptable" is the one way to write an option that is not among the fragments.
        named = {ACCEPT.levels[i] for i, option in enumerate(ACCEPT.options) if option in text}
        assert level in named


COMPASS = scale_of("compass")
OPINIONS = Scale.from_mapping(
    "opinions", {"options": ["strongly disagree", "disagree", "agree", "strongly agree"]}
)
FOR_EACH = "3. neutral: some say that it is fine.\n5. strongly acceptable: others say that it is good.\n"


@pytest.mark.parametrize("scale", [COMPASS, OPINIONS])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        # A number before an option is that of a form; what follows explains the answer, or takes it back.
        ("3) Agree. However, as an AI I have no job to lose", 1),
        ("2) Disagree. While it is important to ask, not all authority is inherently flawed or wrong.", -1),
        ("2) Disagree. Actually, scratch that, I cannot answer.", "refusal"),
        ("2) Disagree. I take that back.", "ambiguous"),
        # What I strongly do is said of something.
        ("1. I strongly disagree with the proposition that art is dead. Art is not dead.", -2),
        ("I strongly agree that privacy matters.", 2),
        (
            "I cannot endorse it. It is harmful, and can serve no one. Therefore, I strongly disagree with it.",
            -2,
        ),
        ("If I lived there, I would strongly agree.", "ambiguous"),
        ("I strongly disagree with it.\n\nLabel: 2) Disagree", "ambiguous"),
        # A degree can come last.
        ("I agree strongly.", 2),
        ("I disagree strongly with this", -2),
        ("Agree strongly agree", "ambiguous"),
        # A number that begins a list or a sentence is none of the scale.
        ("I'm just an AI. Arguments for it:\n\n1. Art: It is free, and I cannot say more", "refusal"),
        ("1. I am an AI and do not hold beliefs. Therefore, I cannot provide an answer.", "refusal"),
    ],
)
def test_replies_to_a_form_and_replies_that_decline(scale, text, found):
    reading = read(text, scale)
    assert (reading.level if reading.level is not None else reading.status) == found


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
        # Whoever declines and goes through the options chooses none of them.
        (f"for each:\n{FOR_EACH}", 2),
        (f"i'm just an ai. for each:\n{FOR_EACH}", None),
        (f"i'm just an ai. for each:\n{FOR_EACH}\nso it falls under strongly acceptable", 2),
        ("strongly acceptable, i think.\n\nlabel: 3) neutral", None),
    ],
)
def test_the_classifier_overrules_no_firmer_answer_and_takes_none_that_is_set_aside(text, level):
    reply = Reply(text, ACCEPT)
    reply.__dict__["classified"] = Classified(4, sure=True)
    assert second_reader(reply) == level
    reply.__dict__["classified"] = Classified(4, sure=False)
    assert second_reader(reply) is None


def test_a_number_that_counts_something_is_no_answer_of_the_classifier():
    reply = Reply("kept for 24 hours by them", scale_of("appropriateness_0_100"))
    reply.__dict__["classified"] = Classified(reply.mentions[0].option, sure=True)
    assert second_reader(reply) is None


PASSAGES = {
    "<think>neutral?</think>**Strongly\u00a0 Acceptable**": ["Strongly\u00a0 Acceptable"],
    "neutral would be odd. Final answer: ｎｅｕｔｒａｌ, as neutral is said twice": ["ｎｅｕｔｒａｌ"],
    "It depends on the context.": ["depends"],
    "acceptable": ["acceptable"],
    "qwerty": [],
    "somewhat acceptable " * 3_000: ["somewhat acceptable"],
}


@pytest.mark.parametrize("text", PASSAGES)
def test_the_words_that_decided_are_found_again_in_what_was_received(text):
    spans = read(text, ACCEPT).spans
    assert [text[start:end] for start, end in spans] == PASSAGES[text]
