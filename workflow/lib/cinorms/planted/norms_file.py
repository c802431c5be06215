"""Files of planted norms, resources/planted/{name}.yaml: coefficients of a cumulative-logit model."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.core.schema import Number, Value
from cinorms.core.validation import load_as

Coefficient = Annotated[Number, Field(description="Coefficient in logits.")]


class NormsFile(Value):
    """A cumulative-logit model over the factors of a dataset."""

    title: str = Field(description="Name for people.")
    origin: str = Field(description="Where the numbers come from.")
    thresholds: tuple[Number, Number, Number, Number]
    """Four rising cut points in logits, on the scale where the baseline flow is 0."""
    other_levels_sd: Number = Field(1.0, ge=0)
    """Standard deviation of the seeded coefficients of levels that are not listed."""
    coefficients: Mapping[
        str, Annotated[Mapping[str, Coefficient], Field(description="Level -> coefficient.")]
    ] = Field(description="Factor -> level -> coefficient in logits; a baseline level has 0.")


def load_planted(files: Root, name: str) -> dict[str, Any]:
    """Read and check a file of planted norms, the coefficients that respondents hold."""
    path = files.names("planted")[name]
    norms = load_as(NormsFile, path, files.shown(path)).model_dump(mode="json", exclude_unset=True)
    if sorted(set(norms["thresholds"])) != norms["thresholds"]:
        raise ConfigError(
            f"{files.shown(path)}: thresholds: {norms['thresholds']} do not rise; put each above the last"
        )
    return norms
