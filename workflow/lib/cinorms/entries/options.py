"""Options: the keys that an entry of a study can have, each with its type, bounds, default and one sentence.

They are the one declaration of an option. The checks and their messages, the defaults, the JSON schema for editors
and the reference in the site are derived from them.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from cinorms.core.schema import Distinct, ModelName, NotRequired, Number, Value, schema_of

#: A list of names, at least one, none twice.
Names = Annotated[Distinct[str], Field(min_length=1)]
Models = Annotated[Distinct[ModelName], Field(min_length=1)]
#: Factor -> levels of it to keep.
Select = Mapping[str, Annotated[Names, Field(description="Levels of this factor to keep.")]]
#: A number of valid answers, and a share of them that must agree.
TVal = Annotated[int, Field(ge=0, le=1_000_000)]
TMaj = Annotated[Number, Field(gt=0, le=1)] | Literal["plurality"]


class Options(Value):
    """The options of an entry. A field that the study leaves out has its default; null is never a value."""

    model_config = ConfigDict(populate_by_name=True)

    kind: str = Field(description="The kind of this entry.")

    @classmethod
    def schema_for(cls, kind: str, about: str) -> dict[str, Any]:
        """Return the JSON schema of an entry of ``kind``."""
        schema = schema_of(cls)
        named = {"kind": {"description": "The kind of this entry.", "const": kind}}
        return {**schema, "description": about, "properties": {**schema["properties"], **named}}

    def check_options(self, place: Any) -> None:
        """Raise ``ConfigError`` for names, levels and files that only the study knows; ``place`` is an `EntryLocation`.

        A kind's own options extend it, and call that of the class they extend.
        """


class OfArms(Options):
    """Options of entries made from the answers or norms of models in arms."""

    arms: Names = Field(description="The arms to use.")
    models: NotRequired[Models] = None
    """The models to use, in this order; default: all models of the arms."""


class OfFlows(OfArms):
    """Options of entries that can use a part of the flows."""

    select: NotRequired[Select] = None
    """Factor -> list of its levels; flows with other levels are left out."""


class OfNorms(OfFlows):
    """Options of entries made from norms under thresholds."""

    t_val: NotRequired[TVal] = None
    """Valid answers that a flow needs; default: the study's t_val, 0 for none."""
    t_maj: NotRequired[TMaj] = None
    """Share of the valid answers that must agree, or plurality; default: the study's t_maj."""


#: Attributes of a model's registry entry that an analysis can name.
MODEL_ATTRIBUTES = ("family", "capacity", "alignment", "quantisation", "dtype")
#: Attributes of an arm: the conditions in which its models were asked.
ARM_ATTRIBUTES = (
    "dataset",
    "scale",
    "paraphraser",
    "temperature",
    "sample",
    "order",
    "readout",
    "wrapper",
    "layout",
    "system",
    "reasoning",
)
#: Attributes that tell models apart: the columns of a table of models. Models compared in one agree in the others.
DESCRIBED = ("family", "capacity", "alignment", "quantisation")
