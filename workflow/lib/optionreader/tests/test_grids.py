"""The reader on families of replies that a generator makes: two cases, disclaimers, marked lists, harmless wordings.

The phrases are the rows ``held_out`` of data/phrases.csv, which neither rules nor weights were made on; one set a
threshold.
"""

import hashlib
import re
from collections.abc import Iterator
from itertools import permutations, product

import pytest

from optionreader import read
from optionreader.classifier import SHA256, WEIGHTS, classify
from optionreader.words import Mention

from .texts import ACCEPT, HELD_OUT, coded, rows, said

PAIR = ("somewhat acceptable", "strongly acceptable")
MIRROR = dict(zip(ACCEPT.options, ACCEPT.options[::-1], strict=True))

DISCLAIMERS = (
    "As a language model I hold no personal views.",
    "I am an AI and do not have feelings or opinions of my own.",
    "Please note that I cannot give legal advice.",
    "I'm just an AI, so take this with a grain of salt.",
    "As an artificial intelligence, I can't make moral judgments.",
    "I do not have personal beliefs.",
    "I'm sorry, but I can't offer a personal opinion.",
    "It is not appropriate for me to judge people.",
)
LINKS = ("That said, ", "Nevertheless, ", "Still, based on the scenario, ", "But going by the description, ")
VERDICTS = (
    "I would rate this flow as {x}.",
    "this appears {x}.",
    "the best fitting option is {x}.",
    "the scenario is {x}.",
)
TAILS = (
    "",
    " The information is sensitive and the recipient has no need for it.",
    " The owner should be told about it.",
)
MARKS = (
    "{x} (my pick)",
    "{x} <- chosen",
    "{x} (this one)",
    "{x} [selected]",
    "{x} <== my answer",
    "{x} ← I choose this",
    "{x} *** my choice",
    "{x} (chosen)",
    "{x} (selected answer)",
    "{x} - selected",
)
LISTS = (("", "\n"), ("- ", "\n"), ("* ", "\n"), ("{n}. ", "\n"), ("{n}) ", "\n"), ("", ", "))


def phrases(family: str, verdict: str = "") -> list[str]:
    """Return the held-out phrases of a family; of all families but two cases and wrappings for ""."""
    return [
        row["text"]
        for row in rows("phrases")
        if row["part"] == "held_out"
        and (row["family"] == family or (not family and row["family"] not in ("two_cases", "wrap")))
        and verdict in ("", row["verdict"])
    ]


def option_in(text: str) -> str:
    return said(read(text, ACCEPT))


def two_cases() -> Iterator[tuple[str, str]]:
    for phrase, (x, y) in product(phrases("two_cases"), permutations(ACCEPT.options, 2)):
        yield phrase.replace("{x}", x).replace("{y}", y), "conditional"


def disclaimers() -> Iterator[tuple[str, str]]:
    for i, parts in enumerate(product(DISCLAIMERS, LINKS, VERDICTS, TAILS)):
        option = ACCEPT.options[i % 5]
        disclaimer, link, verdict, tail = parts
        yield f"{disclaimer} {link}{verdict.replace('{x}', option)}{tail}", option


def marked_lists() -> Iterator[tuple[str, str]]:
    for mark, (bullet, between), option, back in product(MARKS, LISTS, ACCEPT.options, (False, True)):
        listed = ACCEPT.options[:: -1 if back else 1]
        lines = [mark.replace("{x}", o) if o == option else o for o in listed]
        yield between.join(bullet.replace("{n}", str(n)) + line for n, line in enumerate(lines, 1)), option


def simple() -> Iterator[tuple[str, str]]:
    for phrase, x in product(phrases("simple"), ACCEPT.options):
        yield phrase.replace("{x}", x), x


def misleading() -> Iterator[tuple[str, str]]:
    for phrase, (x, y) in product(phrases("", "none"), list(permutations(ACCEPT.options, 2))[::3]):
        yield phrase.replace("{x}", x).replace("{y}", y), "none"


def own_after_others() -> Iterator[tuple[str, str]]:
    for phrase, (x, y) in product(phrases("own_after_others"), permutations(ACCEPT.options, 2)):
        yield phrase.replace("{x}", x).replace("{y}", y), x


@pytest.mark.parametrize(
    ("grid", "n", "missed"),
    [
        (two_cases, 500, 0.04),
        (disclaimers, 384, 0),
        (marked_lists, 600, 0.02),
        (simple, 150, 0.07),
        (misleading, 294, 0),
        (own_after_others, 240, 0.14),
    ],
)
def test_a_family_is_read_as_the_readme_states(grid, n, missed):
    found = [(expected, option_in(text)) for text, expected in grid()]
    lost = [e for e, option in found if e not in ("none", option) and option not in ACCEPT.options]
    assert len(found) == n
    assert not [pair for pair in found if pair[1] in ACCEPT.options and pair[1] != pair[0]]
    assert len(lost) / n <= missed, lost


#: Options of two words and their mirror images; the words of "neutral" have other senses.
_OPTIONS = re.compile("|".join(sorted(ACCEPT.options, key=len, reverse=True)), re.IGNORECASE)


def mirrored(text: str, swap: dict[str, str]) -> str:
    """Return ``text`` with each option replaced, a capital kept."""

    def other(found: re.Match[str]) -> str:
        option = swap[found[0].lower()]
        return option.capitalize() if found[0][0].isupper() else option

    return _OPTIONS.sub(other, text)


@pytest.mark.parametrize(
    "swap", [MIRROR, {o: o for o in ACCEPT.options} | dict(zip(PAIR, PAIR[::-1], strict=True))]
)
def test_another_option_in_its_place_is_read_in_its_place(swap):
    found = {row["text"]: row["read"] for row in coded(HELD_OUT) if row["by"] == "i"}
    changed = [t for t, option in found.items() if option_in(mirrored(t, swap)) != swap.get(option, option)]
    assert len(changed) <= 2, changed


def test_mirrored_cases_have_mirrored_verdicts_and_the_same_conditions():
    several = 0
    for phrase in phrases("two_cases"):
        text = phrase.replace("{x}", PAIR[0]).replace("{y}", PAIR[1])
        cases, other = (read(t, ACCEPT).cases for t in (text, mirrored(text, MIRROR)))
        assert other == tuple((words, -level) for words, level in cases)
        several += len(cases) == 2
    # "With an opt-in I would call this X; without one it is Y" is read as no level, without its cases.
    assert several >= 24
    text = "I would say neutral if they know, and strongly unacceptable otherwise."
    assert read(text, ACCEPT).cases == (("if they know", 0), ("otherwise", -2))


def test_harmless_words_around_a_reply_change_no_level():
    plain = [text for text, option in simple() if text.endswith(".") and option_in(text) == option]
    wrapped = [(option_in(t), option_in(wrap.replace("{t}", t))) for wrap in phrases("wrap") for t in plain]
    assert not [pair for pair in wrapped if pair[1] in ACCEPT.options and pair[1] != pair[0]]
    assert sum(option not in ACCEPT.options for _, option in wrapped) / len(wrapped) <= 0.05


def test_the_code_names_its_weights():
    assert hashlib.sha256(WEIGHTS.read_bytes()).hexdigest() == SHA256


def test_the_classifier_tells_a_verdict_from_a_mention_whichever_option_it_is():
    def option(text: str, *spans: tuple[int, int, int]) -> int | None:
        return classify(text, [Mention(*span) for span in spans]).option

    assert option("i would rate this as x.", (3, 21, 22)) == 3
    assert option("i would not rate this as x.", (3, 25, 26)) is None
    assert option("many would say x. i say y.", (0, 15, 16), (1, 24, 25)) == 1
    assert option("nothing is named") is None
