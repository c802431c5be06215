"""Settings of a model behind an OpenAI-compatible endpoint in an entry of config/models.yaml."""

from typing import Literal

from pydantic import Field

from cinorms.core.schema import LeftOut, Number, Value
from cinorms.inference.request import Effort
from cinorms.inference.settings import ServedSettings, TraceMarks


class OpenaiReasoning(TraceMarks):
    """For a model that reasons before it answers. It receives no temperature, unless it has a `switch`."""

    effort: LeftOut[Effort] = None
    """How long the model reasons; default: the model's own."""
    extra_tokens: int = Field(default=0, ge=0, le=1_000_000)
    """Tokens that reasoning may take, on top of the arm's max_tokens; an arm's own budget overrides it."""
    switch: LeftOut[str] = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """For a server of open models: variable of the chat template that is true for reasoning and false for none
    (enable_thinking), sent as chat_template_kwargs in place of the effort."""
    budget_field: LeftOut[str] = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Field of a request that limits the trace alone (thinking_token_budget of vLLM's server), if the server has
    one."""


class Limits(Value):
    """How fast the endpoint may be asked. Changes no response."""

    concurrency: int = Field(default=64, ge=1, le=10_000)
    """Most requests under way at once."""
    requests_per_minute: LeftOut[Number] = Field(default=None, gt=0, le=10**9)
    """Most requests per minute."""
    tokens_per_minute: LeftOut[Number] = Field(default=None, gt=0, le=10**12)
    """Most tokens per minute, counting the longest possible answers."""
    timeout: Number = Field(default=120.0, gt=0, le=86_400)
    """Seconds after which an unanswered request is sent again."""


class OpenAISettings(ServedSettings):
    """A model behind an endpoint that speaks one of OpenAI's APIs."""

    base_url: str | None = Field(default=None, pattern=r"^https?://[^@?\s]+$")
    """Address of an OpenAI-compatible endpoint (https://host/v1), without any key; null for OpenAI itself."""
    key_variable: LeftOut[str] = Field(default=None, pattern=r"^[A-Z][A-Z0-9_]*$")
    """Environment variable with the endpoint's key; default: OPENAI_API_KEY, or none with another base_url."""
    api: LeftOut[Literal["chat", "responses"]] = None
    """Which of the endpoint's APIs is asked: chat (/chat/completions; the default) or responses (/responses), where
    some of OpenAI's models answer only."""
    ends: LeftOut[str] = Field(default=None, pattern=r"^20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$")
    """The day on which the endpoint stops serving the model, as 2027-01-14; checks and the plan warn from 60
    days before."""
    reasoning: LeftOut[OpenaiReasoning] = Field(default=None, description=str(OpenaiReasoning.__doc__))
    limits: Limits = Field(default=Limits(), description=str(Limits.__doc__))

    @property
    def needed_key_variable(self) -> str | None:
        """The environment variable with the key: a server of one's own never receives OpenAI's."""
        return self.key_variable or (None if self.base_url else "OPENAI_API_KEY")
