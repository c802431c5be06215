"""Feed vLLM continuously: as soon as a prompt is finished the next one goes in, and none waits for a whole batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol, TypeVar

from cinorms.inference.engines.vllm.tokenise import Ids

#: Requests that vLLM has at once: enough to keep a GPU busy, few enough that its front end does not slow down.
IN_FLIGHT = 4_096


@dataclass(frozen=True)
class Request:
    """Tokens to go on from, and how."""

    ids: Ids
    sampling: Any
    #: What the conversation that asks needs to know of it when the output comes.
    about: Any = None


class Conversation(Protocol):
    """What is asked of the model about one prompt: a request, or several that follow from one another."""

    def first(self) -> Request:
        """Return the first request."""

    def take(self, about: Any, output: Any) -> Sequence[Request]:
        """Take the output of the request ``about``; return those that follow from it."""


C = TypeVar("C", bound=Conversation)


def talk(
    llm: Any, conversations: Iterator[C], in_flight: int, between_steps: Callable[[int], None]
) -> Iterator[C]:
    """Yield each conversation when it is finished, while further ones go on.

    They are begun in the order given: neighbours share the beginning of their prompts, which the prefix cache needs.
    What follows from an earlier one goes first, so that conversations of several requests end one after another and not
    all at the end. ``between_steps`` receives how many prompts the model has read so far.
    """
    engine = llm.llm_engine
    #: By the names of the requests under way; by conversation: its place, how many requests it has under way.
    under_way: dict[str, tuple[C, Any]] = {}
    place: dict[int, int] = {}
    n_open: Counter[int] = Counter()
    unread: set[int] = set()
    numbers = count()

    def add(conversation: C, request: Request) -> None:
        key = str(next(numbers))
        prompt = {"type": "token", "prompt_token_ids": request.ids.tolist()}
        engine.add_request(key, prompt, request.sampling, priority=place[id(conversation)])
        under_way[key] = (conversation, request.about)
        n_open[id(conversation)] += 1

    n_begun, more = 0, True
    while more or under_way:
        while more and len(under_way) < in_flight:
            begun = next(conversations, None)
            if begun is None:
                more = False
                continue
            place[id(begun)] = n_begun
            unread.add(id(begun))
            n_begun += 1
            add(begun, begun.first())
        for output in engine.step():
            conversation, about = under_way[output.request_id]
            unread.discard(id(conversation))  # something came back: its prompt was read
            if not output.finished:
                continue
            del under_way[output.request_id]
            for request in conversation.take(about, output.outputs[0]):
                add(conversation, request)
            n_open[id(conversation)] -= 1
            if not n_open[id(conversation)]:
                del n_open[id(conversation)], place[id(conversation)]
                yield conversation
        between_steps(n_begun - len(unread))
