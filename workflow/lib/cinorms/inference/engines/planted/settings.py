"""What is planted in a respondent, as an entry of config/models.yaml states it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cinorms.core.schema import LeftOut, Number, Value
from cinorms.inference.settings import EntrySettings

Weight = Annotated[Number, Field(ge=0)]


class Invalid(Value):
    """Share of each kind of invalid answer."""

    refusal: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Refuses to judge.")
    needs_context: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Asks for context.")
    nonsense: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Not of the scale.")
    ambiguous: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Several options.")
    truncated: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Cut off.")
    empty: LeftOut[Number] = Field(default=None, ge=0, le=1, description="Nothing.")


class Planted(Value):
    """What is planted. The defaults are those of ``cinorms.planted.respondents.Respondent``."""

    norms: LeftOut[str] = Field(default=None, description="Coefficients, by file name in resources/planted.")
    shift: LeftOut[Number] = Field(
        default=None, description="Added to the acceptability of every flow, in logits."
    )
    scale: LeftOut[Number] = Field(
        default=None,
        ge=0,
        description="Multiplies all coefficients; below 1 the respondent tells flows apart less.",
    )
    template_sd: LeftOut[Number] = Field(
        default=None, ge=0, description="Standard deviation of the effects of the templates, in logits."
    )
    noise: LeftOut[Number] = Field(
        default=None, ge=0, description="Scale of the logistic noise of single answers, in logits."
    )
    position_share: LeftOut[Number] = Field(
        default=None,
        ge=0,
        le=1,
        description="Share of answers that follow the position of the option, not the flow.",
    )
    position_weights: LeftOut[list[Weight]] = Field(
        default=None,
        min_length=5,
        max_length=5,
        description="How those answers spread over the five positions, first to last.",
    )
    verbose: LeftOut[Number] = Field(
        default=None, ge=0, le=1, description="Share of valid answers that come inside a longer text."
    )
    invalid: LeftOut[Invalid] = Field(default=None, description=str(Invalid.__doc__))
    control: LeftOut[Literal["constant_answer", "constant_position", "uniform", "refusing"]] = Field(
        default=None, description="A negative control instead of norms."
    )


class PlantedSettings(EntrySettings):
    """A respondent with known norms."""

    planted: Planted = Field(description="What is planted.")
