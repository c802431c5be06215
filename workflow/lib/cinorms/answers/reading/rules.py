"""The rules that read one text, in their order; the first that decides wins.

Each takes an ``AskedText`` and returns a level, or a status that says why there is none, or None to leave it to the
next rule. The name of the function is the name of the rule in the answers table. First come whole answers, then
answers inside a text, then texts that decline or ask, then what is unclear, and last what holds no answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from cinorms.answers.reading.asked_text import AskedText, Verdict, introduces, numbers, plain
from cinorms.answers.reading.cases import named_cases
from cinorms.answers.reading.languages import own_words
from cinorms.answers.reading.marked import marked_options
from cinorms.answers.reading.named import ADVERBS, FUNCTION_WORDS, decorated
from cinorms.answers.reading.normalise import normalise
from cinorms.answers.reading.numbers import lone_number
from cinorms.answers.reading.patterns import WORD, lazy
from cinorms.answers.reading.refusals import (
    ASKS_BACK,
    DECLINES,
    MACHINE,
    NEEDS_CONTEXT,
    PROMPT_SPEECH,
    SORRY,
    edges,
)
from cinorms.answers.reading.ruled_out import DENIAL_MARK
from cinorms.answers.reading.scale_words import (
    heads_and_tails,
    option_texts,
    option_words,
    per_scale,
    vocabulary,
)
from cinorms.answers.reading.words import OPEN, Mention, Token
from cinorms.core.scales import PAPERS, Scale, papers_scale

# --- whole answers ----------------------------------------------------------------------------------------


def engine_error(asked: AskedText) -> Verdict | None:
    """Call it an error where the engine reported one, the provider's filter too: it is no answer of the model."""
    return "error" if asked.finish_reason == "error" else None


_WHOLE_NUMBER = lazy(r"-?\d{1,4}")


def exact(asked: AskedText) -> Verdict | None:
    """Take a text that is an option, case and outer white space aside."""
    text, texts = asked.raw.strip().lower(), option_texts(asked.scale)
    if text in texts and asked.scale.line is None:
        return asked.verdict(texts.index(text))
    number = lone_number(text, asked.scale) if _WHOLE_NUMBER.fullmatch(text) and not asked.cut else None
    return None if number is None else asked.verdict(number)


def unfinished_thinking(asked: AskedText) -> Verdict | None:
    """Call it truncated where a reasoning model was still thinking: an option it weighed is no answer."""
    return "truncated" if asked.still_thinking else None


def empty(asked: AskedText) -> Verdict | None:
    """Call it empty where nothing is left: white space, chat-template marks, thinking without an answer."""
    if asked.turn:
        return None
    return "truncated" if asked.cut else "empty"


def no_words(asked: AskedText) -> Verdict | None:
    """Call it nonsense where no word is left: signs only, or nothing but the prompt's own wording."""
    if re.search(r"[^\W_]", asked.body):
        return None
    return "truncated" if asked.cut else "nonsense"


_GOES_ON = lazy(r"[\s,;/|\-*)]*(?:\b(?:if|or|and|to|but|only|unless|when|so|not|nor|\w|\d+)\b)?[\W_]*")
_LIST_START = lazy(r"[\W_]*(?:1|a|i)[\s.):\]\-]")


def begun_list(asked: AskedText) -> Verdict | None:
    """Call it truncated where the length limit fell right after an option that was going on: ", or", "2."."""
    if not asked.cut or not asked.mentions:
        return None
    last = asked.mentions[-1]
    if last.cut:
        return "truncated" if last.listed else None
    tail = asked.body[last.end :]
    listed = len(asked.mentions) == 1 and _LIST_START.match(asked.body)
    item = re.search(r"(?:^|\n)[\W_]*$", asked.body[: last.start]) is not None and re.match(r"[\W_]*:", tail)
    if item and len(tail.split()) <= 3 and asked.body[: last.start].strip():
        return "truncated"  # the first of a list that explains or rates each option
    goes_on = re.search(r"[,;/|\-\w]|\n\W", tail) is not None and _GOES_ON.fullmatch(tail) is not None
    return "truncated" if goes_on or (listed and not plain(tail)) else None


def punctuation(asked: AskedText) -> Verdict | None:
    """Take an option with quotes, brackets, markdown and punctuation round it."""
    match = decorated(asked.scale).fullmatch(asked.body)
    if "?" in asked.body or DENIAL_MARK.search(asked.body):
        return None
    if match is None:
        number = None if asked.cut else lone_number(asked.body, asked.scale)
        return None if number is None else asked.verdict(number)
    return asked.verdict((match.lastindex or 0) - 1)


def label(asked: AskedText) -> Verdict | None:
    """Take one option after words that only introduce it ("Answer:", "4.", "I would rate this as")."""
    mention = _sole_mention(asked)
    if mention is None or not _is_spelt(mention, asked):
        return None
    return asked.verdict(mention.option)


def _is_spelt(mention: Mention, asked: AskedText) -> bool:
    """Whether an option is written as the scale has it."""
    if mention.one_word or mention.option == OPEN:
        return mention.one_word
    return plain(asked.body[mention.start : mention.end]) == " ".join(
        option_words(asked.scale)[mention.option]
    )


def misspelt(asked: AskedText) -> Verdict | None:
    """Take one option that is split, or within a slip of the pen that cannot reach another option."""
    mention = _sole_mention(asked)
    return None if mention is None else asked.verdict(mention.option)


def _sole_mention(asked: AskedText) -> Mention | None:
    """Return the only mention of a text that holds nothing else but an introduction and list numbers."""
    if len(asked.mentions) != 1 or len(asked.candidates) != 1 or len(asked.words) > 16:
        return None
    mention, k = asked.mentions[0], len(asked.scale.options)
    if (
        mention.cut
        or not introduces(asked.rest, k)
        or not numbers(plain(asked.body[mention.end :]).split(), k)
    ):
        return None
    return mention


# --- answers inside a text --------------------------------------------------------------------------------


def ticked(asked: AskedText) -> Verdict | None:
    """Take the only option that is ticked or marked in words: "[x] neutral", "neutral: yes", "neutral <- my choice"."""
    chosen = marked_options(asked)
    if len(chosen) != 1:
        return "ambiguous" if chosen else None
    stated = {m.option for m in asked.candidates if m.cue in ("final", "strong")}
    (option,) = chosen
    return asked.verdict(option) if stated <= chosen else "ambiguous"


def conditional(asked: AskedText) -> Verdict | None:
    """Call it conditional where the second reader finds different verdicts on two or more cases."""
    return "conditional" if asked.second.cases else None


def leading_answer(asked: AskedText) -> Verdict | None:
    """Take the option that the text begins with, where the explanation gives no other option as an answer."""
    if not asked.candidates:
        return None
    first = asked.candidates[0]
    before = plain(asked.body[: first.start]).split()
    in_list = any(m.listed and m.sentence == first.sentence for m in asked.mentions)
    if len(before) > 8 or not introduces(before, len(asked.scale.options)) or first.cut or in_list:
        return None
    return None if _contradicted(asked, first, asked.candidates) else _agreed(asked, first)


def stated_answer(asked: AskedText) -> Verdict | None:
    """Take the option called the answer ("the answer is X", "I would rate this as X") or standing alone."""
    final = [m for m in asked.candidates if m.cue == "final"]
    stated = final or [m for m in asked.candidates if m.firm]
    if len({m.option for m in stated}) != 1 or any(m.cut for m in stated):
        return None
    earlier = [m for m in asked.candidates if m.start < stated[0].start and not m.opens]
    rivals = [m for m in asked.candidates if m not in earlier or m.sentence == stated[0].sentence]
    return None if _contradicted(asked, stated[0], rivals) else _agreed(asked, stated[0])


def _agreed(asked: AskedText, answer: Mention) -> Verdict | None:
    """Return the option of ``answer`` where the second reader takes it for the verdict too.

    A scale in another language brings words that the second reader has not learnt: what they call the answer is one.
    """
    agreed = asked.second.option == answer.option or (asked.scale.words and answer.cue == "strong")
    return asked.verdict(answer.option) if agreed else None


def second_reader(asked: AskedText) -> Verdict | None:
    """Take an option that the second reader is sure of, where the rules admit it and call no other more firmly so."""
    option, sure, _ = asked.second
    if option is None or not sure:
        return None
    named = [m for m in asked.mentions if m.option == option and (m.counts or not m.one_word)]
    admitted = [m for m in named if not (m.cut or m.set_aside or m.topic)]
    outdone = any(m.firm for m in asked.mentions) and not any(m.firm for m in admitted)
    finals = {m.option for m in asked.candidates if m.cue == "final"}
    return asked.verdict(option) if admitted and not outdone and len(finals) < 2 else None


def _contradicted(asked: AskedText, answer: Mention, rivals: list[Mention]) -> bool:
    """Whether the answer is denied elsewhere, taken back, or not the only one given."""
    others = [m for m in rivals if m.option != answer.option]
    denied = any(
        m.ruled_out and m.option == answer.option and m.elsewhere != "question" for m in asked.mentions
    )
    return denied or any(_rivals(m, answer) for m in others)


def _rivals(other: Mention, answer: Mention) -> bool:
    """Whether ``other`` is an answer too; "it would be X" before "but I choose Y" speaks of another case."""
    firm = answer.cue in ("final", "strong")
    if other.cue == "maybe" and other.start < answer.start and firm:
        return False
    if other.sentence == answer.sentence or other.opens or other.standing or other.option == OPEN:
        return True
    # Reasons that only name an option ("the step to X would be small") say nothing against a plain answer.
    plainly = firm or answer.standing or answer.opens
    return other.cue not in (("", "maybe") if plainly else ("maybe",))


# --- texts that decline or ask ----------------------------------------------------------------------------


def _answers(asked: AskedText) -> bool:
    """Whether both readers find an answer: what was said before it is no refusal then."""
    return any(m.option == asked.second.option and (m.cue or m.standing) for m in asked.candidates)


def declines(asked: AskedText) -> Verdict | None:
    """Call it a refusal where one is stated: no opinions, cannot help, declines."""
    says = DECLINES.search(edges(asked.body)) or own_words(asked.scale).refusals.search(asked.body)
    return "refusal" if says and not _answers(asked) else None


def asks_for_context(asked: AskedText) -> Verdict | None:
    """Call it a need of context where it depends, information is missing, or a question comes back."""
    text = edges(asked.body)
    asks = (
        NEEDS_CONTEXT.search(PROMPT_SPEECH.sub(" ", text))
        or (not asked.mentions and ASKS_BACK.match(text))
        or own_words(asked.scale).hedges.search(asked.body)
    )
    return "needs_context" if asks and not _answers(asked) else None


def disclaims(asked: AskedText) -> Verdict | None:
    """Call it a refusal where a machine speaks, is sorry, or cannot, and no other reason is given."""
    said = any(m.cue or m.standing for m in asked.candidates)
    text = edges(asked.body)
    speaks = MACHINE.search(text) or (not said and SORRY.search(text))
    return "refusal" if speaks and not _answers(asked) else None


# --- unclear ----------------------------------------------------------------------------------------------


def begun_option(asked: AskedText) -> Verdict | None:
    """Call it truncated where the length limit fell inside an option and left open which."""
    return "truncated" if any(m.cut and m.option == OPEN for m in asked.mentions) else None


def whole_scale(asked: AskedText) -> Verdict | None:
    """Call it ambiguous where the options are listed and none is chosen."""
    listed = {m.option for m in asked.mentions if m.listed}
    return "ambiguous" if len(listed) >= len(asked.scale.options) and not asked.candidates else None


def several_options(asked: AskedText) -> Verdict | None:
    """Call it ambiguous where two or more options are given, or one is given and denied."""
    chosen = {m.option for m in asked.candidates}
    denied = {m.option for m in asked.mentions if m.ruled_out and m.counts and m.elsewhere != "question"}
    listed = {m.option for m in asked.mentions if m.listed}
    part_of_scale = 0 < len(listed) < len(asked.scale.options) or OPEN in listed
    return "ambiguous" if len(chosen) > 1 or part_of_scale or chosen & denied else None


def negated(asked: AskedText) -> Verdict | None:
    """Call it ambiguous where options are named only to rule them out, to compare, to ask or as examples."""
    return "ambiguous" if not asked.candidates and any(m.counts for m in asked.mentions) else None


def unclear_spelling(asked: AskedText) -> Verdict | None:
    """Call it ambiguous where a spelling is as near to the opposite option, or two options share a word."""
    return "ambiguous" if any(m.option == OPEN for m in asked.candidates) else None


def truncated_prefix(asked: AskedText) -> Verdict | None:
    """Take an option cut by the length limit where it can be no other: "somewhat unacc"."""
    if len(asked.candidates) != 1 or not asked.candidates[0].cut:
        return None
    mention = asked.candidates[0]
    said = not plain(asked.body[: mention.start]) or mention.cue
    return asked.verdict(mention.option) if said else "truncated"


def unstated(asked: AskedText) -> Verdict | None:
    """Call it ambiguous where an option is named but nothing says that it is the answer."""
    if not asked.candidates:
        return None
    return "truncated" if asked.cut else "ambiguous"


def cut_option(asked: AskedText) -> Verdict | None:
    """Call it ambiguous where the model itself ended inside an option: "somewhat accept"."""
    text = plain(asked.body[:60])
    begun = (
        " " in text
        and len(text.split()[-1]) >= 3
        and any(o.startswith(text) for o in option_texts(asked.scale))
    )
    return "ambiguous" if begun and not asked.cut else None


# --- words that look like an option and are none: "strictly acceptable", "acceptable" alone -------------


def wrong_scale_word(asked: AskedText) -> Verdict | None:
    """Call it nonsense where a word is not on the scale ("strictly acceptable") or from another scale."""
    _, tails = heads_and_tails(asked.scale)
    degrees = ADVERBS | own_words(asked.scale).degrees
    for before, word in pairwise(asked.words):
        adverb = before.text.endswith("ly") or before.text in degrees
        short = len(asked.words) <= 3 and before.text not in FUNCTION_WORDS
        if word.text in tails and before.scale_word is None and (adverb or short):
            return "nonsense"
    text = plain(asked.body)
    return "nonsense" if any(o in text for o in _other_options(asked.scale)) else None


@per_scale
def _other_options(scale: Scale) -> tuple[str, ...]:
    """Return the options of the papers' scales that ``scale`` lacks: models know them from other surveys."""
    known = option_texts(scale)
    return tuple(
        option
        for name in PAPERS
        for option in papers_scale(name).options
        if option not in known and (" " in option or scale.language == "English")
    )


def half_option(asked: AskedText) -> Verdict | None:
    """Call it ambiguous where strength or direction is missing: "acceptable", "somewhat"."""
    _, tails = heads_and_tails(asked.scale)
    if asked.scale.line is not None:
        ends = {
            word for end in asked.scale.line.ends for word in WORD.findall(normalise(end)) if len(word) > 3
        }
        return "ambiguous" if any(w.text in ends for w in asked.words) else None
    if any(w.text in tails and not _asked(asked.body, w) for w in asked.words):
        return "ambiguous"
    alone = len(asked.words) == 1 and asked.words[0].text in vocabulary(asked.scale)
    return "ambiguous" if alone and not asked.cut else None


_QUESTION = re.compile(r"\b(?:how|extent|degree|level|what|whether)\b[^.!?\n]*$")


def _asked(body: str, word: Token) -> bool:
    """Whether the word belongs to the question: "how acceptable", "to what extent is this acceptable"."""
    return _QUESTION.search(body[max(0, word.start - 160) : word.start]) is not None


# --- no answer --------------------------------------------------------------------------------------------


def cut_off(asked: AskedText) -> Verdict | None:
    """Call it truncated where the length limit fell before any answer; a single letter begins none."""
    return "truncated" if asked.cut and len(plain(asked.body)) > 1 else None


def no_option(asked: AskedText) -> Verdict | None:
    """Call the rest nonsense: another language, a letter, anything off the scale."""
    return "nonsense"


RULES: tuple[Callable[[AskedText], Verdict | None], ...] = (
    *(engine_error, exact, unfinished_thinking, empty, no_words),
    *(begun_list, punctuation),
    *(label, misspelt),
    *(ticked, conditional, leading_answer, stated_answer, second_reader),
    *(declines, asks_for_context, disclaims),
    *(begun_option, whole_scale, several_options, negated, unclear_spelling, truncated_prefix),
    *(unstated, cut_option, wrong_scale_word, half_option, cut_off, no_option),
)
#: Rules that take the text for what it literally is; what any other rule read is listed for review.
EXACT_RULES = frozenset({"exact", "punctuation", "options", "engine_error", "call"})
#: Rules that look inside running text: their levels are checked by a person or a coder, as is what no rule reads.
LOOSE_RULES = frozenset({"leading_answer", "stated_answer", "second_reader"})


@dataclass(frozen=True)
class Reading:
    """What was read out of one text: a level (only with status ``ok``), a status, the rule that decided.

    ``cases`` are those of a conditional reply, as `cases.named_cases` returns them.
    """

    level: int | None
    status: str
    rule: str
    cases: str | None = None


def read_text(
    text: str | None,
    scale: Scale,
    finish_reason: str = "stop",
    prompt_words: frozenset[str] = frozenset(),
    apart: bool = False,
) -> Reading:
    """Read the level out of ``text``, by the first of ``RULES`` that decides.

    ``prompt_words`` are the fixed wordings of the prompt: where the text repeats them, they are not its
    answer. ``apart`` says that the trace of a model that reasons is kept elsewhere. A missing text is an error. Never
    raises on any text.
    """
    if text is None:
        return Reading(None, "error", "no_text")
    asked = AskedText(text, scale, finish_reason, prompt_words, apart)
    for rule in RULES:
        verdict = rule(asked)
        if verdict is not None:
            level, status = (None, verdict) if isinstance(verdict, str) else (verdict, "ok")
            cases = named_cases(asked) if status == "conditional" else None
            return Reading(level, status, rule.__name__, cases)
    raise AssertionError("the last rule decides")  # pragma: no cover
