"""What a prompt is known by outside this project: its text, the hash of that text, and an id.

This is the only definition; exports state the hash, and responses are matched by it. A prompt that a tool recorded
next to an id is compared by ``same_prompt``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cinorms.prompts.variants import wrap

#: Digits of the hash that an id ends with.
DIGITS = 16
#: Between the contents of the messages of a chat, in the text that is hashed.
BETWEEN = "\n\n"

#: What chat templates put round messages: markers, names of roles, dates, and the system prompts that they come with.
_TEMPLATE = re.compile(
    r"""(?: \s | <{1,2}[^<>\s]{1,60}>{1,2} | \[/?\|?[a-z_]{1,30}\|?\]
    | (?:\#+\s)?(?:GPT4\sCorrect\s)?(?:system|developer|user|human|assistant|model|bot|instruction|input|response)\b:?
    | (?:Cutting\sKnowledge|Knowledge\sCutoff|Today|Today's|Current)\sDate:\s[\w-]{1,10}(?:\s\w{3,9})?,?(?:\s\d{4})?\.?
    | You\sare\s\w+,\s(?:created|developed|trained|made)\sby\s[\w\s]{1,40}\.
    | You\sare\sa\shelpful(?:,\srespectful\sand\shonest)?\s(?:AI\s)?assistant
        (?:\snamed\s\w+,\strained\sby\s[\w\s]{1,40})?\.?
    | A\schat\sbetween\sa\scurious\suser\sand\san\sartificial\sintelligence\sassistant\.
    | The\sassistant\sgives\shelpful,\sdetailed,\sand\spolite\sanswers\sto\sthe\suser's\squestions\.
    | Below\sis\san\sinstruction\sthat\sdescribes\sa\stask\.
    | Write\sa\sresponse\sthat\sappropriately\scompletes\sthe\srequest\.
    )*""",
    re.VERBOSE | re.IGNORECASE,
)

_ID = re.compile(rf"(\d{{1,9}})\.(\d{{1,6}})_(\d{{1,6}})\.([0-9a-f]{{{DIGITS}}})")


def prompt_text(chat: Sequence[Mapping[str, str]], wrapper: str | None = None) -> str:
    """Return the text of a prompt: the contents of its messages, with an empty line between them.

    A prompt with one of the papers' literal wrappers is the text that the model receives, with the wrapper.
    """
    return wrap(chat, wrapper) if wrapper else BETWEEN.join(message["content"] for message in chat)


def prompt_hash(text: str) -> str:
    """Return the SHA-256 of the text of a prompt in UTF-8, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def same_prompt(recorded: str, contents: Sequence[str]) -> bool:
    """Return whether the text ``recorded`` asks what messages with ``contents`` ask.

    White space does not count, nor what a chat template puts round the messages. Any other word before, between or
    after them asks something else: another instruction, an example, a system prompt of one's own.
    """
    rest = " ".join(recorded.split())
    for content in contents:
        before, found, rest = rest.partition(" ".join(content.split()))
        if not found or not _TEMPLATE.fullmatch(before):
            return False
    return _TEMPLATE.fullmatch(rest) is not None


def prompt_id(flow: int, variant: str, sha256: str) -> str:
    """Return the id of a prompt: ``flow.template_order.hash``, the hash by its first 16 digits."""
    return f"{flow}.{variant}.{sha256[:DIGITS]}"


class Key(NamedTuple):
    """What an id holds; ``sha256`` is the beginning of the hash."""

    flow: int
    template: int
    order: int
    sha256: str


def read_id(text: str) -> Key | None:
    """Return what ``text`` holds if it is an id; None for anything else."""
    found = _ID.fullmatch(text)
    return Key(int(found[1]), int(found[2]), int(found[3]), found[4]) if found else None
