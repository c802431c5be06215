"""Letters, numbers and ticks as answers: which ones a text chooses, and which option each stands for."""

from __future__ import annotations

import re

from cinorms.answers.reading.asked_text import AskedText, introduces
from cinorms.prompts.orders import DIGITS

_LETTER = r"[a-z]"
_NUMBER = r"(?<![\w.,])-?\d+(?:[.,]\d+)?"
#: "A sleep monitor": an article, not an answer.
_ARTICLE = r"(?!\s+(?!(?:or|and|to)\b)[a-z]{2})"
_LAST_ARTICLE = re.compile(r"[a-z]{2} a$")
#: Only the beginning of a text is searched: a letter far inside it is no answer.
_REACH = 2000


def chosen_symbols(asked: AskedText) -> tuple[list[str], bool]:
    """Return the distinct letters or numbers that the text chooses, and whether it holds little else."""
    letters = asked.offered == "letters"
    one = _LETTER if letters else _NUMBER
    body = asked.body[:_REACH].strip()
    if letters and _LAST_ARTICLE.search(body) and not re.search(r"(?<![\w'])A(?![\w'])", asked.raw):
        body = body.rstrip("a")  # "the answer is a": cut before the word that the article belongs to
    found = re.findall(rf"(?<![\w']){one}(?![\w']){_ARTICLE if letters else ''}", body)
    other = [w for w in asked.rest if w not in found and not (w.isdecimal() and not letters)]
    if found and introduces([w for w in other if w not in {"or", "and", "to"}], len(asked.scale.options)):
        return list(dict.fromkeys(found)), True
    lead = re.match(
        rf"[^\w\-]{{0,9}}(?:(?:option|answer|choice)\W{{1,9}})?({one})(?:\s*[).:\]\n*]|\s+-\s|[\W_]{{0,9}}$)",
        body,
    )
    if lead:
        return [lead.group(1)], False
    said = re.findall(
        r"\b(?:answer|option|choice|choose|select|pick)(?: is| would be)?"
        rf"[^\w\-]{{0,6}}({one})(?=[\W_]{{0,9}}$|[).,:;\n])",
        body,
    )
    return list(dict.fromkeys(said)), False


def shown_option(symbol: str, asked: AskedText) -> int | None:
    """Return the option shown at the place that ``symbol`` stands for, None where it is outside the list."""
    if asked.offered == "letters":
        place = ord(symbol) - ord("a")
    else:
        place = int(symbol) - 1 if symbol.isdecimal() and len(symbol) < 4 else -1
    return DIGITS.index(asked.order[place]) if 0 <= place < len(asked.order) else None


_TICK_BEFORE = re.compile(r"(?:[\[(]\s*[x✓✔]\s*[\])]|[☑✅☒🗹🔘◉])[^\w\n\[(☐]*$")
_TICK_AFTER = re.compile(r"[^\w\n]*?(?:[\[(]\s*[x✓✔]\s*[\])]|[☑✅✓✔🗹]|<-+(?=\W*$|\n))")


def ticked_options(asked: AskedText) -> set[int]:
    """Return the options with a tick before or after them."""
    return {
        m.option
        for m in asked.mentions
        if not m.cut and not m.elsewhere and _has_tick(asked.body, m.start, m.end)
    }


def _has_tick(body: str, start: int, end: int) -> bool:
    before, after = body[max(0, start - 12) : start], body[end : end + 12]
    return _TICK_BEFORE.search(before) is not None or _TICK_AFTER.match(after) is not None
