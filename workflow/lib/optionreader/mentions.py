"""Where a text names options of a scale, and how: in a list, cut short, ruled out, said to be the answer."""

import bisect
import re
from dataclasses import dataclass

from optionreader.cues import (
    CALLED_AFTER,
    I_GUESS,
    PREDICATE,
    cue_before,
    cue_of_number,
    is_running_text,
    is_stated_verb,
    only_numbering,
)
from optionreader.languages import OwnWords, own_words
from optionreader.named import LIST_WORDS, find_options
from optionreader.patterns import WORD, any_of, lazy
from optionreader.ruled_out import NEITHER, is_ruled_out
from optionreader.scale import Scale
from optionreader.scale_words import (
    USUAL,
    denying_words,
    heads_and_tails,
    option_words,
    per_scale,
    plain_options,
)
from optionreader.words import Mention, Token

#: How far around an option its context is read, in characters.
WINDOW = 240
_SENTENCE_END = lazy(r"[.!?;](?=[\s\"')\]*]|$)|\n")


@per_scale
def _made_up(scale: Scale) -> re.Pattern[str]:
    """Return a pattern of an item of a list that models make up: "quite acceptable", also the first word of one."""
    # The rules began with these two scales, and read both with the words of one.
    words = {"acceptable", "unacceptable"} if scale.name in USUAL else heads_and_tails(scale)[1]
    tails = any_of(*map(re.escape, sorted(words))) if words else "(?!)"
    return re.compile(
        rf"(?<=[,;/|\[\n])\s*(?:(?:not|very|quite|rather|fairly|\w+ly) ){{1,3}}{tails}(?=\s*[,;/|\]\n])"
        r"|(?<=[\n\[,])[\W\d]*(?:very|quite|rather|fairly|perhaps|maybe|(?!merely|simply|only|really)\w+ly)\s*$"
    )


def find_mentions(words: list[Token], text: str, scale: Scale, cut_short: bool) -> list[Mention]:
    """Return every option that ``text`` names, in order, with how it names it."""
    if not (cut_short or scale.is_numeric or scale.letters or any(w.scale_word for w in words)):
        return []
    mentions = find_options(words, text, scale, cut_short)
    if not mentions:
        return []
    passage = _Passage(
        text,
        plain=_without_denials(text, mentions, scale) if denying_words(scale) else text,
        scale=scale,
        own=own_words(scale),
        ends=[m.end() for m in _SENTENCE_END.finditer(text)],
        only=len({m.option for m in mentions}) == 1,
    )
    return [
        passage.in_context(m, mentions[i - 1].end if i else 0)
        for i, m in enumerate(_mark_lists(mentions, text, scale))
    ]


def _without_denials(text: str, mentions: list[Mention], scale: Scale) -> str:
    """Return ``text`` with signs for the options whose own words deny: "not at all okay" denies nothing else."""
    for m in mentions:
        words = WORD.findall(text[m.start : m.end])
        if len(words) > 1 and not denying_words(scale).isdisjoint(words):
            text = text[: m.start] + "x" * (m.end - m.start) + text[m.end :]
    return text


def _mark_lists(mentions: list[Mention], text: str, scale: Scale) -> list[Mention]:
    """Mark the options that stand in a row with other options, and nothing but list marks between them."""
    runs: list[list[int]] = []
    seen: set[int] = set()
    kind = ""
    for i, mention in enumerate(mentions):
        gap = text[mentions[i - 1].end : mention.start] if i else "x x"
        if re.fullmatch(r"[\W_]*-[\W_]*", gap) and PREDICATE.match(text[mention.end : mention.end + 40]):
            gap = "x x"  # "neutral - somewhat acceptable overlooks the guests"
        now = (
            "paragraph" if gap.count("\n") > 1 else "line" if "\n" in gap else "]" if "]" in gap else "inline"
        )
        # Where the whole scale was echoed, what comes after it in another form is said after it.
        echoed = kind and now != kind and now != "inline" and len(seen) == len(scale.options)
        if not _is_list_gap(gap, scale) or echoed:
            runs.append([i])
            seen, kind = {mention.option}, ""
        else:
            runs[-1].append(i)
            seen.add(mention.option)
            kind = now
    marked = list(mentions)
    for run in runs:
        if len({mentions[i].option for i in run}) == 1:
            continue
        before = text[max(0, mentions[run[0]].start - WINDOW) : mentions[run[0]].start]
        if not NEITHER.search(before):
            for i in run:
                marked[i] = mentions[i]._replace(listed=True)
        elif not re.search("[;:]", text[mentions[run[0]].end : mentions[run[-1]].start]):
            # "Neither X nor Y": none of them; "between X and Y": none of them so far. But "not X; Y is my choice".
            for i in run:
                marked[i] = mentions[i]._replace(
                    elsewhere="aside", ruled_out=re.search(r"\bbetween\W*(?:\w+ )?$", before) is None
                )
    return marked


def _is_list_gap(gap: str, scale: Scale) -> bool:
    """Whether only list marks stand between two options: punctuation, numbering, "and", "or", options off the scale."""
    if len(gap) > 40 or re.search(r"[.!?]\s", re.sub(r"\b(?:\w|\d+)\.", "", gap)):
        return False
    marks = _made_up(scale).sub(" ", gap)
    joins = LIST_WORDS | own_words(scale).joins
    return all(
        w.group() in joins or only_numbering(w.group(), len(scale.options)) for w in WORD.finditer(marks)
    )


#: What links a sentence to the one before, and says nothing by itself.
_LINKS = lazy(r"\b(?:or|and|but|maybe|perhaps|possibly|also|even|then|well|no|hm+)\b")


@dataclass(frozen=True)
class _Passage:
    """A text that names options, and what the context of each is read with."""

    text: str
    plain: str  # the text without the denials that options are made of
    scale: Scale
    own: OwnWords  # of the scale's file
    ends: list[int]  # where its sentences end
    only: bool  # whether it names one option only

    def bounds(self, sentence: int) -> tuple[int, int]:
        """Return where a sentence begins and ends."""
        begin = self.ends[sentence - 1] if sentence else 0
        return begin, self.ends[sentence] if sentence < len(self.ends) else len(self.text)

    def in_context(self, m: Mention, previous: int) -> Mention:
        """Return ``m`` with what its context says of it; ``previous`` is where the mention before it ends."""
        text, k = self.text, len(self.scale.options)
        sentence = bisect.bisect_right(self.ends, m.start)
        if m.listed or m.elsewhere:  # never an answer, whatever is said of it
            return m._replace(sentence=sentence)
        begin, stop = self.bounds(sentence)
        floor = max(m.start - WINDOW, previous)
        first_in_sentence = floor <= begin
        before, after = text[floor : m.start], text[m.end : m.end + 80]
        right_free = only_numbering(text[m.end : min(stop, m.end + 60)], k)
        named = m.option >= 0
        one_word = m.one_word or (named and not m.cut and len(option_words(self.scale)[m.option]) == 1)
        everyday = one_word and not m.one_word and m.option in plain_options(self.scale)
        cue = self._cue(m, before, after, right_free, everyday)
        wide = self.plain[max(0, m.start - WINDOW) : m.start]
        near = text[max(begin, m.start - WINDOW) : m.start]
        disapproves = self.only and named and self.scale.sides[m.option] < 0
        asked = text[stop - 1 : stop] == "?" and I_GUESS.match(after) is None
        return m._replace(
            ruled_out=m.ruled_out
            or is_ruled_out(wide, after, self.scale, disapproves)
            or self.own.denies(wide, after),
            elsewhere="aside" if self.own.sets_aside(near) else "question" if asked else "",
            counts=not one_word or not is_running_text(wide, text[m.end : m.end + 60], cue, everyday),
            standing=first_in_sentence
            and only_numbering(text[begin : m.start].rpartition(":")[2], k)
            and right_free,
            cue=cue,
            sentence=sentence,
            opens=first_in_sentence and only_numbering(_LINKS.sub(" ", text[begin : m.start]), k),
            topic=cue in ("", "weak") and PREDICATE.match(after) is not None,
        )

    def _cue(self, m: Mention, before: str, after: str, right_free: bool, everyday: bool) -> str:
        """Return how firmly the words around an option call it the answer."""
        if self.own.leads.search(before):
            return "strong"
        cue = (cue_of_number if m.one_word else cue_before)(before, right_free, len(self.scale.options))
        of_degree = m.option >= 0 and not m.cut and len(option_words(self.scale)[m.option]) > 1
        stated = (everyday or of_degree) and cue in ("", "weak") and is_stated_verb(before, after, everyday)
        return "strong" if stated or (cue != "final" and CALLED_AFTER.match(after)) else cue
