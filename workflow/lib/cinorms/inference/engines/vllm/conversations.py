"""What the model is asked about one prompt: for its text, or for the probability of each option."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cinorms.inference.engines.vllm.option_trie import Branch, OptionTrie, OptionWalk
from cinorms.inference.engines.vllm.stream import Request
from cinorms.inference.engines.vllm.tokenise import Ids
from cinorms.inference.spec import Spec


class TextTalk:
    """One request: the model's free text after the prompt at row ``at`` of the questions."""

    def __init__(self, at: int, ids: Ids, spec: Spec, seed: int | None) -> None:
        self.at, self.ids = at, ids
        self._spec, self._seed = spec, seed
        self.token_ids: Sequence[int] = ()
        self.finish_reason: str | None = None

    @property
    def n_output_tokens(self) -> int:
        """Number of tokens of the answer."""
        return len(self.token_ids)

    def first(self) -> Request:
        """Return the request."""
        from vllm import SamplingParams

        sampling = SamplingParams(
            temperature=self._spec.temperature,
            max_tokens=self._spec.max_tokens,
            detokenize=False,
            seed=self._seed,
            **of_one_request(self._spec.max_tokens),
        )
        return Request(self.ids, sampling)

    def take(self, about: None, output: Any) -> Sequence[Request]:
        """Take the answer."""
        self.token_ids, self.finish_reason = output.token_ids, output.finish_reason
        return ()


def of_one_request(max_tokens: int) -> dict[str, Any]:
    """Return the settings of parameters that serve one request: they are not copied, and nothing comes in between.

    The first token says that the prompt was read; then comes the whole answer. Older versions of vLLM (0.24) have no
    such setting: there only the whole answer comes.
    """
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    known = SamplingParams.__struct_fields__
    copies = {"skip_clone": True} if "skip_clone" in known else {}
    if "stream_interval" not in known:
        return {"output_kind": RequestOutputKind.FINAL_ONLY, **copies}
    return {"output_kind": RequestOutputKind.CUMULATIVE, "stream_interval": max_tokens + 1, **copies}


class OptionSampling:
    """Asks for the log-probabilities of some tokens as the next one; one object serves all prompts."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], Any] = {}

    def of(self, wanted: tuple[int, ...]) -> Any:
        """Return the sampling parameters for the tokens ``wanted``."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        if wanted not in self._known:
            # Not prompt_logprobs: it computes every prompt again, without the prefix cache.
            self._known[wanted] = SamplingParams(
                temperature=0,
                max_tokens=1,
                detokenize=False,
                logprob_token_ids=list(wanted),
                output_kind=RequestOutputKind.FINAL_ONLY,
            )
        return self._known[wanted]


class OptionTalk:
    """A request for each branch of the trie: the probability of each option after the prompt at row ``at``."""

    def __init__(self, at: int, ids: Ids, trie: OptionTrie, sampling: OptionSampling) -> None:
        self.at, self.ids = at, ids
        self._walk, self._sampling = OptionWalk(trie), sampling
        self.n_output_tokens = 0

    def first(self) -> Request:
        """Return the request for the first tokens of all options."""
        return self._request(self._walk.start())

    def take(self, about: Branch, output: Any) -> Sequence[Request]:
        """Take the log-probabilities of a branch; return the requests for those that follow."""
        self.n_output_tokens += 1
        logprobs = output.logprobs[0]
        log_p = np.array([logprobs[token].logprob for token in about.wanted])
        return [self._request(branch) for branch in self._walk.take(about, log_p)]

    def probabilities(self) -> npt.NDArray[np.float32]:
        """Return the probability of each option; the rest to 1 is outside them."""
        return self._walk.probabilities().astype(np.float32)

    def _request(self, branch: Branch) -> Request:
        ids = np.append(self.ids, np.asarray(branch.prefix, dtype=np.int32))
        return Request(ids, self._sampling.of(branch.wanted), branch)
