"""What a prompt is known by outside this project: its text, the hash of that text, and an id.

This is the only definition; exports state the hash, and responses are matched by it.
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

_ID = re.compile(rf"(\d{{1,9}})\.(\d{{1,6}})_(\d{{1,6}})\.([0-9a-f]{{{DIGITS}}})")


def prompt_text(chat: Sequence[Mapping[str, str]], wrapper: str | None = None) -> str:
    """Return the text of a prompt: the contents of its messages, with an empty line between them.

    A prompt with one of the papers' literal wrappers is the text that the model receives, with the wrapper.
    """
    return wrap(chat, wrapper) if wrapper else BETWEEN.join(message["content"] for message in chat)


def prompt_hash(text: str) -> str:
    """Return the SHA-256 of the text of a prompt in UTF-8, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


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
