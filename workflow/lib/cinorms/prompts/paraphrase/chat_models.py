"""Chat models as paraphrasers, behind an API or loaded by vLLM. Packages are imported where they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.logs import redact
from cinorms.prompts.paraphrase.paraphraser import (
    INSTRUCTION,
    Ask,
    Candidates,
    ParaphraseError,
    candidates_in,
    not_installed,
    told,
)

#: OpenAI's own address, so that no variable of the environment can send the key to another one.
OPENAI = "https://api.openai.com/v1"

#: vLLM's settings for loading a model, by the key of the registry.
VLLM_SETTINGS = {
    "revision": "revision",
    "tokenizer_revision": "revision",
    "dtype": "dtype",
    "tensor_parallel_size": "gpus",
    "trust_remote_code": "trust_remote_code",
}

#: Longest chat in tokens: room for the 50 rewordings that a prompt set can have, within every model's limit.
MAX_MODEL_LEN = 4096

#: Tokens of a reply per rewording that was asked for: the papers' templates have about 40.
TOKENS_PER_REWORDING = 120


class OpenAIParaphraser:
    """A chat model behind OpenAI's API, or behind an address that speaks it, such as Gemini's."""

    packages = ("openai",)
    instruction = INSTRUCTION

    def __init__(self, entry: Mapping[str, Any], key_variable: str | None, key: str | None) -> None:
        try:
            import openai
        except ImportError:
            raise not_installed(entry["name"], "openai", "envs/openai.yaml") from None
        if key_variable and not key:
            raise ConfigError(
                f"paraphraser {entry['name']!r}: the variable {key_variable} is not set; export the key in "
                "the shell that starts the run (keep it out of files)"
            )
        self._secrets = [key] if key else []
        self._entry = entry
        self._openai = openai
        # A server of one's own may need no key, but the package insists on one.
        self._client = openai.OpenAI(
            api_key=key or "none",
            base_url=entry.get("base_url") or OPENAI,
            # Prompts and the key go to this address and to no other.
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )
        self._seeded = True

    def ask(self, ask: Ask) -> Candidates:
        """Ask for all rewordings of the round in one request."""
        completion = self._request(ask)
        # A server that filters what a model writes may send no choice at all.
        choice = completion.choices[0] if completion.choices else None
        finish = choice.finish_reason if choice else "no choice"
        reported = {
            "model": completion.model,
            "system_fingerprint": completion.system_fingerprint,
            "finish_reason": finish,
            "tokens": completion.usage and completion.usage.total_tokens,
            "seed": None if self._seeded else "refused by the server",
        }
        text = (choice.message.content if choice else None) or ""
        return Candidates(
            candidates_in(text, cut_off=finish == "length"),
            {name: str(value) for name, value in reported.items() if value is not None},
        )

    def _request(self, ask: Ask) -> Any:
        openai = self._openai
        reasoning = self._entry.get("reasoning")
        # A reasoning model takes neither temperature nor seed.
        settings: dict[str, Any] = {} if reasoning else {"temperature": ask.temperature}
        if reasoning and "effort" in reasoning:
            settings["reasoning_effort"] = reasoning["effort"]
        if self._seeded and not reasoning:
            settings["seed"] = ask.seed
        try:
            return self._client.chat.completions.create(
                model=self._entry["source"], messages=[{"role": "user", "content": told(ask)}], **settings
            )
        except openai.BadRequestError as error:
            # Gemini's address knows no seed and refuses a request that has one.
            if self._seeded and "seed" in str(error):
                self._seeded = False
                return self._request(ask)
            raise self._failure(error) from None
        except openai.OpenAIError as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> ParaphraseError:
        # Some servers repeat the key that they refuse.
        message = redact(str(error), self._secrets)
        return ParaphraseError(f"paraphraser {self._entry['name']!r}: {type(error).__name__}: {message}")


class VllmParaphraser:
    """A chat model with open weights, asked through vLLM without a server."""

    packages = ("vllm", "torch", "transformers")
    instruction = INSTRUCTION

    def __init__(self, entry: Mapping[str, Any]) -> None:
        try:
            from vllm import LLM, SamplingParams
        except ImportError:
            raise not_installed(entry["name"], "vllm", "envs/vllm.yaml") from None
        self._name = entry["name"]
        self._sampling = SamplingParams
        # What the entry leaves out is left to vLLM: its defaults are the registry's, but for the length, which
        # there is for short questions.
        settings = {name: entry[key] for name, key in VLLM_SETTINGS.items() if key in entry}
        settings["max_model_len"] = MAX_MODEL_LEN
        try:
            self._llm = LLM(model=entry["source"], **settings)
        except Exception as error:
            raise ParaphraseError(f"paraphraser {self._name!r}: vLLM cannot load it: {error}") from error

    def ask(self, ask: Ask) -> Candidates:
        """Ask for all rewordings of the round in one chat."""
        sampling = self._sampling(
            temperature=ask.temperature, seed=ask.seed, max_tokens=TOKENS_PER_REWORDING * (ask.wanted + 1)
        )
        try:
            outputs = self._llm.chat(
                [{"role": "user", "content": told(ask)}], sampling_params=sampling, use_tqdm=False
            )
        except Exception as error:
            # Above all a tokenizer without a chat template, and a GPU out of memory.
            raise ParaphraseError(f"paraphraser {self._name!r}: vLLM cannot ask it: {error}") from error
        reply = outputs[0].outputs[0]
        reported = {"finish_reason": str(reply.finish_reason)}
        return Candidates(candidates_in(reply.text, cut_off=reply.finish_reason == "length"), reported)
