"""What a paraphrase must be before it can become a template."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from cinorms.prompts.prompt_sets import placeholder_fault

#: Shortest and longest paraphrase, as multiples of the characters of the original. The papers' paraphrases
#: have 0.72 to 0.96 of them; a much shorter one has dropped an instruction, a much longer one has added one.
LENGTHS = (0.4, 2.5)

#: A vignette that a template ends with a mark of its own: the vignettes have none.
_STOPPED = re.compile(r"\{scenario\}[.?!]")
_RUN_ON = re.compile(r"\{scenario\}[^\S\n]*(?:[A-Z]\w*|\{options\})")


def fault_of(candidate: str, templates: Sequence[str], options: Sequence[str]) -> str | None:
    """Return the first reason why ``candidate`` cannot be a template next to ``templates``, or ``None``.

    ``templates[0]`` is the original. The checks, in this order: there is text; it is one line; each of
    ``{scenario}`` and ``{options}`` is in it exactly once and no other placeholder is; none of the
    answer ``options`` is named; its length is within ``LENGTHS``; a vignette that has a full stop after it in the
    original does not run into the next sentence; its wording is none of ``templates``.
    """
    if not candidate.strip():
        return "it is empty"
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in candidate):
        return "it has a line break or another control character"
    return (
        placeholder_fault(candidate)
        or option_fault(candidate, options)
        or _length_fault(candidate, templates[0])
        or (run_on_fault(candidate) if _STOPPED.search(templates[0]) else None)
        or _twin_fault(candidate, templates)
    )


def option_fault(template: str, options: Sequence[str]) -> str | None:
    """Return which of the answer ``options`` is in ``template`` as words, or ``None``.

    A template that names an option suggests it to the model that is asked.
    """
    words = f" {wording(template)} "
    named = next((option for option in options if f" {wording(option)} " in words), None)
    return f"it names the answer option {named!r}" if named else None


def run_on_fault(template: str) -> str | None:
    """Return where a vignette without a full stop would run into the next sentence of ``template``, or ``None``.

    The next sentence begins with a capital letter, or is the list of options. A template that goes on with a small
    letter, a mark or a new line is left alone.
    """
    found = _RUN_ON.search(template)
    if not found:
        return None
    return f"the vignette runs into the next sentence ({found[0]!r}); put a full stop after {{scenario}}"


def wording(template: str) -> str:
    """Return the words of ``template`` without differences in capitals, punctuation and spaces."""
    plain = unicodedata.normalize("NFKC", template).casefold()
    return " ".join(re.findall(r"[^\W_]+", plain.replace("'", "").replace("’", "")))


def _length_fault(candidate: str, original: str) -> str | None:
    shortest, longest = (round(share * len(original)) for share in LENGTHS)
    if shortest <= len(candidate) <= longest:
        return None
    return f"it has {len(candidate)} characters; allowed: {shortest} to {longest}"


def _twin_fault(candidate: str, templates: Sequence[str]) -> str | None:
    words = wording(candidate)
    for number, template in enumerate(templates):
        if wording(template) == words:
            return f"the same wording as template {number}" + (" (the original)" if number == 0 else "")
    return None
