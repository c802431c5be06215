"""What a scale's file states, what is refused, and replies on other scales: the rules follow from the options."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from optionreader import SHIPPED, Scale, ScaleError, read
from optionreader.patterns import word_set

from .texts import ACCEPT, scale_of

# --- files


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_scale_has_a_level_for_each_option(name):
    scale = Scale.shipped(name)
    assert len(scale.options) == len(scale.levels) == len(scale.sides)
    assert list(scale.levels) == sorted(set(scale.levels))
    assert scale.name == name


@pytest.mark.parametrize(
    ("stated", "levels", "sides"),
    [
        ({"options": ["bad", "good"]}, (-1, 1), (-1, 1)),
        ({"options": ["a", "b", "c", "d"]}, (-2, -1, 1, 2), (-1, -1, 1, 1)),
        ({"options": ["never", "sometimes", "always"]}, (1, 2, 3), (-1, 0, 1)),
        ({"options": ["a", "b", "c"], "midpoint": "b"}, (-1, 0, 1), (-1, 0, 1)),
        ({"options": ["a", "b", "c"], "midpoint": "a"}, (0, 1, 2), (0, 1, 1)),
        ({"options": ["a", "b", "c"], "levels": [-100, 0, 50], "midpoint": "b"}, (-100, 0, 50), (-1, 0, 1)),
    ],
)
def test_levels_and_sides_follow_from_the_options(stated, levels, sides):
    scale = Scale.from_mapping("mine", stated)
    assert (scale.levels, scale.sides) == (levels, sides)


def test_a_line_has_a_level_for_each_number_or_the_middles_of_its_bins():
    assert LINE.levels == tuple(range(101))
    assert [LINE.level_of_number(number) for number in (0, 72.5, 100, 101, -1)] == [0, 73, 100, None, None]
    line = {"lowest": 1, "highest": 7, "ends": ["no", "yes"], "bins": 3}
    scale = Scale.from_mapping("mine", {"line": line, "midpoint": 4})
    assert (scale.options, scale.levels) == (("1 to 3", "4 to 5", "6 to 7"), (2, 4, 6))
    assert [scale.level_of_number(number) for number in (1, 3, 4, 6)] == [2, 2, 4, 6]


def test_other_texts_name_an_option_where_the_scale_says_so():
    stated = {"options": list(ACCEPT.options), "midpoint": "neutral"}
    also = {f"completely {what}": f"strongly {what}" for what in ("acceptable", "unacceptable")}
    scale = Scale.from_mapping("mine", stated | {"also": also})
    replies = {"Completely acceptable.": 2, "The answer is: completely unacceptable": -2, "neutral": 0}
    assert {text: read(text, scale).level for text in replies} == replies
    assert read("completely acceptable, or completely unacceptable", scale).status == "ambiguous"
    assert [read(text, ACCEPT).status for text in replies] == ["nonsense", "nonsense", "ok"]


def test_options_that_begin_with_a_number_are_named_by_it():
    scale = of_options("1 never", "2 rarely", "3 often")
    assert [scale.level_of_number(number) for number in (1, 3, 4, 1.5)] == [1, 3, None, None]
    assert ACCEPT.level_of_number(1) is None


@pytest.mark.parametrize(
    ("options", "replies"),
    [
        (
            ("A) London", "B) Paris", "C) Rome"),
            {
                "B) Paris": 2,
                "B. Paris": 2,
                "b: paris, as it is big": 2,
                "Paris": 2,
                "B": 2,
                "My choice is (B).": 2,
            }
            | {"B\n\nIt is big.": 2, "C) Paris": None, "B) Paris\nC) Rome": None, "It is a": None, "D": None},
        ),
        (("A", "B", "C"), {"B) Paris": 2, "B) Paris, as it is big.": 2, "B) No. Sorry, I cannot say": None}),
        (("London", "Paris", "Rome"), {"B) Paris": 2, "C) Paris": 2, "B": None}),
    ],
)
def test_options_that_begin_with_a_letter_are_named_by_it(options, replies):
    scale = of_options(*options)
    assert {text: read(text, scale).level for text in replies} == replies


LINE_OF_9 = {"lowest": 0, "highest": 9, "ends": ["a", "b"]}


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ("no mapping", ["the whole file", "not a mapping"]),
        ({}, ["options: state the options"]),
        ({"options": ["only"]}, ["options", "a list of 2 to 11 texts"]),
        ({"options": [False, True]}, ["options: False is not a text; put it in quotes"]),
        ({"options": ["a", "a"]}, ["options: a text appears twice"]),
        ({"options": ["a", "b"], "line": LINE_OF_9}, ["options", "one of the two"]),
        ({"options": ["a", "b"], "optionz": []}, ["no key 'optionz'", "did you mean 'options'?"]),
        ({"options": ["bad", "good"], "midpoint": "goood"}, ["midpoint: 'goood'", "did you mean 'good'?"]),
        ({"options": ["bad", "good"], "also": {"fine": "god"}}, ["also.fine: 'god'", "did you mean 'good'?"]),
        ({"options": ["a", "b"], "also": ["c"]}, ["also: ['c'] is not a mapping"]),
        ({"options": ["a", "b"], "levels": [1, 2, 3]}, ["levels: has 3 numbers for 2 options"]),
        ({"options": ["a", "b"], "levels": [2, 1]}, ["levels: [2, 1] do not rise"]),
        ({"options": ["a", "b"], "levels": [1, "2"]}, ["levels", "not a list of whole numbers"]),
        ({"options": ["a", "b"], "words": {"negation": ["no"]}}, ["did you mean 'negations'?"]),
        ({"options": ["a", "b"], "words": {"negations": "no"}}, ["words.negations: 'no' is not a list"]),
        ({"options": ["a", "b"], "title": 3}, ["title: 3 is not a text"]),
        ({"line": {**LINE_OF_9, "lowest": 9}}, ["line", "lower number under 'lowest'"]),
        ({"line": {**LINE_OF_9, "highest": "9"}}, ["line.highest: '9' is not a whole number"]),
        ({"line": {**LINE_OF_9, "ends": ["a"]}}, ["line.ends", "a list of 2 texts"]),
        ({"line": {**LINE_OF_9, "highest": 3, "bins": 9}}, ["line.bins: 9 bins of 4 numbers"]),
        ({"line": LINE_OF_9, "midpoint": 11}, ["midpoint: 11", "allowed: 0 to 9"]),
    ],
)
def test_a_wrong_file_gives_one_message_with_its_name_and_the_key(tmp_path, stated, words):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(stated), encoding="utf-8")
    with pytest.raises(ScaleError) as raised:
        Scale.from_yaml(path)
    for word in [f"{path}: ", *words]:
        assert word in str(raised.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "cannot be read"), (b"options: [a, b", "not valid YAML"), (b"\xff", "not UTF-8")],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, content, words):
    path = tmp_path / "mine.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ScaleError, match=f"mine.yaml: .*{words}"):
        Scale.from_yaml(path)


def test_a_name_of_no_shipped_scale_is_refused_with_the_nearest():
    with pytest.raises(ScaleError, match="did you mean 'agreement'"):
        Scale.shipped("agrement")


def of_options(*options: str, **more: object) -> Scale:
    """Return a scale with these options, lowest first."""
    return Scale(name="made_up", options=options, levels=tuple(range(1, len(options) + 1)), **more)


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
    assert read(text, LINE).status == status


@pytest.mark.parametrize(
    ("text", "level"), [("7", None), ("10", None), ("73", 73), ("I would say 7", None), ("7.", 7)]
)
def test_a_number_that_the_length_limit_may_have_cut_is_no_answer(text, level):
    assert read(text, LINE, finish_reason="length").level == level


def test_numbers_fall_into_the_bins_of_a_line_and_bins_are_no_words():
    binned = LINE.with_bins(2)
    assert (binned.options, binned.levels) == (("0 to 50", "51 to 100"), (25, 75))
    levels = [read(text, binned).level for text in ("0", "50", "51", "My answer is 100.")]
    assert levels == [25, 25, 75, 75]
    assert read("0 to 50", binned).level is None


@settings(max_examples=60)
@given(
    number=st.integers(-150, 150),
    form=st.sampled_from(["{}", "**{}**", "Answer: {}", "I would say {}.", "{}/100"]),
)
def test_every_number_reads_as_its_level_or_as_none(number, form):
    assert read(form.format(number), LINE).level == LINE.level_of_number(number)


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


@settings(max_examples=60)
@given(
    scale=st.one_of(PLAIN_SCALES, NUMBERED),
    at=st.integers(0, 10),
    form=st.sampled_from([*FORMS, "({letter}) {}"]),
    case=st.sampled_from([str, str.upper, str.capitalize, str.title]),
)
def test_an_option_in_any_dress_reads_as_its_level(scale, at, form, case):
    i = at % len(scale.options)
    text = form.format(case(scale.options[i]), letter="abcdefghijk"[i])
    reading = read(text, scale)
    assert (reading.status, reading.level) == ("ok", scale.levels[i]), text


@settings(max_examples=40)
@given(scale=st.one_of(PLAIN_SCALES, NUMBERED), data=st.data())
def test_no_text_on_any_scale_raises_and_levels_are_the_scales_own(scale, data):
    parts = st.one_of(
        st.text(max_size=8), st.sampled_from([*scale.options, "not", "or", "3", "answer:", ".", "I", "\n"])
    )
    text = " ".join(data.draw(st.lists(parts, max_size=8)))
    reading = read(text, scale, finish_reason=data.draw(st.sampled_from(["stop", "length"])))
    assert (reading.level is None) == (reading.status != "ok")
    assert reading.level in (None, *scale.levels)


# --- words that a file brings


def test_a_language_brings_its_words():
    words = {
        "negations": "inte",
        "refusals": "jag kan inte svara",
        "hedges": "det beror på",
        "leads": "det är",
    }
    words |= {"others": "många", "degrees": "ganska", "joins": "eller", "turns": "men"}
    options = ("helt oacceptabelt", "acceptabelt", "helt acceptabelt")
    scale = of_options(
        *options, language="Swedish", words=tuple((kind, (word,)) for kind, word in words.items())
    )
    expected = {
        "Det är helt acceptabelt eftersom patienten vet.": 3,
        "Det är inte helt acceptabelt.": "ambiguous",
        "Många tycker att det är helt acceptabelt.": "ambiguous",
        "Många är emot, men det är helt acceptabelt.": 3,
        "Jag kan inte svara på det.": "refusal",
        "Det beror på syftet.": "needs_context",
        "helt oacceptabelt eller helt acceptabelt": "ambiguous",
        "ganska acceptabelt": "nonsense",
    }
    assert {text: read(text, scale).level or read(text, scale).status for text in expected} == expected


def test_words_of_a_script_without_spaces_are_found_inside_a_sentence():
    words = (("refusals", ("答えられません",)),)
    scale = of_options("受け入れられない", "受け入れられる", language="Japanese", words=words)
    assert read("その質問には答えられませんので、お許しください。", scale).status == "refusal"
