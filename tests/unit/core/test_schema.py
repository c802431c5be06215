"""A schema that follows from a class has the shapes that messages are made for."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import ConfigDict, Field, ValidationError

from cinorms.core.errors import ConfigError
from cinorms.core.schema import Distinct, LeftOut, Name, Number, PartialValue, Value, schema_of
from cinorms.core.validation import check

Share = Annotated[Number, Field(gt=0, le=1)]
Levels = Annotated[Distinct[str], Field(min_length=1, description="Levels.")]


class Orders(PartialValue):
    """Orders of the options."""

    method: Literal["balanced", "fixed"]
    count: int = Field(3, ge=1, le=120)


class Stated(Orders):
    """Orders of which one key must be stated."""

    model_config = ConfigDict(json_schema_extra={"required": ["method"]})


class Everything(Value):
    """Every shape that a class of this project has."""

    name: str = Field(pattern=r"^[a-z]+(?!\n)$", description="a name")
    count: int = Field(ge=0)
    title: str = Field("none", description="A key that is called as a keyword of schemas.")
    share: Share
    share_or_word: Share | Literal["plurality"]
    text_or_number: str | Number
    may_be_null: str | None
    number_or_null: Number | None = Field(gt=0)
    word_or_null: Literal["planted", None]
    other_or_null: Literal["planted"] | None
    orders_or_null: Orders | None = Field(description="Own words.")
    models: LeftOut[Distinct[str]] = Field(None, min_length=1)
    columns: LeftOut[str | tuple[str, ...]] = None
    step: tuple[Share, Share]
    select: Mapping[str, Levels]
    named: Mapping[Annotated[Name, Field(description="a name in small letters")], Orders] = Field(
        min_length=1
    )
    orders: Orders = Field(description="Own words.")
    stated: Stated
    flag: bool = False


SHAPES: dict[str, dict[str, Any]] = {
    "name": {"type": "string", "pattern": r"^[a-z]+(?!\n)$", "description": "a name"},
    "count": {"type": "integer", "minimum": 0},
    "title": {
        "type": "string",
        "default": "none",
        "description": "A key that is called as a keyword of schemas.",
    },
    "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "share_or_word": {
        "anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1}, {"enum": ["plurality"]}]
    },
    "text_or_number": {"type": ["string", "number"]},
    "may_be_null": {"type": ["string", "null"]},
    "number_or_null": {"type": ["number", "null"], "exclusiveMinimum": 0},
    "word_or_null": {"enum": ["planted", None]},
    "other_or_null": {"enum": ["planted", None]},
    "models": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
    "columns": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "step": {
        "type": "array",
        "items": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "minItems": 2,
        "maxItems": 2,
    },
    "select": {
        "type": "object",
        "additionalProperties": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "uniqueItems": True,
            "description": "Levels.",
        },
    },
    "flag": {"type": "boolean", "default": False},
}
ORDERS = {
    "type": "object",
    "description": "Orders of the options.",
    "additionalProperties": False,
    "properties": {
        "method": {"enum": ["balanced", "fixed"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 120, "default": 3},
    },
}


@pytest.mark.parametrize("key", SHAPES)
def test_the_shape_of_a_key(key):
    assert schema_of(Everything)["properties"][key] == SHAPES[key]


def test_a_class_inside_a_class_is_put_in_with_the_keys_own_description():
    keys = schema_of(Everything)["properties"]
    assert keys["orders"] == {**ORDERS, "description": "Own words."}
    assert keys["orders_or_null"] == {**ORDERS, "type": ["object", "null"], "description": "Own words."}
    assert keys["named"] == {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {
            "pattern": r"^[a-z0-9][a-z0-9_-]{0,99}(?!\n)$",
            "description": "a name in small letters",
        },
        "additionalProperties": ORDERS,
    }


def test_a_section_needs_no_key_but_those_it_insists_on():
    assert "required" not in schema_of(Orders)
    assert schema_of(Stated)["required"] == ["method"]
    needed = set(schema_of(Everything)["required"])
    assert set(Everything.model_fields) - needed == {"title", "models", "columns", "flag"}


def test_a_schema_is_valid_closed_and_made_once():
    schema = schema_of(Everything)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False
    assert schema_of(Everything) is schema


def test_a_section_may_leave_out_keys_of_a_file_and_nothing_else():
    check({"method": "fixed"}, Stated, "study.yaml")
    with pytest.raises(
        ConfigError, match=r"^study\.yaml: the whole file: key 'method' is missing; required: method$"
    ):
        check({"count": 1}, Stated, "study.yaml")


def test_a_value_is_frozen_closed_and_keeps_whole_numbers_whole():
    class Sampling(Value):
        temperature: Number = Field(ge=0, le=2)

    assert repr(Sampling(temperature=0).temperature) == "0"
    assert repr(Sampling(temperature=0.0).temperature) == "0.0"
    with pytest.raises(ValidationError):
        Sampling(temperature=3)
    with pytest.raises(ValidationError):
        Sampling(temperature=1, heat=2)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        Sampling(temperature=1).temperature = 2  # type: ignore[misc]
