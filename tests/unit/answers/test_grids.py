"""The reader on families of replies that a generator makes: two cases, disclaimers, marked lists, harmless wordings.

The phrases are the rows ``held_out`` of tests/data/phrases.csv, which neither reader was made on; one set a threshold.
"""

import csv
import hashlib
import json
import re
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path

import pytest

from cinorms.answers.reading.rules import read_text
from cinorms.answers.reading.second_reader import SHA256, WEIGHTS, read_again
from cinorms.answers.reading.words import Mention

from .tables_of_texts import ACCEPT, said

TABLE = Path(__file__).resolve().parents[2] / "data" / "phrases.csv"
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
    with TABLE.open(newline="", encoding="utf-8") as handle:
        return [
            row["text"]
            for row in csv.DictReader(handle)
            if row["part"] == "held_out"
            and (row["family"] == family or (not family and row["family"] not in ("two_cases", "wrap")))
            and verdict in ("", row["verdict"])
        ]


def read(text: str) -> str:
    return said(read_text(text, ACCEPT))


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


def rates(grid: Iterator[tuple[str, str]]) -> dict[str, float]:
    """Return the shares of texts with a wrong level, without the level that they give, and called a refusal."""
    rows = [(expected, read(text)) for text, expected in grid]
    level = [(e, r) for e, r in rows if r in ACCEPT.options]
    return {
        "n": len(rows),
        "wrong": sum(e != r for e, r in level) / len(rows),
        "missed": sum(e != "none" and e != r and r not in ACCEPT.options for e, r in rows) / len(rows),
        "refusal": sum(r == "refusal" for _, r in rows) / len(rows),
    }


@pytest.mark.parametrize(
    ("grid", "n", "wrong", "missed"),
    [
        (two_cases, 500, 0, 0.04),
        (disclaimers, 384, 0, 0),
        (marked_lists, 600, 0, 0.02),
        (simple, 150, 0, 0.07),
        (misleading, 294, 0, 0),
        (own_after_others, 240, 0, 0.14),
    ],
)
def test_a_family_is_read_as_the_page_states(grid, n, wrong, missed):
    found = rates(grid())
    assert found["n"] == n
    assert found["wrong"] <= wrong, found
    assert found["missed"] <= missed, found


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
    with (TABLE.parent / "replies_held_out.csv").open(newline="", encoding="utf-8") as handle:
        texts = [row["text"] for row in csv.DictReader(handle)]
    changed = [t for t in texts if read(mirrored(t, swap)) != swap.get(read(t), read(t))]
    assert len(changed) <= 2, changed


def test_mirrored_cases_have_mirrored_verdicts_and_the_same_conditions():
    several = 0
    for phrase in phrases("two_cases"):
        text = phrase.replace("{x}", PAIR[0]).replace("{y}", PAIR[1])
        cases, other = (
            json.loads(read_text(t, ACCEPT).cases or "[]") for t in (text, mirrored(text, MIRROR))
        )
        assert other == [[words, -level] for words, level in cases]
        several += len(cases) == 2
    # "With an opt-in I would call this X; without one it is Y" is read as no level, without its cases.
    assert several >= 24


def test_a_case_keeps_its_condition_and_its_verdict():
    text = "I would say neutral if they know, and strongly unacceptable otherwise."
    assert read_text(text, ACCEPT).cases == '[["if they know", 0], ["otherwise", -2]]'


def test_harmless_words_around_a_reply_change_no_level():
    plain = [text for text, option in simple() if text.endswith(".") and read(text) == option]
    rows = [(text, wrap.replace("{t}", text)) for wrap in phrases("wrap") for text in plain]
    level = [(read(text), read(wrapped), wrapped) for text, wrapped in rows]
    assert not [row for row in level if row[1] in ACCEPT.options and row[1] != row[0]]
    assert sum(b not in ACCEPT.options for _, b, _ in level) / len(level) <= 0.05


def test_the_module_of_the_second_reader_changes_with_its_weights():
    assert hashlib.sha256(WEIGHTS.read_bytes()).hexdigest() == SHA256


def test_the_second_reader_tells_a_verdict_from_a_mention_whichever_option_it_is():
    def option(text: str, *spans: tuple[int, int, int]) -> int | None:
        return read_again(text, [Mention(*span) for span in spans]).option

    assert option("i would rate this as x.", (3, 21, 22)) == 3
    assert option("i would not rate this as x.", (3, 25, 26)) is None
    assert option("many would say x. i say y.", (0, 15, 16), (1, 24, 25)) == 1
    assert option("nothing is named") is None
