"""What all paraphrasers share: the request, the instruction, and how a reply is read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Protocol

from cinorms.core.errors import CinormsError, ConfigError

#: The instruction to a model. ``<count>``, ``<original>`` and ``<taken>`` are filled in.
INSTRUCTION = """\
Reword the prompt template below in <count> different ways. Keep what it asks for and how strictly it asks.
Each rewording is one line and holds the placeholders {scenario} and {options} exactly once, written just so.
Name no answer option and add no explanation.
Write the rewordings only, one on each line, without numbers and without quotation marks.

Template:
<original>
<taken>"""

#: A part of it that is used only if there are rewordings already.
TAKEN = """
These are there already; write others:
<templates>
"""


class ParaphraseError(CinormsError):
    """A paraphraser cannot be asked, or too few of its paraphrases are valid."""


@dataclass(frozen=True)
class Ask:
    """One round: ``wanted`` rewordings of ``templates[0]`` that are none of ``templates``."""

    templates: tuple[str, ...]
    wanted: int
    scale: str
    temperature: float
    seed: int


@dataclass(frozen=True)
class Candidates:
    """Unchecked rewordings, and what the paraphraser reported about itself."""

    texts: tuple[str, ...]
    reported: dict[str, str] = field(default_factory=dict)


class Paraphraser(Protocol):
    """Anything that can be asked for rewordings."""

    @property
    def instruction(self) -> str:
        """Return its instruction, or what it does without one."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Return the packages whose versions can change what it replies."""

    def ask(self, ask: Ask) -> Candidates:
        """Return candidates, in the paraphraser's own order."""


def told(ask: Ask) -> str:
    """Return ``INSTRUCTION`` for one round."""
    listed = "\n".join(ask.templates[1:])
    taken = TAKEN.replace("<templates>", listed) if listed else ""
    # The original last: it may hold anything, even the text of a mark.
    return (
        INSTRUCTION.replace("<count>", str(ask.wanted))
        .replace("<taken>", taken)
        .replace("<original>", ask.templates[0])
    )


def candidates_in(text: str, cut_off: bool = False) -> tuple[str, ...]:
    """Return the lines of a reply without list marks and quotation marks around them; at least one.

    Text in ``<think>`` is left out, and so is the last line of a reply that was cut off.
    """
    text = re.sub(r"(?s)^.*</think>|<think>.*", "", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if cut_off:
        lines = lines[:-1]
    return tuple(_bare(line) for line in lines) or ("",)


def _bare(line: str) -> str:
    """Return ``line`` without ``1.``, ``2)``, ``-`` or ``*`` before it and one pair of quotation marks."""
    line = re.sub(r"^(?:\(?\d{1,3}[.):]|[-*•–])\s+", "", line)
    for opening, closing in (('"', '"'), ("'", "'"), ("“", "”"), ("`", "`")):
        inner = line[1:-1]
        if line[:1] == opening and line[-1:] == closing and opening not in inner and closing not in inner:
            return inner.strip()
    return line


def not_installed(name: str, package: str, environment: str) -> ConfigError:
    """Return the message about a package that a paraphraser needs."""
    return ConfigError(
        f"paraphraser {name!r}: the package {package!r} is not installed in this Python; run with "
        f"`--sdm conda`, which installs {environment}, or install it"
    )
