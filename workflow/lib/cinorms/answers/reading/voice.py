"""Whether an option is said of the flow that was asked, by the model itself, and for good.

A model also names options for what others think, for another condition or flow, and to take them back. Such an
option is no answer. In doubt it is none: that costs a valid answer, the other mistake would invent one.
"""

from __future__ import annotations

from cinorms.answers.reading.cases import said_of_another_case
from cinorms.answers.reading.corrections import held_once, taken_back
from cinorms.answers.reading.cues import without_tag
from cinorms.answers.reading.parties import said_by_others

#: How far after an option it can be denied or taken back, in characters.
REACH = 260


def where_said(sentence: str, rest: str, following: str) -> str:
    """Return ``aside`` for an option said by others or of another case, ``back`` for one taken back.

    "" for one that is said of the flow, and for good. ``sentence`` is what stands before the option in its sentence,
    ``rest`` what follows it there, ``following`` all that follows as far as the next option that can be an answer.
    """
    near = without_tag(following[:REACH])
    if (
        said_by_others(sentence, near)
        or held_once(sentence, rest, following)
        or said_of_another_case(sentence, rest, near)
    ):
        return "aside"
    return "back" if taken_back(sentence, rest, near) else ""
