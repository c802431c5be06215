"""A reply with the scale that it answers on, and the views of it that the rules share."""

import re
from dataclasses import dataclass
from functools import cached_property

from optionreader.classifier import Classified, classify
from optionreader.cleaning import (
    after_thinking,
    normalise,
    own_turn,
    shortened,
    without_prompt,
    without_stray_ends,
    without_struck,
)
from optionreader.mentions import find_mentions
from optionreader.numbers import without_scale
from optionreader.patterns import any_of, lazy, word_set
from optionreader.scale import Scale
from optionreader.scale_words import option_words, per_scale
from optionreader.words import OFF, OPEN, Mention, Token, mark_unclear, tokens

#: What a rule decides: a level, or a status that says why there is none.
Verdict = int | str

#: Words that introduce an answer and cannot change it.
_INTRODUCTION = word_set(
    "answer answers response rating rate rated option output result verdict conclusion choice selected",
    "selection final my the is it this that scenario situation flow statement as be would will i choose",
    "select pick say therefore thus so hence sure certainly okay ok here here's acceptability agreement",
    "likert scale level of assistant model best correct appropriate am find think consider",
    "considered it's i'd i'm based on value label text boxed response's and with according me an a yes",
    "s d m ll",
)
#: Numbers and letters of a list, and of a longer one.
_NUMBER, _LONG_NUMBER = (lazy(rf"\d{{1,3}}|[a-{last}]|i{{1,3}}|iv|v") for last in "hk")


def plain(text: str) -> str:
    """Return the letters and digits of ``text`` as words with one space between."""
    return re.sub(r"[\W_]+", " ", text).strip()


def introduces(words: list[str], n_options: int) -> bool:
    """Whether ``words`` only introduce an answer: "Answer:", "I would rate this as", "4."."""
    number = _NUMBER if n_options <= 8 else _LONG_NUMBER
    return all(w in _INTRODUCTION or number.fullmatch(w) for w in words)


def are_list_numbers(words: list[str], n_options: int) -> bool:
    """Whether ``words`` are list numbers."""
    return all(map((_NUMBER if n_options <= 8 else _LONG_NUMBER).fullmatch, words))


#: The first line of another question.
_NEXT = lazy(
    r"\n[^\w\n]*"
    + any_of(
        r"(?:(?:next|another|follow-?up|second) )?(?:question|q)\b[^\n:]{0,8}[:.\n]",
        r"(?:scenario|vignette|situation|item|flow|example|case) \d+\b",
        r"(?:interviewer|researcher|moderator|experimenter)\W{0,3}:",
        r"[^\n]*\bhow (?:un)?acceptable\b[^\n]*\?",
        r"\d{1,2}[.)] [^\n]+\n[^\w\n]*(?:answer|response|rating|a)\W{0,3}:",
    )
)
_WORDS_BEFORE = (
    r"(?:(?:my|the|your|final|answer|rating|response|verdict|a|is|it|i|i'd|would|say|choose|\d)[\W_]+)"
)


@per_scale
def _opens_with_answer(scale: Scale) -> re.Pattern[str]:
    """Return a pattern for the beginning of a text that answers at once."""
    named = [r"[\W_]+".join(map(re.escape, words)) for words in option_words(scale) if words]
    options = any_of(*named, *([r"-?\d+"] if scale.is_numeric else []))
    return re.compile(
        rf"[\W_]*(?:{_WORDS_BEFORE}{{0,5}}{options}\b(?![\"'*_)\]]*,? ?(?:i|was|is|were|would|might|could)\b)"
        rf"|(?:answer|response|rating|a)\W{{0,3}}:)"
    )


def first_answer(text: str, scale: Scale) -> str:
    """Return ``text`` up to the next question, where it answers at once and then goes on to ask others."""
    if "\n" not in text or _opens_with_answer(scale).match(text) is None:
        return text
    following = _NEXT.search(text)
    return text[: following.start()] if following else text


@dataclass(frozen=True)
class Reply:
    """A reply with its scale; what the rules need of it is computed once, when first needed."""

    raw: str
    scale: Scale
    finish_reason: str = "stop"
    prompt: frozenset[str] = frozenset()
    #: Whether the reasoning before the answer is kept elsewhere: then a mark that ends one says nothing.
    reasoning_apart: bool = False

    @property
    def cut(self) -> bool:
        """Whether the length limit ended the text."""
        return self.finish_reason == "length"

    @cached_property
    def _thought(self) -> tuple[str, bool]:
        text = normalise(self.raw)
        return after_thinking(without_stray_ends(text) if self.reasoning_apart else text)

    @property
    def still_thinking(self) -> bool:
        """Whether the text ends inside its thinking."""
        return self._thought[1]

    @cached_property
    def turn(self) -> str:
        """The model's own turn: lower case, plain characters, no thinking, no chat-template debris."""
        return shortened(own_turn(self._thought[0]))

    @cached_property
    def body(self) -> str:
        """The part that counts: what was said without the words of the prompt."""
        own = first_answer(without_prompt(self.turn, self.prompt), self.scale)
        return mark_unclear(without_scale(without_struck(own), self.scale), self.scale)

    @cached_property
    def words(self) -> list[Token]:
        """The words of the body."""
        return tokens(self.body, self.scale)

    @cached_property
    def mentions(self) -> list[Mention]:
        """Every option that the body names, in order."""
        return find_mentions(self.words, self.body, self.scale, self.cut)

    @cached_property
    def candidates(self) -> list[Mention]:
        """The mentions that can be the answer."""
        return [m for m in self.mentions if m.candidate]

    @cached_property
    def classified(self) -> Classified:
        """What the classifier makes of the text; a mere list of options needs none."""
        return classify(self.body, [] if all(m.listed for m in self.mentions) else self.mentions)

    @cached_property
    def rest(self) -> list[str]:
        """The words that belong to no mention."""
        starts = {m.start: m.end for m in self.mentions}
        outside, end = [], 0
        for word in self.words:
            end = starts.get(word.start, end)
            if word.start >= end:
                outside.append(word.text)
        return outside

    def verdict(self, option: int) -> Verdict:
        """Return that ``option`` was chosen; an unclear one is ambiguous, a number off the scale nonsense."""
        if option == OPEN:
            return "ambiguous"
        return "nonsense" if option == OFF else self.scale.levels[option]
