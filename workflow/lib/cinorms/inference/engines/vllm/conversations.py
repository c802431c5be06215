"""What the model is asked about one prompt, for its text or for the probability of each option, and in which order.

vLLM is fed continuously: as soon as a prompt is finished the next one goes in, and none waits for a whole batch.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count, islice
from math import exp
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cinorms.core.errors import ConfigError
from cinorms.inference.engines.vllm.tokenise import Ids, Tokeniser
from cinorms.inference.request import OFF, Request

Floats = npt.NDArray[np.float64]
Ways = tuple[tuple[int, ...], ...]

#: Branches that together have at most this much of a prompt's probability are not followed, which saves a third of
#: the requests. All options of a prompt together lose at most this: nothing that a table shows.
MOST_CUT = 1e-4
#: Requests that vLLM has at once: enough to keep a GPU busy, few enough that its front end does not slow down.
IN_FLIGHT = 4_096


@dataclass(frozen=True)
class OptionTrie:
    """Token sequences (``ways``), each spelling the option of the same place in ``options``.

    The options of a scale share their first tokens ("strongly", "somewhat"), so no single token can tell them
    apart. All spellings of all options form a trie; the probability of an option is the sum over its
    spellings of the product of its tokens' probabilities along the branch. No spelling is the beginning of
    another, so these are probabilities of events that exclude each other: *the answer begins with this
    option*. The rest to 1 is the mass outside the options.
    """

    ways: Ways
    options: tuple[int, ...]
    n_options: int

    @classmethod
    def of(cls, written: Mapping[str, Sequence[tuple[int, ...] | None]], model: str) -> "OptionTrie":
        """Build the trie from the ways to write each option; ``None`` is a way that cannot be written.

        Raises ``ConfigError`` where an option has no way left, or where one way is the beginning of another.
        """
        options_by_way: dict[tuple[int, ...], int] = {}
        for number, (option, spelled) in enumerate(written.items()):
            ways = {way for way in spelled if way}
            if not ways:
                raise ConfigError(
                    f"model {model!r}: its tokenizer cannot write {option!r} after the prompt; "
                    "use readout: text"
                )
            options_by_way |= dict.fromkeys(sorted(ways), number)
        for way in options_by_way:
            if any(way[:length] in options_by_way for length in range(1, len(way))):
                raise ConfigError(
                    f"model {model!r}: one option is the beginning of another; use readout: text"
                )
        return cls(tuple(options_by_way), tuple(options_by_way.values()), len(written))

    @cached_property
    def following(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Every inner node (the tokens up to it) with the tokens that follow it."""
        nodes: dict[tuple[int, ...], dict[int, None]] = {}
        for way in self.ways:
            for length, token in enumerate(way):
                nodes.setdefault(way[:length], {})[token] = None
        return {node: tuple(following) for node, following in nodes.items()}


def spellings(option: str) -> list[str]:
    """Return how an answer may write ``option``: as shown or with a capital, after a space or not."""
    capital = option[:1].upper() + option[1:]
    return [option, " " + option, capital, " " + capital]


class TokenRequest(NamedTuple):
    """Tokens to go on from, and how."""

    ids: Ids
    sampling: Any
    #: What the conversation that asks needs to know of it when the output comes.
    about: Any = None


def of_one_request() -> dict[str, Any]:
    """Return the settings of parameters that serve one request: they are not copied, and nothing comes before its end.

    Older versions of vLLM (0.24) always copy them.
    """
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    copies = {"skip_clone": True} if "skip_clone" in SamplingParams.__struct_fields__ else {}
    return {"output_kind": RequestOutputKind.FINAL_ONLY, **copies}


@cache
def option_sampling(wanted: tuple[int, ...]) -> Any:
    """Return the parameters that ask for the log-probabilities of the tokens ``wanted`` as the next one."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    # Not prompt_logprobs: it computes every prompt again, without the prefix cache. And no request asks for `logprobs`:
    # in a batch with stated tokens these become -inf (vllm-project/vllm #51789).
    return SamplingParams(
        temperature=0,
        max_tokens=1,
        detokenize=False,
        logprob_token_ids=list(wanted),
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


class OptionTalk:
    """The probability of each option after the prompt at row ``at``: a request for each branch of the trie.

    The least likely branches are not followed, as many as have ``MOST_CUT`` of the probability together. Each branch
    has its own part of that, so which ones are left out does not depend on which request comes back first.
    """

    def __init__(self, at: int, ids: Ids, trie: OptionTrie) -> None:
        self.at, self.ids = at, ids
        self._trie = trie
        self._mass: dict[tuple[int, ...], float] = {(): 1.0}
        #: What may still be cut below each node that is followed.
        self._may_cut: dict[tuple[int, ...], float] = {(): MOST_CUT}
        self.token_ids, self.trace_ids, self.trace_status = (), (), "none"
        self.finish_reason, self.n_output_tokens = "stop", 0

    def first(self) -> TokenRequest:
        """Return the request for the first tokens of all options."""
        return self._request(())

    def take(self, about: tuple[int, ...], output: Any) -> Sequence[TokenRequest]:
        """Take the log-probabilities of what follows the tokens ``about``; return the requests that follow."""
        logprobs = output.logprobs[0]
        following, mass = self._trie.following, self._mass
        nodes = {(*about, token): logprobs[token].logprob for token in following[about]}
        mass |= {node: mass[about] * exp(log_p) for node, log_p in nodes.items()}
        likely = sorted((node for node in nodes if node in following), key=mass.__getitem__, reverse=True)
        left = self._may_cut[about]
        while likely and mass[likely[-1]] <= left:
            left -= mass[likely.pop()]
        self._may_cut |= dict.fromkeys(likely, left / max(1, len(likely)))
        return [self._request(node) for node in likely]

    def probabilities(self) -> npt.NDArray[np.float32]:
        """Return the probability of each option; the rest to 1 is outside them."""
        result = np.zeros(self._trie.n_options)
        for way, option in zip(self._trie.ways, self._trie.options, strict=True):
            result[option] += self._mass.get(way, 0.0)
        return result.astype(np.float32)

    def _request(self, prefix: tuple[int, ...]) -> TokenRequest:
        ids = np.concatenate((self.ids, np.array(prefix, dtype=np.int32)))
        return TokenRequest(ids, option_sampling(self._trie.following[prefix]), prefix)


class ReasoningWay(NamedTuple):
    """How a model is made to reason: ``reasoning`` of its entry, and the level that an arm states."""

    effort: str
    budget: int
    begin: str
    end: str
    switch: str | None = None
    effort_variable: str | None = None

    @classmethod
    def of(cls, request: Request) -> "ReasoningWay | None":
        """Return how the model of ``request`` is made to reason; None where its arm states nothing."""
        stated = request.settings.get("reasoning")
        return cls(**stated) if stated else None

    @property
    def off(self) -> bool:
        """Whether no trace is asked for."""
        return self.effort == OFF

    def variables(self) -> dict[str, Any]:
        """Return what the chat template receives."""
        switch = {self.switch: not self.off} if self.switch else {}
        return switch | ({self.effort_variable: self.effort} if self.effort_variable else {})

    def begun(self, text: str) -> str:
        """Return a prompt with its trace opened, where the chat template has not done so; with none, an empty one.

        A template with a switch writes what it needs for none by itself.
        """
        if self.off:
            return text if self.switch else text + self.begin + self.end
        return text if text.rstrip().endswith(self.begin.strip()) else text + self.begin


class Closing(NamedTuple):
    """How a trace ends: at its budget or at the mark, as text, as tokens, and as it is written where it is cut."""

    tokeniser: Tokeniser
    budget: int
    text: str
    ids: tuple[int, ...]
    written: tuple[int, ...]

    @classmethod
    def of(cls, reasoning: ReasoningWay, tokeniser: Tokeniser) -> "Closing":
        """Return how the traces of a model end."""
        mark = reasoning.end.strip()
        return cls(tokeniser, reasoning.budget, mark, tokeniser.mark(mark), tokeniser.mark(reasoning.end))

    def stops(self) -> dict[str, Any]:
        """Return the settings under which vLLM stops after the mark: by its token if it is one, else by its text."""
        if len(self.ids) == 1:
            return {"stop_token_ids": list(self.ids), "detokenize": False}
        return {"stop": [self.text], "detokenize": True, "include_stop_str_in_output": True}

    def before(self, written: list[int]) -> list[int]:
        """Return the tokens before the mark that closes the trace."""
        if len(self.ids) == 1:
            return written[:-1]
        # The mark may begin within a token: count back until it is not there any more.
        for n in reversed(range(len(written))):
            if self.text in self.tokeniser.decode([written[n:]])[0]:
                return written[:n]
        return written


class TextTalk:
    """The model's text after the prompt at row ``at`` of the questions: one request, or its trace first and then that.

    vLLM's own budget for thinking needs the marks when the checkpoint is loaded, so arms could not share one start. Two
    requests read the prompt once (its prefix is cached) and leave no doubt where the trace ends.
    """

    def __init__(
        self, at: int, ids: Ids, request: Request, seed: int | None, closing: Closing | None = None
    ) -> None:
        self.at, self.ids = at, ids
        self._request, self._seed, self._closing = request, seed, closing
        #: Tokens of the trace, without the mark that closes it.
        self.trace_ids: Sequence[int] = ()
        self.trace_status = "whole" if closing else "none"
        self.token_ids: Sequence[int] = ()
        self.finish_reason: str | None = None
        self._n_written = 0

    @property
    def n_output_tokens(self) -> int:
        """Number of tokens that the model wrote, the trace included."""
        return self._n_written + len(self.token_ids)

    def first(self) -> TokenRequest:
        """Return the request for the trace, or for the answer where none is asked for."""
        if self._closing is None:
            return self._answer(self.ids, self._seed)
        stops = self._closing.stops()
        return TokenRequest(self.ids, self._sampling(self._closing.budget, self._seed, stops), "trace")

    def take(self, about: str, output: Any) -> Sequence[TokenRequest]:
        """Take the trace, and ask for the answer; or take the answer."""
        if about == "answer":
            self.token_ids, self.finish_reason = output.token_ids, output.finish_reason
            return ()
        closing = self._closing
        assert closing is not None
        written = [int(i) for i in output.token_ids]
        self._n_written = len(written)
        stopped = output.finish_reason == "stop"
        # At the mark, and not at a token that ends the model's turn.
        if stopped and output.stop_reason == (closing.ids[0] if len(closing.ids) == 1 else closing.text):
            self.trace_ids, context = closing.before(written), written
        else:
            self.trace_status = "cut" if output.finish_reason == "length" else "unclosed"
            ended = stopped and written and written[-1] in closing.tokeniser.tokenizer.all_special_ids
            self.trace_ids = written[:-1] if ended else written
            context = [*self.trace_ids, *closing.written]
        ids = np.append(self.ids, np.asarray(context, dtype=np.int32))
        # Another seed: the draws of the answer are not those of the beginning of the trace.
        return [self._answer(ids, None if self._seed is None else (self._seed + 1) % 2**31)]

    def _answer(self, ids: Ids, seed: int | None) -> TokenRequest:
        return TokenRequest(
            ids, self._sampling(self._request.max_tokens, seed, {"detokenize": False}), "answer"
        )

    def _sampling(self, max_tokens: int, seed: int | None, further: dict[str, Any]) -> Any:
        from vllm import SamplingParams

        return SamplingParams(
            temperature=self._request.temperature,
            max_tokens=max_tokens,
            seed=seed,
            **further,
            **of_one_request(),
        )


Talk = TextTalk | OptionTalk


def talk(
    llm: Any, talks: Iterator[Talk], between_steps: Callable[[], None], adapter: Any = None
) -> Iterator[list[Talk]]:
    """Yield after each step the talks that are finished, while further ones go on.

    They are begun in the order given: neighbours share the beginning of their prompts, which the prefix cache needs.
    What follows from an earlier one goes first, so that talks of several requests end one after another and not all at
    the end. ``adapter`` is vLLM's request for the one that is asked.
    """
    engine = llm.llm_engine
    #: By the names of the requests under way: a talk, its place, and what it wants to know of the request.
    under_way: dict[str, tuple[Talk, int, Any]] = {}
    n_open: Counter[int] = Counter()  # requests under way, by the place of a talk
    names, places = count(), enumerate(talks)
    further = {"lora_request": adapter} if adapter else {}

    def add(each: Talk, place: int, request: TokenRequest) -> None:
        name = str(next(names))
        prompt = {"type": "token", "prompt_token_ids": request.ids.tolist()}
        engine.add_request(name, prompt, request.sampling, priority=place, **further)
        under_way[name] = (each, place, request.about)
        n_open[place] += 1

    try:
        while True:
            for place, begun in islice(places, max(0, IN_FLIGHT - len(under_way))):
                add(begun, place, begun.first())
            if not under_way:
                return
            finished = []
            for output in engine.step():
                if not output.finished:
                    continue
                each, place, about = under_way.pop(output.request_id)
                for request in each.take(about, output.outputs[0]):
                    add(each, place, request)
                n_open[place] -= 1
                if not n_open[place]:
                    del n_open[place]
                    finished.append(each)
            if finished:
                yield finished
            between_steps()
    finally:
        with suppress(Exception):  # it may be the engine that has failed
            engine.abort_request(list(under_way))
