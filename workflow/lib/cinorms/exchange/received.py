"""A response as another tool recorded it, and the lines of the file that it is in."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cinorms.core.errors import DataError
from cinorms.exchange.identity import prompt_hash, prompt_text, read_id

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
    has those of ``STATED`` that the file states. ``recorded`` are the texts that the file states as what was asked;
    with ``in_part``, they may lack the system message.
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
    recorded: tuple[str, ...] = ()
    in_part: bool = False


def named_by(name: object, text: str | None = None) -> dict[str, Any]:
    """Return the fields of ``Received`` that tell which prompt is answered: by our id, else by the prompt's text."""
    key = read_id(str(name))
    recorded: dict[str, Any] = {} if text is None else {"sha256": prompt_hash(text), "recorded": (text,)}
    return recorded if key is None else {**recorded, **key._asdict()}


def chat_text(chat: Any) -> str | None:
    """Return the text of a chat prompt as a tool recorded it: a text, or messages (also as JSON); None for others."""
    if isinstance(chat, str):
        return chat_text(_messages_in(chat)) or chat
    if isinstance(chat, list) and chat and all(isinstance(m, dict) for m in chat):
        contents = [_content(m.get("content")) for m in chat]
        if None not in contents:
            return prompt_text([{"content": str(content)} for content in contents])
    return None


def _content(content: Any) -> str | None:
    """Return the text of a message: a text, or parts that are all texts."""
    if isinstance(content, list):
        texts = [
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        ]
        return "".join(texts) if len(texts) == len(content) else None
    return content if isinstance(content, str) else None


def _messages_in(text: str) -> Any:
    """Return the list that ``text`` is in JSON; None for any other text."""
    try:
        return json.loads(text) if text.startswith("[") else None
    except (ValueError, RecursionError):  # a wrapper such as [INST]
        return None


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


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line of a JSONL file that is not empty.

    Raises ``DataError`` with file and line for a line that is no JSON object, and for a file that cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    found = cleaned(json.loads(line))
                except (ValueError, RecursionError) as error:
                    raise broken(path, number, f"is not JSON ({error})") from None
                if not isinstance(found, dict):
                    raise broken(path, number, "is not a JSON object")
                yield number, found
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
