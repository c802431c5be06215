"""What the rules take from a scale's own words: how its options are named, their strengths and their directions."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from optionreader.cleaning import normalise
from optionreader.patterns import NEVER, WORD, word_set
from optionreader.scale import LETTERED, NUMBERED, Scale

T = TypeVar("T")

#: How many scales are known at a time.
_MOST_SCALES = 256
#: Two scales whose options models know from surveys, and offer on others too.
USUAL = ("acceptability", "agreement")
#: What makes the opposite of a word.
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "non-", "not ")
#: Degrees that also follow their verb: "I agree strongly".
_DEGREES = word_set("strongly somewhat slightly completely totally fully entirely partly mostly moderately")
#: Words that deny what follows them, also where options have them.
DENYING = word_set("not no never neither nor cannot hardly barely scarcely none")


def per_scale(make: Callable[[Scale], T]) -> Callable[[Scale], T]:
    """Return ``make`` with its value for each scale kept.

    Scales are known by identity: to compare their options for every text would take longer than most rules.
    """
    known: dict[int, tuple[Scale, T]] = {}

    @wraps(make)
    def kept(scale: Scale) -> T:
        found = known.get(id(scale))
        if found is None:
            if len(known) >= _MOST_SCALES:
                known.clear()
            # The scale is kept too, so that no other one takes its identity.
            found = known[id(scale)] = (scale, make(scale))
        return found[1]

    return kept


@per_scale
def option_texts(scale: Scale) -> tuple[str, ...]:
    """Return each option of ``scale`` as a normalised text has it, lowest first."""
    return tuple(normalise(option) for option in scale.options)


@per_scale
def option_words(scale: Scale) -> tuple[tuple[str, ...], ...]:
    """Return each option of ``scale`` as its words, lowest first; its number or letter is none of them."""
    if scale.line is not None:
        return ((),) * len(scale.options)
    label = NUMBERED if scale.numbers else LETTERED if scale.letters else NEVER
    texts = (label.sub("", text, count=1).replace("_", " ") for text in option_texts(scale))
    return tuple(tuple(match[0] for match in WORD.finditer(text)) for text in texts)


@per_scale
def names(scale: Scale) -> dict[tuple[str | None, ...], int]:
    """Return every way in which words name an option: its own, those of ``also``, of two opposites the other denied.

    On a scale of "unacceptable" and "acceptable", what is "not acceptable" is unacceptable. With more options it is not
    known which of the others is meant.
    """
    words = option_words(scale)
    found: dict[tuple[str | None, ...], int] = {option: i for i, option in enumerate(words) if option}
    places = {option: i for i, option in enumerate(scale.options)}
    found |= {
        tuple(match[0] for match in WORD.finditer(normalise(text))): places[o] for text, o in scale.also
    }
    if len(words) == 2 and all(len(option) == 1 for option in words):
        for i, other in ((0, 1), (1, 0)):
            if words[i][0] in {prefix + words[other][0] for prefix in _PREFIXES}:
                found |= {("not", words[other][0]): i, ("isn't", words[other][0]): i}
    return found


@per_scale
def turned(scale: Scale) -> dict[tuple[str | None, ...], int]:
    """Return the options whose degree can also come last: who agrees strongly strongly agrees."""
    words = option_words(scale)
    return {(o[1], o[0]): i for i, o in enumerate(words) if len(o) == 2 and o[0] in _DEGREES}


@per_scale
def heads_and_tails(scale: Scale) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that give an option its strength, and those that give it its direction."""
    words = option_words(scale)
    two = [option for option in words if len(option) > 1]
    sides = {option[0] for option, side in zip(words, scale.sides, strict=True) if side and len(option) == 1}
    return frozenset(option[0] for option in two), frozenset({option[-1] for option in two} | sides)


@per_scale
def vocabulary(scale: Scale) -> frozenset[str]:
    """Return the words that the options of ``scale`` are made of."""
    return frozenset(word for name in names(scale) for word in name if word)


@per_scale
def plain_options(scale: Scale) -> frozenset[int]:
    """Return the options that say a side of the scale in one word: "acceptable", "never"; these are everyday words."""
    return frozenset(
        i for i, words in enumerate(option_words(scale)) if len(words) == 1 and scale.sides[i] != 0
    )


@per_scale
def denying_words(scale: Scale) -> frozenset[str]:
    """Return the words of options of several words that deny elsewhere: "not at all okay", "neither .. nor"."""
    return frozenset(word for option in option_words(scale) if len(option) > 1 for word in option) & DENYING
