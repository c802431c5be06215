"""The prompts of an arm as one model or several receive them, and what a prompt is known by outside this project.

A prompt is known by its text, the hash of that text, and an id. This is the only definition; exports state the hash,
and responses are matched by it. A prompt that a tool recorded next to an id is compared by ``same_prompt``.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from cinorms.inference.engine_kind import engine_kind
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.prompts.variants import wrap

#: Digits of the hash that an id ends with.
DIGITS = 16
#: Between the contents of the messages of a chat, in the text that is hashed.
BETWEEN = "\n\n"

_ID = re.compile(
    rf"(?P<flow>\d{{1,9}})\.(?P<template>\d{{1,6}})_(?P<order>\d{{1,6}})\.(?P<sha256>[0-9a-f]{{{DIGITS}}})"
)
#: What the prompts of two models can differ in, within an arm.
_DIFFERS = ("n_templates", "layout", "system", "temperature", "max_tokens")


def prompt_text(chat: Sequence[Mapping[str, str]], wrapper: str | None = None) -> str:
    """Return the text of a prompt: the contents of its messages, with an empty line between them.

    A prompt with one of the papers' literal wrappers is the text that the model receives, with the wrapper.
    """
    return wrap(chat, wrapper) if wrapper else BETWEEN.join(message["content"] for message in chat)


def prompt_hash(text: str) -> str:
    """Return the SHA-256 of the text of a prompt in UTF-8, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def same_prompt(recorded: str, text: str) -> bool:
    """Return whether the text ``recorded`` is the prompt ``text``; white space does not count."""
    return recorded.split() == text.split()


def prompt_id(flow: int, variant: str, sha256: str) -> str:
    """Return the id of a prompt: ``flow.template_order.hash``, the hash by its first 16 digits."""
    return f"{flow}.{variant}.{sha256[:DIGITS]}"


def read_id(name: object) -> dict[str, Any]:
    """Return the flow, template, order and hash that an id states; of another name nothing."""
    parts = _ID.fullmatch(str(name))
    return {key: v if key == "sha256" else int(v) for key, v in parts.groupdict().items()} if parts else {}


class Prompt(NamedTuple):
    """One prompt: which it is, and what the model receives."""

    id: str
    flow: int
    template: int
    order: int
    sha256: str
    messages: list[dict[str, str]]
    #: The text that ``sha256`` is of; for a literal wrapper, what the model receives.
    text: str


@dataclass(frozen=True)
class Way:
    """One way of asking: its name, the request of each model that is asked so, and the questions."""

    name: str
    requests: Mapping[str, Request]
    questions: Questions

    @property
    def request(self) -> Request:
        """The request of the first model; the prompts of the others are the same."""
        return self.questions.request

    @property
    def wrapper(self) -> str | None:
        """The literal wrapper of the prompts; None where they are sent as messages."""
        return literal_wrapper(self.request)

    def __len__(self) -> int:
        return len(self.questions.grid)

    def text(self, at: int) -> str:
        """Return the text of a prompt by its position."""
        return prompt_text(self.questions.chat(at), self.wrapper)

    def prompts(self) -> Iterator[Prompt]:
        """Yield every prompt, by flow, template and order."""
        questions, wrapper = self.questions, self.wrapper
        columns = ["variant", "template_no", "order_no"]
        variants = list(questions.variants[columns].itertuples(index=False, name=None))
        grid = questions.grid
        for at, (flow, row) in enumerate(zip(grid["flow"].tolist(), grid["row"].tolist(), strict=True)):
            chat = questions.chat(at)
            text = prompt_text(chat, wrapper)
            sha256 = prompt_hash(text)
            variant, template, order = variants[row]
            yield Prompt(prompt_id(flow, variant, sha256), flow, template, order, sha256, chat, text)


def literal_wrapper(request: Request) -> str | None:
    """Return the literal wrapper that ``request`` puts around prompts; None where the model receives messages."""
    stated = request.settings.get("wrap")
    if stated in (None, "chat_template") or "wrap" in engine_kind(request.engine).unseen:
        return None
    return str(stated)


def ways_of(requests: Sequence[Request], vignettes: pd.DataFrame, variants: pd.DataFrame) -> list[Way]:
    """Return the ways in which the models of ``requests``, all of one arm, are asked; models asked alike share one."""
    groups: dict[tuple[Any, ...], dict[str, Request]] = {}
    for request in requests:
        key = (*(getattr(request, name) for name in _DIFFERS), literal_wrapper(request))
        groups.setdefault(key, {})[request.model] = request
    return [
        Way(
            "prompts" if len(groups) == 1 else f"prompts-{number}",
            alike,
            Questions.of(next(iter(alike.values())), vignettes, variants),
        )
        for number, alike in enumerate(groups.values(), 1)
    ]
