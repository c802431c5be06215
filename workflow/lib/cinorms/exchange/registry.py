"""Formats: what declares one, and all of them (the modules of ``cinorms.exchange.formats``)."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cinorms.core.declared import declared, modules_in
from cinorms.core.errors import DataError
from cinorms.exchange.way import Way, prompt_text

#: Settings that a file may state of how its responses were collected.
STATED = ("model", "temperature", "max_tokens")
#: Largest number of tokens that the table of responses can hold.
MOST_TOKENS = 2**31 - 1
#: Digits of the largest flow, template or order: an id has no more.
MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Received:
    """One response: where it is, which prompt it answers as far as the file states that, and its text.

    ``text`` is None where the model gave none. ``sha256`` is the hash of the prompt, or its beginning. ``stated``
    has those of ``STATED`` that the file states. ``recorded`` is the text that the file states as what was asked.
    """

    file: str
    line: int
    text: str | None
    finish_reason: str = "unknown"
    flow: int | None = None
    template: int | None = None
    order: int | None = None
    sha256: str | None = None
    n_prompt_tokens: int | None = None
    n_output_tokens: int | None = None
    stated: Mapping[str, Any] = field(default_factory=dict)
    recorded: str | None = None


def chat_text(chat: Any) -> str | None:
    """Return the text of a recorded prompt: a text, or messages whose contents are texts; None for others."""
    if isinstance(chat, str):
        return chat
    are_messages = isinstance(chat, list) and all(isinstance(message, dict) for message in chat)
    if not (chat and are_messages and all(isinstance(message.get("content"), str) for message in chat)):
        return None
    return prompt_text(chat)


def tokens(value: object) -> int | None:
    """Return a number of tokens; None for what is none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= MOST_TOKENS:
        return None
    return int(value)


def cleaned(value: Any) -> Any:
    """Return what a file holds as every file can hold it: NaN and infinity are missing, half characters are ``?``."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {key: cleaned(each) for key, each in value.items()}
    if isinstance(value, list):
        return [cleaned(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_lines(path: Path, format_name: str = "", *keys: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line of a JSONL file that is not empty; each must have the ``keys``.

    Raises ``DataError`` with file and line for a line that is no such object, and for a file that cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    document = cleaned(json.loads(line))
                except (ValueError, RecursionError) as error:
                    raise broken(path, number, f"is not JSON ({error})") from None
                if not isinstance(document, dict):
                    raise broken(path, number, "is not a JSON object")
                for key in keys:
                    if key not in document:
                        raise lacking(path, number, key, format_name, document)
                yield number, document
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not text in UTF-8 ({error}); export it again") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def broken(path: Path, line: int, what: str) -> DataError:
    """Return the message about one line of a file."""
    return DataError(f"{path}: line {line} {what}; correct or remove the line")


def lacking(path: Path, line: int, key: str, format_name: str, found: Mapping[str, Any]) -> DataError:
    """Return the message about a line without a key that every line of its format has."""
    has = ", ".join(map(str, list(found)[:8])) or "none"
    return DataError(
        f"{path}: line {line} has no key '{key}', which every line of the format '{format_name}' has (its keys: "
        f"{has}); give the arm the 'response_format' of this file"
    )


#: The package whose modules are formats.
FORMATS = "cinorms.exchange.formats"


@dataclass(frozen=True)
class Format:
    """One format. ``read`` reads a file with responses; ``write`` writes the prompts of an arm into a folder."""

    name: str
    #: Endings of the files that are read.
    endings: tuple[str, ...]
    read: Callable[[Path], Iterator[Received]]
    #: Receives the ways of asking of an arm, and a folder.
    write: Callable[[Sequence[Way], Path], None]
    #: How to ask the prompts that ``write`` wrote.
    command: str
    #: Whether it has no place for a prompt in a literal wrapper.
    messages_only: bool = False


@cache
def format_modules() -> dict[str, str]:
    """Return the module in which each format is declared."""
    return modules_in(FORMATS)


@cache
def format_named(name: str) -> Format:
    """Return the format ``name``; raise ``KeyError`` where there is none."""
    return declared(Format, name, format_modules(), "FORMAT")
