"""Where a text names options of a scale: in words, in numbers, or cut short by the length limit."""

import re
from collections.abc import Iterator
from itertools import pairwise

from optionreader.languages import own_words
from optionreader.numbers import find_numbers
from optionreader.patterns import NEVER, lazy, word_set
from optionreader.scale import Scale
from optionreader.scale_words import (
    heads_and_tails,
    names,
    option_texts,
    option_words,
    per_scale,
    plain_options,
    turned,
)
from optionreader.words import OPEN, UNCLEAR, Mention, Token

#: Words that make another option of the one they stand before: "very strongly acceptable" is not on the scale.
INTENSIFIERS = word_set("very extremely quite rather highly too most more less fairly pretty incredibly")
#: Words before "acceptable" that do not make another option of it.
FUNCTION_WORDS = word_set(
    "it is be this that the an a not are was i am answer scenario situation flow yes no"
)
#: Adverbs that do not end in -ly.
ADVERBS = word_set("very quite rather sometimes somehow somewhere most more less so too partly just")
#: Adverbs that say how sure the model is, not how far: "clearly acceptable" is acceptable.
ASSURING = word_set(
    "clearly definitely certainly probably obviously surely honestly truly plainly actually simply",
    "indeed therefore ultimately overall personally likely undoubtedly evidently decidedly still also",
    "just",
)
#: Adverbs that make a verdict stronger: what is "completely acceptable" is acceptable, where the scale has no more.
STRENGTHENING = word_set(
    "completely totally fully entirely absolutely perfectly wholly utterly thoroughly very extremely",
    "highly strongly really",
)
#: Words of degree that do not end in -ly, beside ADVERBS.
DEGREES = word_set("somewhat pretty kinda sorta almost half semi borderline")
#: What may stand between the words of one option: "**somewhat** acceptable", "somewhat-acceptable".
_WITHIN = lazy(r"(?!\s*\n\s*\n)[\s\-_*'\"~\\]{0,6}")
#: Words that keep a list of options a list.
LIST_WORDS = word_set("and or to nor through vs versus")


@per_scale
def decorated(scale: Scale) -> re.Pattern[str]:
    """Return a pattern of one option and nothing but signs; its group number is the option's, from 1."""
    if scale.line is not None:
        return NEVER
    gap = _within(scale).pattern.replace("{0,6}", "{1,6}")
    numbers = {i: n for n, i in scale.numbers.items()}
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


def _named(words: list[Token], text: str, scale: Scale) -> Iterator[Mention]:
    """Yield each option named in full."""
    options, last, within = names(scale), turned(scale), _within(scale)
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
            if name in last and _degree_last(words, i, text):
                yield Mention(last[name], part[0].start, part[-1].end)
                done = i + n
                break
            if name not in options and not unclear:
                continue
            if not all(within.fullmatch(text[a.end : b.start]) for a, b in pairwise(part)):
                continue
            if n > 1:
                unclear |= _shares_a_word(words, i, i + n - 1, text, scale) or _intensified(
                    words, i, text, scale
                )
            if n > 1 or not _modified(words, i, text, scale, options[name]):
                yield Mention(OPEN if unclear else options[name], part[0].start, part[-1].end)
            done = i + n
            break


def _degree_last(words: list[Token], i: int, text: str) -> bool:
    """Whether the degree after the verb at word ``i`` belongs to it: in "agree strongly agree" it does not."""
    apart = text[words[i].end : words[i + 1].start].strip(" ")
    return not apart and not (i + 2 < len(words) and words[i + 2].scale_word)


def _modified(words: list[Token], i: int, text: str, scale: Scale, option: int) -> bool:
    """Whether a one-word option follows an adverb: "somewhat neutral" is not on the scale."""
    if i == 0 or not re.fullmatch(r"[\s\-]+", text[words[i - 1].end : words[i].start]):
        return False
    if words[i - 1].scale_word in heads_and_tails(scale)[0]:
        return True
    if option not in plain_options(scale):
        return False
    word = words[i - 1].text
    utmost = option in (0, len(scale.options) - 1)  # the end of its side: nothing is stronger
    if word in ASSURING or (word in STRENGTHENING and utmost):
        return False
    return word.endswith("ly") or word in ADVERBS | DEGREES | STRENGTHENING | own_words(scale).degrees


def _intensified(words: list[Token], i: int, text: str, scale: Scale) -> bool:
    """Whether the option at word ``i`` follows an intensifier."""
    if i == 0 or words[i - 1].text not in INTENSIFIERS | own_words(scale).degrees:
        return False
    return text[words[i - 1].end : words[i].start].isspace()


def _shares_a_word(words: list[Token], first: int, last: int, text: str, scale: Scale) -> bool:
    """Whether two options share a word: "somewhat or strongly acceptable", "agree/disagree"."""
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
        return Mention(fits[0] if sure else OPEN, part[0].start, part[-1].end, cut=True)
    return None


def _with_numbers(found: list[Mention], text: str, scale: Scale, cut_short: bool) -> list[Mention]:
    """Return the options that are named in words and those that numbers name, in order.

    A number right before an option's words, or in brackets after them, names the same option, or leaves it unclear.
    """
    numbers = [
        n for n in find_numbers(text, scale, cut_short) if not any(m.start <= n.start < m.end for m in found)
    ]
    result: list[Mention] = []
    for mention in sorted([*found, *numbers], key=lambda m: m.start):
        last = result[-1] if result else mention
        same = last.option == mention.option
        gap = r"[^\w\n,;/]{1,4}" if last.one_word else r"[\s\"'*_]{0,4}[(\[]"
        joined = last.one_word != mention.one_word and (same or last.one_word)
        if joined and re.fullmatch(gap, text[last.end : mention.start]):
            result[-1] = Mention(last.option if same else OPEN, last.start, mention.end)
        else:
            result.append(mention)
    return result


#: The letter of an option before its words; and without them, as all of a text, its first or its last word.
_LETTER_BEFORE = lazy(r"(?<![\w'])([a-k])[.):\]]+[\s\"'*_]*$")
_LETTER_ALONE = lazy(
    r"\W*([a-k])(?=[.):\]*_]|\s*\n|\W*$)"
    r"|(?s:.*)(?:[:(*]|\b(?:option|choose|pick|select|(?:answer|choice|option) is))[\s\"'*(]*(?<![\w'])([a-k])\W*$"
)


def _with_letters(found: list[Mention], text: str, scale: Scale) -> list[Mention]:
    """Return the options of ``found``, unclear after the letter of another; without any the one that a letter names."""
    result = []
    for m in found:
        letter = _LETTER_BEFORE.search(text[max(0, m.start - 10) : m.start])
        same = letter is None or scale.letters.get(letter[1]) == m.option
        result.append(m if same else m._replace(option=OPEN))
    alone = None if found else _LETTER_ALONE.match(text)
    group = (alone.lastindex or 0) if alone else 0
    if alone and alone[group] in scale.letters:
        result.append(Mention(scale.letters[alone[group]], *alone.span(group), one_word=True))
    return result


def find_options(words: list[Token], text: str, scale: Scale, cut_short: bool) -> list[Mention]:
    """Return every place where ``text`` names an option, in order."""
    found = list(_named(words, text, scale))
    if scale.is_numeric:
        found = _with_numbers(found, text, scale, cut_short)
    if scale.letters:
        found = _with_letters(found, text, scale)
    if cut_short:
        begun = cut_option(words, text, scale)
        if begun and (not found or begun.start >= found[-1].end):
            found.append(begun)
    return found
