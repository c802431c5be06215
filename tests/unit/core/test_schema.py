"""A schema that follows from a class has the shapes that messages are made for."""

from collections.abc import Mapping
from typing import Annotated, Literal

import pytest
from pydantic import ConfigDict, Field, ValidationError

from cinorms.core.errors import ConfigError
from cinorms.core.schema import Distinct, Name, NotRequired, Number, PartialValue, Value, schema_of
from cinorms.core.validation import check_document


class Orders(PartialValue):
    """Orders of the options."""

    method: Literal["balanced", "fixed"]
    count: int = Field(3, ge=1, le=120)


class Stated(Orders):
    """Orders of which one key must be stated."""

    model_config = ConfigDict(json_schema_extra={"required": ["method"]})


class Sections(Value):
    """Classes inside a class, as keys, as what may be null, and as the values of a mapping."""

    title: str = "none"
    models: NotRequired[Distinct[str]] = Field(None, min_length=1)
    orders: Orders = Field(description="Own words.")
    orders_or_null: Orders | None = Field(description="Own words.")
    named: Mapping[Annotated[Name, Field(description="a name in small letters")], Orders] = Field(
        min_length=1
    )


ORDERS = {
    "type": "object",
    "description": "Orders of the options.",
    "additionalProperties": False,
    "properties": {
        "method": {"enum": ["balanced", "fixed"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 120, "default": 3},
    },
}


def test_a_class_inside_a_class_is_put_in_with_the_keys_own_description():
    keys = schema_of(Sections)["properties"]
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
    needed = set(schema_of(Sections)["required"])
    assert set(Sections.model_fields) - needed == {"title", "models"}


def test_a_section_may_leave_out_keys_of_a_file_and_nothing_else():
    check_document({"method": "fixed"}, Stated, "study.yaml")
    missing = r"^study\.yaml: the whole file: key 'method' is missing; required: method$"
    with pytest.raises(ConfigError, match=missing):
        check_document({"count": 1}, Stated, "study.yaml")


def test_a_value_is_frozen_closed_and_keeps_whole_numbers_whole():
    class Sampling(Value):
        temperature: Number = Field(ge=0, le=2)

    assert [repr(Sampling(temperature=given).temperature) for given in (0, 0.0)] == ["0", "0.0"]
    for wrong in ({"temperature": 3}, {"temperature": 1, "heat": 2}):
        with pytest.raises(ValidationError):
            Sampling(**wrong)
    with pytest.raises(ValidationError):
        Sampling(temperature=1).temperature = 2  # type: ignore[misc]
