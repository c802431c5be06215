"""Where a text names options of a scale: in words, in numbers, or cut short by the length limit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from cinorms.answers.reading.degrees import ADVERBS, ASSURING, DEGREES, INTENSIFIERS, STRENGTHENING
from cinorms.answers.reading.lazy import lazy
from cinorms.answers.reading.numbers import find_numbers
from cinorms.answers.reading.own_words import own_words
from cinorms.answers.reading.scale_words import (
    heads_and_tails,
    is_numeric,
    is_utmost,
    names,
    option_numbers,
    option_texts,
    option_words,
    per_scale,
    plain_options,
)
from cinorms.answers.reading.words import UNCLEAR, Token
from cinorms.core.scales import Scale

#: What may stand between the words of one option: "**somewhat** acceptable", "somewhat-acceptable".
_WITHIN = lazy(r"(?!\s*\n\s*\n)[\s\-_*'\"~\\]{0,6}")
#: Words that keep a list of options a list.
LIST_WORDS = frozenset({"and", "or", "to", "nor", "through", "vs", "versus"})


class Mention(NamedTuple):
    """One place where an option is named; ``option`` is its index in the scale, None where unclear."""

    option: int | None
    start: int
    end: int
    cut: bool = False  # the text breaks off inside the option
    listed: bool = False  # one of several options in a row
    ruled_out: bool = False  # negated, compared, asked
    elsewhere: str = ""  # said by "others", of another "case", taken "back", or in a "question"
    counts: bool = True  # False: an everyday word such as "neutral" in running text
    one_word: bool = False  # an everyday word or number can be this option
    standing: bool = False  # a sentence or line of its own
    cue: str = ""  # final, strong (the answer is ..), weak (it is ..), maybe (it would be ..) or none
    sentence: int = 0
    opens: bool = False  # the first words of its sentence
    frame: str = ""  # the form of its statement, where it may be one of a row: ":" or a preposition
    topic: bool = False  # what a statement is about, and nothing calls it the answer

    @property
    def candidate(self) -> bool:
        """Whether this can be the answer."""
        return (
            self.counts and not self.listed and not self.ruled_out and not self.elsewhere and not self.topic
        )


@per_scale
def decorated(scale: Scale) -> re.Pattern[str]:
    """Return a pattern of one option and nothing but signs; its group number is the option's, from 1."""
    if scale.line is not None:
        return re.compile(r"(?!)")
    gap = _within(scale).pattern.replace("{0,6}", "{1,6}")
    numbers = {i: n for n, i in option_numbers(scale).items()}
    options = []
    for i, words in enumerate(option_words(scale)):
        named = gap.join(map(re.escape, words))
        number = rf"(?<![\w-]){re.escape(str(numbers[i]))}" if numbers else ""
        options.append(f"(?:{number}[\\W_]{{1,4}})?{named}" if number and named else number + named)
    return re.compile(rf"[\W_]*+(?:{'|'.join(f'({option})' for option in options)})[\W_]*+")


@per_scale
def _within(scale: Scale) -> re.Pattern[str]:
    """Return a pattern of what may stand between the words of one option: what the scale itself puts there too."""
    own = {c for text in option_texts(scale) for c in text if not c.isalnum() and not c.isspace()} - set(
        "-_*'\"~\\"
    )
    if not own or scale.line is not None:
        return _WITHIN
    return re.compile(_WITHIN.pattern.replace(r"[\s", r"[\s" + "".join(map(re.escape, sorted(own)))))


def _named(words: list[Token], text: str, scale: Scale) -> Iterator[tuple[int, int, int | None]]:
    """Yield (first token, last token, option) for each option named in full."""
    options, within = names(scale), _within(scale)
    heads, _ = heads_and_tails(scale)
    longest = max(map(len, options), default=0)
    done = 0
    for i in [i for i, word in enumerate(words) if word.scale_word]:
        if i < done:
            continue
        for n in range(min(longest, len(words) - i), 0, -1):
            part = words[i : i + n]
            name = tuple(t.scale_word for t in part)
            unclear = n > 1 and name[0] in heads and name[-1] == UNCLEAR
            if name not in options and not unclear:
                continue
            if not all(within.fullmatch(text[a.end : b.start]) for a, b in pairwise(part)):
                continue
            shared = unclear or _shares_a_word(words, i, i + n - 1, text, scale)
            shared = shared or (n > 1 and _intensified(words, i, text, scale))
            if n > 1 or not _modified(words, i, text, scale, options.get(name)):
                yield i, i + n - 1, None if shared else options[name]
            done = i + n
            break


def _modified(words: list[Token], i: int, text: str, scale: Scale, option: int | None) -> bool:
    """Whether a one-word option follows an adverb: "somewhat neutral" is not on the scale."""
    if i == 0 or not re.fullmatch(r"[\s\-]+", text[words[i - 1].end : words[i].start]):
        return False
    if words[i - 1].scale_word in heads_and_tails(scale)[0]:
        return True
    if option is None or option not in plain_options(scale):
        return False
    word = words[i - 1].text
    if word in ASSURING or (word in STRENGTHENING and is_utmost(scale, option)):
        return False
    own = own_words(scale)
    return (
        word.endswith("ly")
        or word in ADVERBS
        or word in DEGREES
        or word in STRENGTHENING
        or (own is not None and word in own.degrees)
    )


def _intensified(words: list[Token], i: int, text: str, scale: Scale) -> bool:
    """Whether the option at word ``i`` follows an intensifier."""
    if i == 0:
        return False
    if words[i - 1].text not in INTENSIFIERS:
        own = own_words(scale)
        if own is None or words[i - 1].text not in own.degrees:
            return False
    return text[words[i - 1].end : words[i].start].isspace()


def _shares_a_word(words: list[Token], first: int, last: int, text: str, scale: Scale) -> bool:
    """Whether two options share a word: "somewhat or strongly acceptable", "agree/disagree"."""
    if first == last:
        return False
    heads, tails = heads_and_tails(scale)

    def near(step: int, edge: int) -> str | None:
        """Return the option word beside the edge, past an "or"; None across punctuation."""
        at = edge + step
        if 0 <= at < len(words) and words[at].text in LIST_WORDS:
            at += step
        if not 0 <= at < len(words) or words[at].scale_word is None:
            return None
        a, b = sorted((edge, at))
        return None if re.search(r"[.!?;:\n,]", text[words[a].end : words[b].start]) else words[at].scale_word

    before, after = near(-1, first), near(1, last)
    other_tails = tails - {words[last].scale_word}
    return before in heads or before in other_tails or after in other_tails


def cut_option(words: list[Token], text: str, scale: Scale) -> Mention | None:
    """Return the option that a text cut by the length limit had begun; None where it ends otherwise.

    Three letters into its last word (four of a one-word option) an option is decided: "somewhat unacc". Less
    ("somewhat un") is an option begun, but unclear.
    """
    if not words or text[words[-1].end :].strip():
        return None
    for n in (2, 1):
        part = words[-n:]
        if len(part) < n or (n == 2 and not _WITHIN.fullmatch(text[part[0].end : part[1].start])):
            continue
        name = " ".join(t.scale_word if t is not part[-1] and t.scale_word else t.text for t in part)
        fits = [
            i for i, o in enumerate(map(" ".join, option_words(scale))) if o.startswith(name) and o != name
        ]
        if not fits or (n == 1 and len(name) < 3):
            continue
        need = 3 if n == 2 else 4
        sure = len(fits) == 1 and len(part[-1].text) >= need
        return Mention(fits[0] if sure else None, part[0].start, part[-1].end, cut=True)
    return None


def _with_numbers(found: list[Mention], text: str, scale: Scale, cut_short: bool) -> list[Mention]:
    """Return the options that are named in words and those that numbers name, in order.

    A number right before an option's words, or in brackets after them, names the same option, or leaves it unclear.
    """
    numbers = [
        Mention(n.option, n.start, n.end, cut=n.option is None, ruled_out=n.limit, one_word=True)
        for n in find_numbers(text, scale, cut_short)
        if not any(m.start <= n.start < m.end for m in found)
    ]
    result: list[Mention] = []
    for mention in sorted([*found, *numbers], key=lambda m: m.start):
        last = result[-1] if result else None
        gap = text[last.end : mention.start] if last else "x"
        before = (
            re.fullmatch(r"[^\w\n,;/]{1,4}", gap) is not None and mention not in numbers and last in numbers
        )
        after = (
            re.fullmatch(r"[\s\"'*_]{0,4}[(\[]", gap) is not None
            and mention in numbers
            and last not in numbers
        )
        if last and (before or (after and last.option == mention.option)):
            same = last.option if last.option == mention.option else None
            result[-1] = Mention(same, last.start, mention.end)
        else:
            result.append(mention)
    return result


def find_options(words: list[Token], text: str, scale: Scale, cut_short: bool) -> list[Mention]:
    """Return every place where ``text`` names an option, in order."""
    found = [Mention(o, words[a].start, words[b].end) for a, b, o in _named(words, text, scale)]
    if is_numeric(scale):
        found = _with_numbers(found, text, scale, cut_short)
    if cut_short:
        begun = cut_option(words, text, scale)
        if begun and (not found or begun.start >= found[-1].end):
            found.append(begun)
    return found
