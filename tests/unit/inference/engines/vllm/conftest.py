"""What stands in for vLLM and for a tokenizer: values that a test can predict."""

import os
import random
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cinorms.core.ending import OPENED
from cinorms.inference.engines.vllm import conversations, offline

REASONING = {"effort": "high", "budget": 20, "begin": "<think>\n", "end": "</think>\n\n", "switch": "thinks"}


class Letters:
    """A tokenizer whose tokens are letters, and one for the closing mark if it has one; 0 ends a turn."""

    chat_template, bos_token, all_special_ids, eos_token_id = "x", None, (0,), 0

    def __init__(self, one_token: bool = False) -> None:
        self.one_token = one_token

    def __call__(self, texts: Any, add_special_tokens: bool = True, **settings: Any) -> dict[str, Any]:
        if isinstance(texts, str):
            return {"input_ids": self.ids(texts)}
        return {"input_ids": [[2] * add_special_tokens + self.ids(text) for text in texts]}

    def ids(self, text: str) -> list[int]:
        return [ord(c) for c in (text.replace("</think>", "\x01") if self.one_token else text)]

    def batch_decode(self, ids: Any, **settings: Any) -> list[str]:
        assert settings == {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
        return ["".join(chr(i) for i in each if i).replace("\x01", "</think>") for each in ids]

    def apply_chat_template(
        self, chat: Any, tokenize: bool, add_generation_prompt: bool, **variables: Any
    ) -> str:
        assert not tokenize
        words = [each["content"] for each in chat] + [f"{name}={value}" for name, value in variables.items()]
        return "|".join(words) + "|assistant:" * add_generation_prompt


class Engine:
    """Finishes some of the requests under way in each step, in any order, with what ``answer`` returns."""

    def __init__(self, answer: Callable[[list[int], Any], Any], seed: int = 3) -> None:
        self.llm_engine, self.answer, self.chance = self, answer, random.Random(seed)
        self.under_way: dict[str, Any] = {}
        self.begun: list[Any] = []
        self.most = self.resets = 0
        self.aborted: list[str] = []

    def abort_request(self, names: list[str]) -> None:
        self.aborted = names

    def reset_prefix_cache(self) -> None:
        self.resets += 1

    def add_request(
        self, name: str, prompt: dict[str, Any], sampling: Any, priority: int, lora_request: Any = None
    ) -> None:
        assert name not in self.under_way
        ids = prompt["prompt_token_ids"]
        self.under_way[name] = (ids, sampling)
        self.begun.append(SimpleNamespace(ids=ids, sampling=sampling, priority=priority, lora=lora_request))
        self.most = max(self.most, len(self.under_way))

    def step(self) -> list[Any]:
        outputs = []
        for name in [name for name in self.under_way if self.chance.random() < 0.3]:
            output = self.answer(*self.under_way.pop(name))
            outputs.append(SimpleNamespace(request_id=name, finished=True, outputs=[output]))
        if self.under_way:
            half = next(iter(self.under_way))
            outputs.append(SimpleNamespace(request_id=half, finished=False, outputs=[]))
        return outputs


class SamplingParams(SimpleNamespace):
    """Settings of a request, as they are stated."""

    __struct_fields__ = ("temperature", "skip_clone")


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Stand in for vLLM, whose engine is what it is told; return what vLLM finds on this machine: four GPUs."""
    found = SimpleNamespace(is_cpu=lambda: False, is_unspecified=lambda: False, device_count=lambda: 4)
    found.get_device_name, found.has_bfloat16 = lambda: "H200", True
    cpu = SimpleNamespace(_is_avx512_bf16_supported=lambda: found.has_bfloat16)
    for name, content in {
        "torch": {"cpu": cpu},
        "vllm": {"LLM": lambda **told: told, "__version__": "0", "SamplingParams": SamplingParams},
        "vllm.platforms": {"current_platform": found},
        "vllm.lora.request": {"LoRARequest": lambda *told: told},
        "vllm.sampling_params": {"RequestOutputKind": SimpleNamespace(CUMULATIVE=1, FINAL_ONLY=2)},
    }.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**content))
    monkeypatch.setattr(os, "environ", {**os.environ, offline.BATCH_INVARIANT: "of the shell"})
    conversations.option_sampling.cache_clear()
    yield found
    conversations.option_sampling.cache_clear()
    OPENED.pop_all()
