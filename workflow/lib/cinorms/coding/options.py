"""What a coder, model or person, writes for a reply that gives an answer: an option, or a number of a number line."""

from __future__ import annotations

from collections.abc import Sequence

from cinorms.answers.reading.normalise import normalise
from cinorms.answers.reading.scale_words import option_numbers
from cinorms.core.scales import Scale, level_of_number


def level_of_code(code: str, scale: Scale) -> int | None:
    """Return the level that ``code`` stands for on ``scale``; ``None`` where it is none of its options."""
    code = as_code(code)
    if scale.line is not None:
        number = code.removeprefix("-")
        return level_of_number(scale, int(code)) if number.isdecimal() and len(number) < 6 else None
    numbers = option_numbers(scale)
    if numbers and code.removeprefix("-").isdecimal() and len(code) < 6:
        option = numbers.get(int(code))
        return None if option is None else scale.levels[option]
    options = [as_code(option) for option in scale.options]
    return scale.levels[options.index(code)] if code in options else None


def as_code(written: str) -> str:
    """Return what was written in plain lower-case letters, with one space between words."""
    return " ".join(normalise(written).replace("_", " ").split())


def options_to_choose(scale: Scale) -> Sequence[str]:
    """Return what a coder can choose, lowest first; of a number line what its ends mean."""
    if scale.line is None:
        return scale.options
    line = scale.line
    return [f"a whole number from {line.lowest} ({line.ends[0]}) to {line.highest} ({line.ends[1]})"]
