"""The prompts of an arm as one model or several receive them, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from cinorms.exchange.identity import prompt_hash, prompt_id, prompt_text
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec

#: What the prompts of two models can differ in, within an arm.
_DIFFERS = ("n_templates", "layout", "system", "temperature", "max_tokens")


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
    """One way of asking: its name, the spec of each model that is asked so, and the questions."""

    name: str
    specs: Mapping[str, Spec]
    questions: Questions

    @property
    def spec(self) -> Spec:
        """The spec of the first model; the prompts of the others are the same."""
        return self.questions.spec

    @property
    def wrapper(self) -> str | None:
        """The literal wrapper of the prompts; None where they are sent as messages."""
        return literal_wrapper(self.spec)

    def __len__(self) -> int:
        return len(self.questions.grid)

    def contents(self, at: int) -> list[str]:
        """Return the contents of the messages of a prompt by its position; in a literal wrapper, its whole text."""
        chat = self.questions.chat(at)
        return [prompt_text(chat, self.wrapper)] if self.wrapper else [each["content"] for each in chat]

    def prompts(self) -> Iterator[Prompt]:
        """Yield every prompt, by flow, template and order."""
        questions, wrapper = self.questions, self.wrapper
        variants = questions.variants
        names = variants["variant"].tolist()
        places = list(zip(variants["template_no"].tolist(), variants["order_no"].tolist(), strict=True))
        grid = questions.grid
        for at, (flow, row) in enumerate(zip(grid["flow"].tolist(), grid["row"].tolist(), strict=True)):
            chat = questions.chat(at)
            text = prompt_text(chat, wrapper)
            sha256 = prompt_hash(text)
            template, order = places[row]
            yield Prompt(prompt_id(flow, names[row], sha256), flow, template, order, sha256, chat, text)


def literal_wrapper(spec: Spec) -> str | None:
    """Return the literal wrapper that ``spec`` puts around prompts; None where the model receives messages."""
    found = spec.identity.get("wrap")
    return None if found in (None, "chat_template") else str(found)


def ways_of(specs: Sequence[Spec], vignettes: pd.DataFrame, variants: pd.DataFrame) -> list[Way]:
    """Return the ways in which the models of ``specs``, all of one arm, are asked; models asked alike share one."""
    groups: dict[tuple[Any, ...], dict[str, Spec]] = {}
    for spec in specs:
        key = (*(getattr(spec, name) for name in _DIFFERS), literal_wrapper(spec))
        groups.setdefault(key, {})[spec.model] = spec
    return [
        Way(
            "prompts" if len(groups) == 1 else f"prompts-{number}",
            alike,
            Questions.of(next(iter(alike.values())), vignettes, variants),
        )
        for number, alike in enumerate(groups.values(), 1)
    ]
