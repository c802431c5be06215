"""The rules that read one text, in their order; the first that decides wins.

Each takes an ``Reply`` and returns a level, or a status that says why there is none, or None to leave it to the
next rule. The name of the function is the name of the rule. First come whole answers, then
answers inside a text, then texts that decline or ask, then what is unclear, and last what holds no answer.
"""

import re
from collections.abc import Callable
from itertools import pairwise

from optionreader.classifier import TAKES_BACK
from optionreader.cleaning import normalise
from optionreader.languages import own_words
from optionreader.named import ADVERBS, FUNCTION_WORDS, decorated
from optionreader.numbers import lone_number
from optionreader.patterns import WORD, lazy, word_set
from optionreader.refusals import (
    ASKS_BACK,
    DECLINES,
    MACHINE,
    NEEDS_CONTEXT,
    PROMPT_SPEECH,
    SORRY,
    edges,
)
from optionreader.reply import Reply, Verdict, are_list_numbers, introduces, plain
from optionreader.ruled_out import DENIAL_MARK
from optionreader.scale import Scale
from optionreader.scale_words import (
    USUAL,
    heads_and_tails,
    option_texts,
    option_words,
    per_scale,
    vocabulary,
)
from optionreader.words import OPEN, Mention, Token

# --- whole answers ----------------------------------------------------------------------------------------


def engine_error(reply: Reply) -> Verdict | None:
    """Call it an error where the engine or the provider's filter reported one."""
    return "error" if reply.finish_reason == "error" else None


_WHOLE_NUMBER = lazy(r"-?\d{1,4}")


def exact(reply: Reply) -> Verdict | None:
    """Take a text that is an option, case and outer white space aside."""
    text, texts = reply.raw.strip().lower(), option_texts(reply.scale)
    if text in texts and reply.scale.line is None:
        return reply.verdict(texts.index(text))
    number = lone_number(text, reply.scale) if _WHOLE_NUMBER.fullmatch(text) and not reply.cut else None
    return None if number is None else reply.verdict(number)


def unfinished_thinking(reply: Reply) -> Verdict | None:
    """Call it truncated where a reasoning model was still thinking."""
    return "truncated" if reply.still_thinking else None


def empty(reply: Reply) -> Verdict | None:
    """Call it empty where nothing is left: white space, chat-template marks, thinking without an answer."""
    if reply.turn:
        return None
    return "truncated" if reply.cut else "empty"


def no_words(reply: Reply) -> Verdict | None:
    """Call it nonsense where no word is left: signs only, or nothing but the prompt's own wording."""
    if re.search(r"[^\W_]", reply.body):
        return None
    return "truncated" if reply.cut else "nonsense"


_GOES_ON = lazy(r"[\s,;/|\-*)]*(?:\b(?:if|or|and|to|but|only|unless|when|so|not|nor|\w|\d+)\b)?[\W_]*")
_LIST_START = lazy(r"[\W_]*(?:1|a|i)[\s.):\]\-]")


def begun_list(reply: Reply) -> Verdict | None:
    """Call it truncated where the length limit fell after an option that was going on: ", or"."""
    if not reply.cut or not reply.mentions:
        return None
    last = reply.mentions[-1]
    if last.cut:
        return "truncated" if last.listed else None
    tail = reply.body[last.end :]
    listed = len(reply.mentions) == 1 and _LIST_START.match(reply.body)
    item = re.search(r"(?:^|\n)[\W_]*$", reply.body[: last.start]) is not None and re.match(r"[\W_]*:", tail)
    if item and len(tail.split()) <= 3 and reply.body[: last.start].strip():
        return "truncated"  # the first of a list that explains or rates each option
    goes_on = re.search(r"[,;/|\-\w]|\n\W", tail) is not None and _GOES_ON.fullmatch(tail) is not None
    return "truncated" if goes_on or (listed and not plain(tail)) else None


def punctuation(reply: Reply) -> Verdict | None:
    """Take an option with quotes, brackets, markdown and punctuation round it."""
    match = decorated(reply.scale).fullmatch(reply.body)
    if "?" in reply.body or DENIAL_MARK.search(reply.body):
        return None
    if match is None:
        number = None if reply.cut else lone_number(reply.body, reply.scale)
        return None if number is None else reply.verdict(number)
    return reply.verdict((match.lastindex or 0) - 1)


def label(reply: Reply) -> Verdict | None:
    """Take one option after words that only introduce it ("Answer:", "4.", "I would rate this as")."""
    mention = _sole_mention(reply)
    return reply.verdict(mention.option) if mention and _is_spelt(mention, reply) else None


def _is_spelt(mention: Mention, reply: Reply) -> bool:
    """Whether an option is written as the scale has it."""
    if mention.one_word or mention.option == OPEN:
        return mention.one_word
    words = option_words(reply.scale)[mention.option]
    return sorted(plain(reply.body[mention.start : mention.end]).split()) == sorted(words)


def misspelt(reply: Reply) -> Verdict | None:
    """Take one option that is split, or within a slip of the pen that cannot reach another option."""
    mention = _sole_mention(reply)
    return None if mention is None else reply.verdict(mention.option)


def _sole_mention(reply: Reply) -> Mention | None:
    """Return the only mention of a text that holds nothing else but an introduction and list numbers."""
    if len(reply.mentions) != 1 or len(reply.candidates) != 1 or len(reply.words) > 16:
        return None
    mention, k = reply.mentions[0], len(reply.scale.options)
    introduced = introduces(reply.rest, k) and are_list_numbers(plain(reply.body[mention.end :]).split(), k)
    return mention if introduced and not mention.cut else None


# --- answers inside a text --------------------------------------------------------------------------------


#: Options that a list or form marks as chosen: with a tick, an arrow, or in words.
_TICK_BEFORE = lazy(r"(?:[\[(]\s*[x✓✔]\s*[\])]|[☑✅☒🗹🔘◉]|(?:^|\n|\|)[^\w\n]*\bx\b)[^\w\n\[(☐]*$")
_TICK_AFTER = lazy(r"[^\w\n]*?(?:[\[(]\s*[x✓✔]\s*[\])]|[☑✅✓✔🗹]|<[-=]+(?=\W*$|\n))")
#: What a form of the whole scale says of the chosen option: "neutral: yes".
_YES = lazy(r"[\s\"'*_)]*[|:=>-][\s\"'*_|>]*(?:yes|true|selected|chosen|x|y|1)\b(?=[^\w\n]*(?:\n|$|[,;|}]))")
#: Where options are ranked, "1" chooses none.
_RANK = lazy(r"[|:=>-][\s\"'*_|>]*[2-9]\b")
#: A few words about one item of a list: "(selected)", "<- my choice", "- I pick this".
_REMARK = lazy(r"[ \t\"'*_]*(?:[(\[*|<>=-]|←|⇐|➜|→)[^,;\n]{0,40}")
_CHOICE = word_set("selected chosen picked choose choice pick answer selection verdict mine this rating vote")
_REMARK_WORDS = _CHOICE | word_set(
    "my the i i'd is it one would go with final that's here final best option x"
)
#: What a mark means where it chooses no option.
_REJECTS = lazy(
    r"\b(?:reject|exclud|rul(?:e|ed|ing) out|eliminat|dismiss|avoid|wrong|unsuitable|possible|not )\w*"
)


def ticked(reply: Reply) -> Verdict | None:
    """Take the only option that is ticked or marked in words: "[x] neutral", "neutral: yes", "neutral <- my choice"."""
    chosen = _marked_options(reply)
    if len(chosen) != 1:
        return "ambiguous" if chosen else None
    stated = {m.option for m in reply.candidates if m.cue in ("final", "strong")}
    (option,) = chosen
    return reply.verdict(option) if stated <= chosen else "ambiguous"


def _marked_options(reply: Reply) -> set[int]:
    """Return the options with a mark before or after them; all, where the text says that marks reject."""
    body, mentions = reply.body, reply.mentions
    listed = len({m.option for m in mentions}) > 2
    whole = len({m.option for m in mentions}) == len(reply.scale.options) and not _RANK.search(body)
    chosen = set()
    for m, stop in zip(mentions, [*(m.start for m in mentions[1:]), len(body)], strict=False):
        if m.cut or m.elsewhere:
            continue
        after = body[m.end : min(stop, m.end + 50)]
        marked = _TICK_BEFORE.search(body[max(0, m.start - 12) : m.start]) or _TICK_AFTER.match(after)
        if marked or (whole and _YES.match(after)) or (listed and _is_choice(after)):
            chosen.add(m.option)
    if chosen and len(mentions) > 1 and _REJECTS.search(body[: mentions[0].start]):
        return {m.option for m in mentions}
    return chosen


def _is_choice(after: str) -> bool:
    """Whether a remark after an option says that it is the chosen one, and nothing else."""
    remark = _REMARK.match(after)
    words = set(WORD.findall(remark[0])) if remark else set()
    return bool(words & _CHOICE) and words <= _REMARK_WORDS


def conditional(reply: Reply) -> Verdict | None:
    """Call it conditional where the classifier finds different verdicts on two or more cases."""
    return "conditional" if reply.classified.cases else None


def leading_answer(reply: Reply) -> Verdict | None:
    """Take the option that the text begins with, where the explanation gives no other option as an answer."""
    if not reply.candidates:
        return None
    first = reply.candidates[0]
    before = plain(reply.body[: first.start]).split()
    in_list = any(m.listed and m.sentence == first.sentence for m in reply.mentions)
    if len(before) > 8 or not introduces(before, len(reply.scale.options)) or first.cut or in_list:
        return None
    return None if _contradicted(reply, first, reply.candidates) else _agreed(reply, first)


def stated_answer(reply: Reply) -> Verdict | None:
    """Take the option called the answer ("I would rate this as X") or standing alone."""
    final = [m for m in reply.candidates if m.cue == "final"]
    stated = final or [m for m in reply.candidates if m.firm]
    if len({m.option for m in stated}) != 1 or any(m.cut for m in stated):
        return None
    earlier = [m for m in reply.candidates if m.start < stated[0].start and not m.opens]
    rivals = [m for m in reply.candidates if m not in earlier or m.sentence == stated[0].sentence]
    return None if _contradicted(reply, stated[0], rivals) else _agreed(reply, stated[0])


#: The number or letter of an option before it, as where it was offered: "3)", "B.", "(iv)".
_LABEL = lazy(r"(?<![\w-])(\d{1,2}|[a-k]|i{1,3}|iv|v)[\])}.:][^\w\n]*$")
#: What ends a sentence after an option.
_SENTENCE_ENDS = lazy(r"[\s\"'*_)\]]*(?:[.!\n]|$)")
#: Words with which a sentence begins that takes an answer back, or hesitates.
_TAKES_BACK = TAKES_BACK | word_set("back edit hm hmm second")


def _agreed(reply: Reply, answer: Mention) -> Verdict | None:
    """Return the option of ``answer`` where the classifier takes it for the verdict too.

    A scale in another language brings words that the classifier has not learnt: what they call the answer is one. So is
    an option with its number that is called the answer, or a sentence of its own, where nothing after it takes it back.
    """
    agreed = reply.classified.option == answer.option or (reply.scale.words and answer.cue == "strong")
    return reply.verdict(answer.option) if agreed or _filled_in(reply, answer) else None


def _label_of(reply: Reply, mention: Mention) -> str:
    """Return the number or letter that an option is named with, or that it is; "" for none."""
    if re.match(r"[a-k][)\].:]", reply.body[mention.start : mention.end + 1]):
        return reply.body[mention.start]
    start = next((w.start for w in reply.words if w.start >= mention.start and w.scale_word), mention.start)
    found = _LABEL.search(reply.body[max(0, start - 12) : start])
    return found[1] if found else ""


def _filled_in(reply: Reply, answer: Mention) -> bool:
    """Whether ``answer`` is given with its number as a form is filled in, and what follows only explains it."""
    label, after = _label_of(reply, answer), reply.body[answer.end :]
    if not label:
        return False
    others = [m for m in reply.mentions if m.option != answer.option]
    called = answer.cue in ("final", "strong") or not any(_label_of(reply, m) for m in others)
    given = answer.firm and called and _SENTENCE_ENDS.match(after)
    is_letter = label == reply.body[answer.start : answer.end] and answer.opens  # B is an option: "B) Paris"
    its_own = re.compile(rf"\b{label}\W*$")  # "2) X, where 2 = Y"
    denied = any(m.candidate or its_own.search(reply.body[max(0, m.start - 12) : m.start]) for m in others)
    if denied or not (given or is_letter):
        return False
    return all(_TAKES_BACK.isdisjoint(WORD.findall(part)[:4]) for part in re.split(r"[.!?;:(\n]+", after))


def second_reader(reply: Reply) -> Verdict | None:
    """Take an option that the classifier is sure of, where the rules call no other more firmly the answer."""
    option, sure, _ = reply.classified
    if option is None or not sure:
        return None
    named = [m for m in reply.mentions if m.option == option and (m.counts or not m.one_word)]
    weighed = _weighed(reply)
    admitted = [m for m in named if not (m.cut or m.set_aside or m.topic or m.start in weighed)]
    outdone = any(m.firm for m in reply.mentions) and not any(m.firm for m in admitted)
    finals = {m.option for m in reply.candidates if m.cue == "final"}
    last = reply.mentions[-1]  # "I strongly disagree with it. Label: 2) disagree"
    outdone |= last.option != option and last.firm and last.standing and _label_of(reply, last) != ""
    return reply.verdict(option) if admitted and not outdone and len(finals) < 2 else None


#: Before an option that heads an item of a list, and after one that the item goes on to explain.
_ITEM_BEGINS = lazy(r"(?:^|\n)[^\w\n]*(?:option )?(?:(?:\d{1,2}|[a-k])\b)?[^\w\n]*$")
_ITEM_EXPLAINS = lazy(r"[^\w\n:-]{0,6}[:-][^\w\n]+(?:\w+[^\w\n]+){3}")


def _weighed(reply: Reply) -> range:
    """Return where a text that declines goes through options in a list, with what speaks for each."""
    body = reply.body
    heads = [
        m
        for m in reply.mentions
        if _ITEM_EXPLAINS.match(body, m.end) and _ITEM_BEGINS.search(body[max(0, m.start - 30) : m.start])
    ]
    if len({m.option for m in heads}) < 2 or not _speaks_as_machine(reply):
        return range(0)
    end = body.find("\n", heads[-1].end)
    return range(heads[0].start, end if end >= 0 else len(body))


def _speaks_as_machine(reply: Reply) -> bool:
    """Whether a text declines, says that a machine speaks, or is sorry."""
    text = edges(reply.body)
    return any(pattern.search(text) for pattern in (DECLINES, MACHINE, SORRY))


def _contradicted(reply: Reply, answer: Mention, rivals: list[Mention]) -> bool:
    """Whether the answer is denied elsewhere, taken back, or not the only one given."""
    others = [m for m in rivals if m.option != answer.option]
    denied = any(
        m.ruled_out and m.option == answer.option and m.elsewhere != "question" for m in reply.mentions
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


def _answers(reply: Reply) -> bool:
    """Whether rules and classifier find an answer: what was said before it is no refusal then."""
    return any(m.option == reply.classified.option and (m.cue or m.standing) for m in reply.candidates)


def declines(reply: Reply) -> Verdict | None:
    """Call it a refusal where one is stated: no opinions, cannot help, declines."""
    says = DECLINES.search(edges(reply.body)) or own_words(reply.scale).refusals.search(reply.body)
    return "refusal" if says and not _answers(reply) else None


def asks_for_context(reply: Reply) -> Verdict | None:
    """Call it a need of context where it depends, or a question comes back."""
    text = edges(reply.body)
    asks = (
        NEEDS_CONTEXT.search(PROMPT_SPEECH.sub(" ", text))
        or (not reply.mentions and ASKS_BACK.match(text))
        or own_words(reply.scale).hedges.search(reply.body)
    )
    return "needs_context" if asks and not _answers(reply) else None


def disclaims(reply: Reply) -> Verdict | None:
    """Call it a refusal where a machine speaks, is sorry, or cannot, and no other reason is given."""
    said = any(m.cue or m.standing for m in reply.candidates)
    text = edges(reply.body)
    speaks = MACHINE.search(text) or (not said and SORRY.search(text))
    return "refusal" if speaks and not _answers(reply) else None


# --- unclear ----------------------------------------------------------------------------------------------


def begun_option(reply: Reply) -> Verdict | None:
    """Call it truncated where the length limit fell inside an option and left open which."""
    return "truncated" if any(m.cut and m.option == OPEN for m in reply.mentions) else None


def whole_scale(reply: Reply) -> Verdict | None:
    """Call it ambiguous where the options are listed and none is chosen."""
    listed = {m.option for m in reply.mentions if m.listed}
    return "ambiguous" if len(listed) >= len(reply.scale.options) and not reply.candidates else None


def several_options(reply: Reply) -> Verdict | None:
    """Call it ambiguous where two or more options are given, or one is given and denied."""
    chosen = {m.option for m in reply.candidates}
    denied = {m.option for m in reply.mentions if m.ruled_out and m.counts and m.elsewhere != "question"}
    listed = {m.option for m in reply.mentions if m.listed}
    part_of_scale = 0 < len(listed) < len(reply.scale.options) or OPEN in listed
    return "ambiguous" if len(chosen) > 1 or part_of_scale or chosen & denied else None


def negated(reply: Reply) -> Verdict | None:
    """Call it ambiguous where options are named only to rule them out, to compare, to ask or as examples."""
    return "ambiguous" if not reply.candidates and any(m.counts for m in reply.mentions) else None


def unclear_spelling(reply: Reply) -> Verdict | None:
    """Call it ambiguous where a spelling is as near to the opposite option, or two options share a word."""
    return "ambiguous" if any(m.option == OPEN for m in reply.candidates) else None


def truncated_prefix(reply: Reply) -> Verdict | None:
    """Take an option cut by the length limit where it can be no other: "somewhat unacc"."""
    if len(reply.candidates) != 1 or not reply.candidates[0].cut:
        return None
    mention = reply.candidates[0]
    said = not plain(reply.body[: mention.start]) or mention.cue
    return reply.verdict(mention.option) if said else "truncated"


def unstated(reply: Reply) -> Verdict | None:
    """Call it ambiguous where an option is named but nothing says that it is the answer."""
    if not reply.candidates:
        return None
    return "truncated" if reply.cut else "ambiguous"


def cut_option(reply: Reply) -> Verdict | None:
    """Call it ambiguous where the model itself ended inside an option: "somewhat accept"."""
    text = plain(reply.body[:60])
    begun = (
        " " in text
        and len(text.split()[-1]) >= 3
        and any(o.startswith(text) for o in option_texts(reply.scale))
    )
    return "ambiguous" if begun and not reply.cut else None


# --- words that look like an option and are none: "strictly acceptable", "acceptable" alone -------------


def wrong_scale_word(reply: Reply) -> Verdict | None:
    """Call it nonsense where a word is not on the scale ("strictly acceptable") or from another scale."""
    _, tails = heads_and_tails(reply.scale)
    degrees = ADVERBS | own_words(reply.scale).degrees
    for before, word in pairwise(reply.words):
        adverb = before.text.endswith("ly") or before.text in degrees
        short = len(reply.words) <= 3 and before.text not in FUNCTION_WORDS
        if word.text in tails and before.scale_word is None and (adverb or short):
            return "nonsense"
    text = plain(reply.body)
    return "nonsense" if any(o in text for o in _other_options(reply.scale)) else None


@per_scale
def _other_options(scale: Scale) -> tuple[str, ...]:
    """Return the options of two usual scales that ``scale`` lacks: models know them from other surveys."""
    known = option_texts(scale)
    return tuple(
        option
        for name in USUAL
        for option in Scale.shipped(name).options
        if option not in known and (" " in option or scale.language == "English")
    )


def half_option(reply: Reply) -> Verdict | None:
    """Call it ambiguous where strength or direction is missing: "acceptable", "somewhat"."""
    _, tails = heads_and_tails(reply.scale)
    if reply.scale.line is not None:
        ends = {
            word for end in reply.scale.line.ends for word in WORD.findall(normalise(end)) if len(word) > 3
        }
        return "ambiguous" if any(w.text in ends for w in reply.words) else None
    if any(w.text in tails and not _asked(reply.body, w) for w in reply.words):
        return "ambiguous"
    alone = len(reply.words) == 1 and reply.words[0].text in vocabulary(reply.scale)
    return "ambiguous" if alone and not reply.cut else None


_QUESTION = lazy(r"\b(?:how|extent|degree|level|what|whether)\b[^.!?\n]*$")


def _asked(body: str, word: Token) -> bool:
    """Whether the word belongs to the question: "how acceptable", "to what extent is this acceptable"."""
    return _QUESTION.search(body[max(0, word.start - 160) : word.start]) is not None


# --- no answer --------------------------------------------------------------------------------------------


def cut_off(reply: Reply) -> Verdict | None:
    """Call it truncated where the length limit fell before any answer; a single letter begins none."""
    return "truncated" if reply.cut and len(plain(reply.body)) > 1 else None


def no_option(reply: Reply) -> Verdict | None:
    """Call the rest nonsense: another language, a letter, anything off the scale."""
    return "nonsense"


IN_ORDER: tuple[Callable[[Reply], Verdict | None], ...] = (
    *(engine_error, exact, unfinished_thinking, empty, no_words),
    *(begun_list, punctuation),
    *(label, misspelt),
    *(ticked, conditional, leading_answer, stated_answer, second_reader),
    *(declines, asks_for_context, disclaims),
    *(begun_option, whole_scale, several_options, negated, unclear_spelling, truncated_prefix),
    *(unstated, cut_option, wrong_scale_word, half_option, cut_off, no_option),
)
#: Rules that take the text for what it literally is; levels of others may be worth a look.
EXACT_RULES = frozenset({"exact", "punctuation", "engine_error"})
#: Rules that look inside running text: their levels are the least sure.
LOOSE_RULES = frozenset({"leading_answer", "stated_answer", "second_reader"})
