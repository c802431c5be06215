"""The reader on other scales than the papers': its rules follow from the options of the scale."""

import csv
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.answers.reading.patterns import word_set
from cinorms.answers.reading.rules import read_text
from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER, Scale, level_of_number

from .tables_of_texts import said

DATA = Path(__file__).resolve().parents[2] / "data"
#: Replies on eleven scales with the option that they give, or none; written before the rules for these scales were.
TABLE = DATA / "replies_by_scale.csv"


@cache
def scale_of(name: str) -> Scale:
    """Return the scale of this name."""
    path = FOLDER / f"{name}.yaml"
    return load_scale(path if path.exists() else DATA / "scales" / f"{name}.yaml")


def of_options(*options: str, **more: object) -> Scale:
    """Return a scale with these options, lowest first."""
    return Scale("made_up", "Made up", "made_up", options, tuple(range(1, len(options) + 1)), **more)


def replies() -> list[dict[str, str]]:
    with TABLE.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def read(row: dict[str, str]) -> str:
    scale = scale_of(row["scale"])
    found = said(read_text(row["text"], scale), scale)
    return found if found in scale.options else "none"


def test_replies_on_other_scales_get_no_level_that_they_do_not_give():
    rows = replies()
    assert Counter(row["draw"] for row in rows) == {"1": 364, "2": 105}
    assert not [row["text"] for row in rows if read(row) not in ("none", row["expected"])]


def test_levels_that_are_given_on_other_scales_are_read():
    stated = [row for row in replies() if row["expected"] != "none"]
    missed = Counter(row["scale"] for row in stated if read(row) == "none")
    assert len(stated) == 218
    assert missed.total() <= 2, missed


# --- number lines

LINE = scale_of("appropriateness_0_100")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("150", "nonsense"),
        ("0.7", "nonsense"),
        ("7/10", "nonsense"),
        ("about 60-70", "ambiguous"),
        ("between 40 and 60", "ambiguous"),
        ("Completely appropriate.", "ambiguous"),
        ("I like trains.", "nonsense"),
        ("As an AI, I do not have personal opinions.", "refusal"),
        ("It depends on the consent.", "needs_context"),
        ("", "empty"),
    ],
)
def test_a_reply_without_a_number_of_the_line_has_a_status(text, status):
    assert read_text(text, LINE).status == status


@pytest.mark.parametrize(
    ("text", "level"), [("7", None), ("10", None), ("73", 73), ("I would say 7", None), ("7.", 7)]
)
def test_a_number_that_the_length_limit_may_have_cut_is_no_answer(text, level):
    assert read_text(text, LINE, "length").level == level


def test_numbers_fall_into_the_bins_of_a_line_and_bins_are_no_words():
    line = scale_of("appropriateness_0_100")
    ends = {"lowest": 0, "highest": 100, "ends": line.line.ends}
    binned = Scale.of(
        {
            "name": "b",
            "title": "B",
            "measure": "b",
            "options": ["0 to 50", "51 to 100"],
            "levels": [25, 75],
            "line": ends,
        }
    )
    assert [read_text(text, binned).level for text in ("0", "50", "51", "My answer is 100.")] == [
        25,
        25,
        75,
        75,
    ]
    assert read_text("0 to 50", binned).level is None


@settings(max_examples=150)
@given(
    number=st.integers(-150, 150),
    form=st.sampled_from(["{}", "**{}**", "Answer: {}", "I would say {}.", "{}/100"]),
)
def test_every_number_reads_as_its_level_or_as_none(number, form):
    assert read_text(form.format(number), LINE).level == level_of_number(LINE, number)


# --- any scale

WORDS = sorted(
    word_set(
        "acceptable unacceptable appropriate inappropriate agree disagree okay support oppose likely",
        "unlikely fine wrong important unimportant harmful never rarely sometimes often always neutral",
        "unsure akzeptabel völlig très bueno",
    )
)
HEADS = sorted(
    word_set(
        "strongly very somewhat slightly moderately completely mostly rather definitely probably not eher"
    )
)
ONE = st.one_of(
    st.sampled_from(WORDS),
    st.tuples(st.sampled_from(HEADS), st.sampled_from(WORDS)).map(" ".join),
    st.sampled_from(
        [
            "neither agree nor disagree",
            "not at all okay",
            "Somewhat OK",
            "don't mind",
            "no opinion either way",
        ]
    ),
)
PLAIN_SCALES = st.lists(ONE, min_size=2, max_size=11, unique_by=str.lower).map(
    lambda options: of_options(*options)
)
NUMBERED = PLAIN_SCALES.map(lambda s: of_options(*(f"{n} {option}" for n, option in enumerate(s.options, 1))))
FORMS = [
    "{}",
    "{}.",
    '"{}"',
    "**{}**",
    "Answer: {}",
    "answer: **{}**.",
    "  {}\n",
    "- {}",
    "({})",
    "My answer is: {}",
]


@settings(max_examples=400)
@given(
    scale=st.one_of(PLAIN_SCALES, NUMBERED),
    at=st.integers(0, 10),
    form=st.sampled_from([*FORMS, "({letter}) {}"]),
    case=st.sampled_from([str, str.upper, str.capitalize, str.title]),
)
def test_an_option_in_any_dress_reads_as_its_level(scale, at, form, case):
    i = at % len(scale.options)
    text = form.format(case(scale.options[i]), letter="abcdefghijk"[i])
    reading = read_text(text, scale)
    assert (reading.status, reading.level) == ("ok", scale.levels[i]), text


@settings(max_examples=200)
@given(scale=st.one_of(PLAIN_SCALES, NUMBERED), data=st.data())
def test_no_text_on_any_scale_raises_and_levels_are_the_scales_own(scale, data):
    parts = st.one_of(
        st.text(max_size=8), st.sampled_from([*scale.options, "not", "or", "3", "answer:", ".", "I", "\n"])
    )
    text = " ".join(data.draw(st.lists(parts, max_size=8)))
    reading = read_text(text, scale, data.draw(st.sampled_from(["stop", "length"])))
    assert (reading.level is None) == (reading.status != "ok")
    assert reading.level in (None, *scale.levels)


# --- words that a file brings


def test_a_language_brings_its_words():
    words = {
        "negations": ["inte"],
        "refusals": ["jag kan inte svara"],
        "hedges": ["det beror på"],
        "leads": ["det är"],
        "others": ["många"],
        "degrees": ["ganska"],
        "joins": ["eller"],
        "turns": ["men"],
    }
    options = ("helt oacceptabelt", "acceptabelt", "helt acceptabelt")
    scale = of_options(*options, language="Swedish", words=tuple((k, tuple(v)) for k, v in words.items()))
    read = {
        "Det är helt acceptabelt eftersom patienten vet.": 3,
        "Det är inte helt acceptabelt.": "ambiguous",
        "Många tycker att det är helt acceptabelt.": "ambiguous",
        "Många är emot, men det är helt acceptabelt.": 3,
        "Jag kan inte svara på det.": "refusal",
        "Det beror på syftet.": "needs_context",
        "helt oacceptabelt eller helt acceptabelt": "ambiguous",
        "ganska acceptabelt": "nonsense",
    }
    for text, expected in read.items():
        found = read_text(text, scale)
        assert expected in (found.level, found.status), (text, found)
