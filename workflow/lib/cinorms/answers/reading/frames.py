"""Parallel statements: "Owner: X. Guest: Y", "for an adult it is X; for a minor it is Y".

Where one of them is what others think, or another case, the rest of the row is that too, also where nothing but the
form says so.
"""

from __future__ import annotations

import re

#: "Guest: X", "| Guest | X": a label of a few words, unless it speaks of the model, the flow or the whole.
_LABEL = re.compile(
    r"[^\w\n]*((?:[\w'-]+ ){0,4}[\w'-]+)[\"'*_)]*\s*(?::|\||\s-+\s)[\s\"'*_]*(?:\w+ly )?[\"'*_]*"
)
#: "For an adult it is X": the preposition that opens the statement.
_FRONTED = re.compile(r"\W*(?:and |but |while )?(for|to|in|under|with|as|if|when|assuming|by|at) ")
#: What is said of the model, the flow or the whole is no row of parties.
_OF_THE_FLOW = re.compile(
    r"\b(?:me|my|mine|myself|i|this|here|overall|total|verdict|conclusion|rating|answer|final|response|result|verdict"
    r"|assessment|summary|so|edit|update|scenario|flow|your|you (?:describe|ask|mention|give|gave|present)\w*"
    r"|stated|given|described)\b"
)


def frame(before: str) -> str:
    """Return the form of the statement that ends in an option, "" for none; ``before`` is its sentence up to there."""
    statement = re.split(r"[;\n]|,\s*(?=(?:for|to|in|under|with|if|when|assuming|by|at)\b)", before)[-1]
    if re.search(r"\bi\b", statement) or _OF_THE_FLOW.search(
        re.split(r",|\b(?:it|this|that|i)(?:'d|'s)? (?:is|would|will)\b", statement)[0]
    ):
        return ""
    if _LABEL.fullmatch(statement):
        return ":"
    found = _FRONTED.match(statement)
    return found.group(1) if found else ""
