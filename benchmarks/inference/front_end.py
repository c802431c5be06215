"""What this project's own code costs for each prompt that vLLM answers: no GPU and no vLLM, the answers come at once.

``python benchmarks/inference/front_end.py [--prompts 20000]`` prints requests and milliseconds of CPU time per prompt,
and memory, for texts and for options. The first tokens of the options have the probabilities of a model that is sure of
some prompts and not of others.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from cinorms.inference.engines.vllm.conversations import (
    IN_FLIGHT,
    OptionTalk,
    OptionTrie,
    TextTalk,
    spellings,
    talk,
)

OPTIONS = (
    "strongly unacceptable",
    "somewhat unacceptable",
    "neutral",
    "somewhat acceptable",
    "strongly acceptable",
)
#: Token ids of a prompt, and how even the probabilities of tokens are: the smaller, the surer the model.
PROMPT_TOKENS, EVENNESS = 76, 0.1


def trie_of_options() -> OptionTrie:
    """Return the trie of the options as tokenizers cut them: words with the blank before them, and un-."""
    tokens: dict[str, int] = {}

    def cut(text: str) -> tuple[int, ...]:
        parts = text.replace(" un", "| un|").replace(" acc", "| acc").split("|")
        return tuple(tokens.setdefault(part, len(tokens)) for part in parts)

    return OptionTrie.of({option: [cut(how) for how in spellings(option)] for option in OPTIONS}, "benchmark")


class AtOnce:
    """Stands for vLLM's engine: answers every request in the next step."""

    def __init__(self, shares: dict[tuple[int, ...], Any]) -> None:
        self.n_requests, self.most = 0, 0
        #: The parameters of all requests, each kind once.
        self.kinds: dict[int, Any] = {}
        self._waiting: list[tuple[str, Any, int]] = []
        self._shares = shares

    def add_request(self, key: str, prompt: dict[str, Any], sampling: Any, priority: int) -> None:
        """Take a request."""
        self._waiting.append((key, sampling, priority))
        self.n_requests += 1
        self.kinds[id(sampling)] = sampling
        self.most = max(self.most, len(self._waiting))

    def step(self) -> Iterator[Any]:
        """Answer what waits."""
        waiting, self._waiting = self._waiting, []
        for key, sampling, priority in waiting:
            output = SimpleNamespace(token_ids=(1, 2, 3), finish_reason="stop")
            wanted = getattr(sampling, "logprob_token_ids", None)
            if wanted:
                output.logprobs = [self._logprobs(tuple(wanted), priority)]
            yield SimpleNamespace(request_id=key, finished=True, outputs=[output])

    def _logprobs(self, wanted: tuple[int, ...], prompt: int) -> dict[int, Any]:
        """Return what a prompt gives the tokens ``wanted``, one of many draws that are made once."""
        draws = self._shares.get(wanted)
        if draws is None:
            # The last share is that of all other tokens.
            chance = np.random.default_rng(list(wanted))
            rows = chance.dirichlet(np.full(len(wanted) + 1, EVENNESS), 997)
            draws = self._shares[wanted] = [
                {
                    token: SimpleNamespace(logprob=p)
                    for token, p in zip(wanted, np.log(row + 1e-12).tolist(), strict=False)
                }
                for row in rows
            ]
        return draws[prompt % len(draws)]


def stand_ins() -> dict[str, ModuleType]:
    """Return modules that stand for vLLM's sampling parameters."""

    class SamplingParams(SimpleNamespace):
        __struct_fields__ = ("skip_clone", "stream_interval")

    kinds = SimpleNamespace(FINAL_ONLY=0, CUMULATIVE=1)
    package, module = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    package.SamplingParams, module.RequestOutputKind = SamplingParams, kinds  # type: ignore[attr-defined]
    return {"vllm": package, "vllm.sampling_params": module}


def ask(readout: str, n_prompts: int) -> tuple[AtOnce, dict[int, Any], float]:
    """Ask so many prompts; return the engine, the answer to each prompt, and the seconds of CPU time."""
    engine, trie = AtOnce({}), trie_of_options()
    spec: Any = SimpleNamespace(temperature=0, max_tokens=8)
    chance = np.random.default_rng(1)

    def begun() -> Iterator[Any]:
        for at in range(n_prompts):
            ids = chance.integers(0, 30_000, PROMPT_TOKENS, dtype=np.int32)
            yield OptionTalk(at, ids, trie) if readout == "options" else TextTalk(at, ids, spec, None)

    started = time.process_time()
    llm = SimpleNamespace(llm_engine=engine)
    answers = {
        finished.at: finished.probabilities() if readout == "options" else finished.token_ids
        for finished in talk(llm, begun(), IN_FLIGHT, lambda n_read: None)
    }
    return engine, answers, time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, default=20_000)
    given = parser.parse_args()
    sys.modules |= stand_ins()
    for readout in ("text", "options"):
        ask(readout, 1_000)  # draws the probabilities
        engine, _, seconds = ask(readout, given.prompts)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{readout:8} {engine.n_requests / given.prompts:5.2f} requests and "
            f"{1000 * seconds / given.prompts:.3f} ms of CPU time per prompt; "
            f"at most {engine.most:,} under way, {memory:,.0f} MB"
        )


if __name__ == "__main__":
    main()
