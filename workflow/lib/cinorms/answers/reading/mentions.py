"""Where a text names options of a scale, and how: in a list, cut short, ruled out, said to be the answer."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from cinorms.answers.reading import languages
from cinorms.answers.reading.corrections import changed, reconsiders, replaces
from cinorms.answers.reading.cues import (
    cue_after,
    cue_before,
    is_running_text,
    is_topic,
    only_numbering,
    without_tag,
)
from cinorms.answers.reading.forms import column_of
from cinorms.answers.reading.frames import frame
from cinorms.answers.reading.ruled_out import is_affirmed, is_open_between, is_ruled_out, rules_out_all
from cinorms.answers.reading.voice import where_said
from cinorms.answers.reading.words import UNCLEAR, WORD, Token, heads_and_tails, option_words
from cinorms.core.scales import Scale

#: How far around an option its context is read, in characters.
WINDOW = 240
#: What may stand between the words of one option: "**somewhat** acceptable", "somewhat-acceptable".
_WITHIN = re.compile(r"(?!\s*\n\s*\n)[\s\-_*'\"~\\]{0,6}")
#: Words that make another option of the one they stand before: "very strongly acceptable" is not on the scale.
_INTENSIFIERS = frozenset(
    [
        "very",
        "extremely",
        "quite",
        "rather",
        "highly",
        "too",
        "most",
        "more",
        "less",
        "fairly",
        "pretty",
        "incredibly",
    ]
)
#: Words that keep a list of options a list.
_LIST_WORDS = frozenset({"and", "or", "to", "nor", "through", "vs", "versus"})
#: An item of a list that models make up: "quite acceptable", "not entirely unacceptable", also the first word of one.
_OFF_SCALE = re.compile(
    r"(?<=[,;/|\[\n])\s*(?:(?:not|very|quite|rather|fairly|\w+ly) ){1,3}(?:un)?acceptable(?=\s*[,;/|\]\n])"
    r"|(?<=[\n\[,])[\W\d]*(?:very|quite|rather|fairly|perhaps|maybe|(?!merely|simply|only|really)\w+ly)\s*$"
)
_SENTENCE_END = re.compile(r"[.!?;](?=[\s\"')\]*]|$)|\n")


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


@lru_cache(maxsize=16)
def decorated(scale: Scale) -> re.Pattern[str]:
    """Return a pattern of one option and nothing but signs; its group number is the option's, from 1."""
    gap = _WITHIN.pattern.replace("{0,6}", "{1,6}")
    options = "|".join(f"({gap.join(map(re.escape, words))})" for words in option_words(scale))
    return re.compile(rf"[\W_]*+(?:{options})[\W_]*+")


def _named(words: list[Token], text: str, scale: Scale) -> Iterator[tuple[int, int, int | None]]:
    """Yield (first token, last token, option) for each option named in full."""
    options: dict[tuple[str | None, ...], int] = {o: i for i, o in enumerate(option_words(scale))}
    heads, _ = heads_and_tails(scale)
    longest = max(map(len, options))
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
            if not all(_WITHIN.fullmatch(text[a.end : b.start]) for a, b in pairwise(part)):
                continue
            shared = unclear or _shares_a_word(words, i, i + n - 1, text, scale)
            shared = shared or (n > 1 and _intensified(words, i, text))
            if n > 1 or not _modified(words, i, text, scale):
                yield i, i + n - 1, None if shared else options[name]
            done = i + n
            break


def _modified(words: list[Token], i: int, text: str, scale: Scale) -> bool:
    """Whether a one-word option follows an adverb: "somewhat neutral" is not on the scale."""
    if i == 0 or not re.fullmatch(r"[\s\-]+", text[words[i - 1].end : words[i].start]):
        return False
    return words[i - 1].scale_word in heads_and_tails(scale)[0]


def _intensified(words: list[Token], i: int, text: str) -> bool:
    """Whether the option at word ``i`` follows an intensifier."""
    if i == 0 or words[i - 1].text not in _INTENSIFIERS:
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
        if 0 <= at < len(words) and words[at].text in _LIST_WORDS:
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
        fits = [i for i, o in enumerate(scale.options) if o.startswith(name) and o != name]
        if not fits or (n == 1 and len(name) < 3):
            continue
        need = 3 if n == 2 else 4
        sure = len(fits) == 1 and len(part[-1].text) >= need
        return Mention(fits[0] if sure else None, part[0].start, part[-1].end, cut=True)
    return None


def find_mentions(words: list[Token], text: str, scale: Scale, cut_short: bool) -> list[Mention]:
    """Return every option that ``text`` names, in order, with how it names it."""
    if not cut_short and not any(w.scale_word for w in words):
        return []
    found = [Mention(o, words[a].start, words[b].end) for a, b, o in _named(words, text, scale)]
    if cut_short:
        begun = cut_option(words, text, scale)
        if begun and (not found or begun.start >= found[-1].end):
            found.append(begun)
    if not found:
        return []
    ends = [m.end() for m in _SENTENCE_END.finditer(text)]
    only = len({m.option for m in found}) == 1
    foreign = languages.is_foreign(text, (w.text for w in words))
    in_context = [
        _in_context(m, found[i - 1].end if i else 0, text, ends, scale, only, foreign)
        for i, m in enumerate(_mark_lists(found, text, scale))
    ]
    return _voiced(in_context, text, ends, foreign)


def _voiced(found: list[Mention], text: str, ends: list[int], foreign: bool) -> list[Mention]:
    """Mark the options that are said by others, of another case, or taken back; the last first.

    What stands in a row with one that others say, or that is said of another case, is no answer either.
    """
    marked: list[Mention] = []
    aside: set[str] = set()
    later: Mention | None = None  # the next option that nothing sets aside
    for mention in reversed(found):
        if mention.candidate:
            begin = ends[mention.sentence - 1] if mention.sentence else 0
            stop = ends[mention.sentence] if mention.sentence < len(ends) else len(text)
            if mention.opens and text[begin - 1 : begin] == "?":  # the question that it answers
                begin = ends[mention.sentence - 2] if mention.sentence > 1 else 0
            before = text[max(begin, mention.start - WINDOW) : mention.start]
            until = later.start if later else len(text)
            rest, following = text[mention.end : min(stop, until)], text[mention.end : until]
            voice = where_said(before, rest[:WINDOW], following[: 2 * WINDOW])
            if foreign and not voice and languages.said_of_something_else(before):
                voice = "case"
            replaced = later is not None and (
                replaces(following[-WINDOW:])
                or ((later.standing or later.cue == "strong") and reconsiders(following[: 2 * WINDOW]))
            )
            mention = mention._replace(elsewhere=voice or ("back" if replaced else ""))
            later = later if mention.elsewhere else mention
            aside |= {mention.frame} if mention.elsewhere in ("others", "case") else set()
        marked.append(mention)
    return [
        m._replace(elsewhere="others") if m.candidate and m.frame and m.frame in aside else m
        for m in marked[::-1]
    ]


#: The last cell of a row of a table.
_CELL_BEFORE, _CELL_AFTER = re.compile(r"\|[^\w|\n]*$"), re.compile(r"[^\w|\n]*(?:\||$|\n)")


def _is_cell(text: str, m: Mention) -> bool:
    """Whether an option is a cell of a table, after one that says what it is about."""
    row = text[: m.start].rpartition("\n")[2]
    labelled = _CELL_BEFORE.search(row) is not None and re.search(r"\w", row) is not None
    return labelled and _CELL_AFTER.match(text[m.end :]) is not None


def _mark_lists(found: list[Mention], text: str, scale: Scale) -> list[Mention]:
    """Mark the options that stand in a row with other options, and nothing but list marks between them."""
    runs: list[list[int]] = []
    seen: set[int | None] = set()
    kind = ""
    for i, mention in enumerate(found):
        gap = text[found[i - 1].end : mention.start] if i else "x x"
        if re.fullmatch(r"[\W_]*-[\W_]*", gap) and is_topic(text[mention.end : mention.end + 40]):
            gap = "x x"  # "neutral - somewhat acceptable overlooks the guests"
        now = (
            "paragraph" if gap.count("\n") > 1 else "line" if "\n" in gap else "]" if "]" in gap else "inline"
        )
        # Where the whole scale was echoed, what comes after it in another form is said after it.
        echoed = kind and now != kind and now != "inline" and len(seen) == len(scale.options)
        if not _is_list_gap(gap) or echoed:
            runs.append([i])
            seen, kind = {mention.option}, ""
        else:
            runs[-1].append(i)
            seen.add(mention.option)
            kind = now
    marked = list(found)
    for run in runs:
        if len({found[i].option for i in run}) == 1:
            continue
        before = text[max(0, found[run[0]].start - WINDOW) : found[run[0]].start]
        if len(run) == 2 and changed(before, text[found[run[0]].end : found[run[1]].start]):
            marked[run[0]] = found[run[0]]._replace(elsewhere="back")
            marked[run[1]] = found[run[1]]._replace(cue="strong")
            continue
        if not rules_out_all(before):
            for i in run:
                marked[i] = found[i]._replace(listed=True)
        elif not re.search("[;:]", text[found[run[0]].end : found[run[-1]].start]):
            # "Neither X nor Y": none of them; "between X and Y": none of them so far. But "not X; Y is my choice".
            for i in run:
                marked[i] = found[i]._replace(elsewhere="case", ruled_out=not is_open_between(before))
    return marked


def _is_list_gap(gap: str) -> bool:
    """Whether only list marks stand between two options: punctuation, numbering, "and", "or", options off the scale."""
    if len(gap) > 40 or re.search(r"[.!?]\s", re.sub(r"\b(?:\w|\d+)\.", "", gap)):
        return False
    marks = _OFF_SCALE.sub(" ", gap)
    return all(w.group() in _LIST_WORDS or only_numbering(w.group()) for w in WORD.finditer(marks))


#: What links a sentence to the one before, and says nothing by itself.
_LINKS = re.compile(r"\b(?:or|and|but|maybe|perhaps|possibly|also|even|then|well|no|hm+)\b")


def _in_context(
    m: Mention, previous: int, text: str, ends: list[int], scale: Scale, only: bool, foreign: bool
) -> Mention:
    """Return ``m`` with what its context says of it.

    ``previous`` is where the mention before it ends; ``only`` says that no other option is named, ``foreign`` that the
    text may be in another language.
    """
    sentence = bisect.bisect_right(ends, m.start)
    if m.listed or (m.elsewhere and not m.cue):  # never an answer, whatever is said of it
        return m._replace(sentence=sentence)
    begin = ends[sentence - 1] if sentence else 0
    stop = ends[sentence] if sentence < len(ends) else len(text)
    floor = max(m.start - WINDOW, previous)
    first_in_sentence = floor <= begin
    before, after = text[floor : m.start], text[m.end : m.end + 80]
    right_free = only_numbering(without_tag(text[m.end : min(stop, m.end + 60)]))
    cue = cue_before(before, right_free)
    cue = m.cue or (cue if cue in ("final", "strong") else cue_after(after) or cue)
    if foreign and languages.calls_answer(before, after):
        cue = "strong"
    disapproves = only and m.option is not None and 2 * m.option < len(scale.options) - 1
    one_word = m.option is not None and not m.cut and len(option_words(scale)[m.option]) == 1
    wide = text[max(0, m.start - WINDOW) : m.start]
    column = column_of(text, m.start)
    affirmed = is_affirmed(after)
    if affirmed:
        after = ""
        cue = "strong"
    return m._replace(
        ruled_out=is_ruled_out(wide, after, scale, disapproves)
        or (foreign and languages.denied(wide, after)),
        elsewhere=m.elsewhere
        or ("others" if column == "others" else "")
        or ("question" if text[stop - 1 : stop] == "?" and not affirmed else ""),
        counts=not one_word
        or (foreign and languages.called_after(after))
        or not is_running_text(wide, text[m.end : m.end + 60], cue),
        standing=column == "answer"
        or _is_cell(text, m)
        or (first_in_sentence and only_numbering(text[begin : m.start].rpartition(":")[2]) and right_free),
        cue=cue,
        sentence=sentence,
        frame=frame(text[max(begin, previous) : m.start]),
        opens=first_in_sentence and only_numbering(_LINKS.sub(" ", text[begin : m.start])),
        topic=not cue and is_topic(after),
    )
