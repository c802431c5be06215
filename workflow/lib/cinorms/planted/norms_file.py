"""The keys of a file of planted norms, resources/planted/{name}.yaml: coefficients of a cumulative-logit model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from cinorms.core.schema import Number, Value

Coefficient = Annotated[Number, Field(description="Coefficient in logits.")]


class NormsFile(Value):
    """A cumulative-logit model over the factors of a dataset."""

    title: str = Field(description="Name for people.")
    origin: str = Field(description="Where the numbers come from.")
    thresholds: tuple[Number, Number, Number, Number] = Field(
        description="Four rising cut points in logits, on the scale where the baseline flow is 0."
    )
    other_levels_sd: Number = Field(
        1.0, ge=0, description="Standard deviation of the seeded coefficients of levels that are not listed."
    )
    coefficients: Mapping[
        str, Annotated[Mapping[str, Coefficient], Field(description="Level -> coefficient.")]
    ] = Field(description="Factor -> level -> coefficient in logits; a baseline level has 0.")
