"""One model at an OpenAI-compatible endpoint: requests, prices, and how failures are explained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cinorms.core.errors import EngineError
from cinorms.core.logs import redact
from cinorms.inference.engines.openai.replies import LONGEST_REASON, Failure, TraceReading, clean
from cinorms.inference.spec import OFF, Spec, reasons
from cinorms.inference.spending import Spending

OPENAI = "https://api.openai.com/v1"
#: Tokens that a chat format puts around one message, at most.
# ASSUME: 16 are enough for every endpoint's format; OpenAI's has 4.
TOKENS_AROUND_MESSAGE = 16
# ASSUME: no tokeniser needs fewer tokens for prompts and answers; English has 4 to 5 characters in a token.
CHARACTERS_PER_TOKEN = 32


@dataclass(frozen=True)
class Endpoint:
    """One model at one endpoint, and what changes no response: how it is reached and paid."""

    spec: Spec
    #: What the engine's declaration makes of the model's entry: every key is there.
    tuning: Mapping[str, Any]
    key: str | None = field(repr=False)

    @property
    def model(self) -> str:
        """The name that the endpoint knows the model by."""
        return str(self.spec.identity["source"])

    @property
    def url(self) -> str:
        """The endpoint's address."""
        return str(self.spec.identity.get("base_url") or OPENAI)

    @property
    def limits(self) -> Mapping[str, Any]:
        """The endpoint's limits in the registry."""
        return dict(self.tuning["limits"])

    @property
    def client_settings(self) -> dict[str, Any]:
        """The settings of a client, which never retries by itself: that is for the engine."""
        # A server of one's own may need no key, and must not receive OpenAI's.
        own = {"api_key": self.key or "none", "base_url": self.url, "max_retries": 0}
        return {**own, "timeout": float(self.limits["timeout"])}

    def body(self, chat: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """Return the request that asks ``chat``."""
        spec, reasoning = self.spec, self.spec.identity.get("reasoning")
        body: dict[str, Any] = {"model": self.model, "messages": list(chat)}
        if reasoning and "switch" not in reasoning:
            body["max_completion_tokens"] = self.most_output
            return body | ({"reasoning_effort": reasoning["effort"]} if "effort" in reasoning else {})
        body |= {"max_tokens": self.most_output, "temperature": spec.temperature}
        if reasoning and "effort" in reasoning:
            on = reasoning["effort"] != OFF
            body["chat_template_kwargs"] = {reasoning["switch"]: on}
            if on and "budget_field" in reasoning:
                body[reasoning["budget_field"]] = reasoning["extra_tokens"]
        # At temperature 0 nothing is drawn, and some endpoints refuse the parameter.
        return body | ({"seed": spec.seed + spec.repeat - 1} if spec.temperature else {})

    @property
    def most_output(self) -> int:
        """The longest output that a request may have, in tokens, reasoning included."""
        reasoning = self.spec.identity.get("reasoning") or {}
        return self.spec.max_tokens + int(reasoning.get("extra_tokens", 0))

    @property
    def traces(self) -> TraceReading | None:
        """How to tell a trace from an answer in a reply; None where the model does not reason."""
        if not reasons(self.spec):
            return None
        reasoning = self.spec.identity["reasoning"]
        marks = {name: reasoning[name] for name in ("begin", "end") if name in reasoning}
        return TraceReading(**marks, inline="switch" in reasoning, off=reasoning.get("effort") == OFF)

    def most_input(self, chat: Sequence[Mapping[str, str]]) -> int:
        """Return the most input tokens that ``chat`` can have: a token is at least one byte."""
        return sum(len(m["content"].encode("utf-8", "replace")) + TOKENS_AROUND_MESSAGE for m in chat)

    def impossible_counts(
        self, chat: Sequence[Mapping[str, str]], reply: Mapping[str, Any]
    ) -> dict[str, int]:
        """Return the token counts of a reply to ``chat`` that no request can take, each as the most that one can."""
        most = {
            "n_prompt_tokens": self.most_input(chat),
            "n_output_tokens": self.most_output,
            "n_trace_tokens": self.most_output,
        }
        return {name: limit for name, limit in most.items() if (reply.get(name) or 0) > limit}

    def cost(self, spending: Spending, chat: Sequence[Mapping[str, str]], reply: Mapping[str, Any]) -> float:
        """Return what a reply to ``chat`` cost; the most possible where it does not say, or cannot be right."""
        asked, given = sum(len(message["content"]) for message in chat), len(reply.get("text") or "")
        counted = []
        for name, length, most in (
            ("n_prompt_tokens", asked, self.most_input(chat)),
            ("n_output_tokens", given, self.most_output),
        ):
            tokens = reply.get(name) or 0
            # So few tokens cannot make a text of so many characters.
            counted.append(tokens if tokens and tokens * CHARACTERS_PER_TOKEN >= length else most)
        return spending.price(*counted)

    def spending(self) -> Spending:
        """Return the money that this job may spend."""
        tuning = self.tuning
        return Spending(
            Path(tuning["spending"]),
            str(tuning["job"]),
            tuning["max_cost_usd"],
            tuning["rates"],
            self.spec.model,
        )

    def explain(self, failure: Failure) -> EngineError:
        """Return the message that explains why ``failure`` ends the job, and what to do."""
        variable = self.tuning["key_variable"]
        advice = {
            "key": f"check the key in {variable}"
            if variable
            else "name the variable that holds its key as `key_variable` of the model's entry in "
            "config/models.yaml",
            "quota": "pay, or wait until the account's limit resets, then run again",
            "model": (
                f"the endpoint does not know model {self.model!r}: it may have been retired, or the key may "
                "not see it. Answers so far are kept. Check base_url, or give a model that is still served its own "
                "entry in config/models.yaml (it is another instrument)"
            ),
            "request": (
                "every request would be refused; correct the model's entry in config/models.yaml "
                "(a reasoning model needs `reasoning`: it takes no temperature and a larger output limit)"
            ),
            "redirect": (
                "prompts are sent to no other address than base_url; if that one is right, put it into base_url "
                "of the model's entry in config/models.yaml"
            ),
            "down": "check that the endpoint is up and base_url is right, then run again",
        }
        do = advice[failure.advice or "down"]
        reason = clean(failure.reason, self.secrets, LONGEST_REASON)
        text = f"model {self.spec.model!r} at {self.url}: {reason}; {do}"
        return EngineError(redact(f"{text}. Every response so far is in the journal", self.secrets))

    @property
    def secrets(self) -> list[str]:
        """Texts that must appear nowhere."""
        return [self.key] if self.key else []

    def facts(self) -> dict[str, Any]:
        """Return what the run record states about the endpoint."""
        request = {name: value for name, value in self.body([]).items() if name != "messages"}
        return {"device": self.url, "request": request}
