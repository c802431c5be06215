"""Files as pydantic classes: a class declares its keys once; checks, messages and JSON schemas follow.

How to use it::

    class Orders(Value):
        '''In which orders the answer options are shown.'''

        method: Literal["balanced", "random", "fixed"] = Field(description="How orders are made.")
        count: int = Field(ge=1, le=120, description="Orders per wording.")

    orders = load_as(Orders, path)  # the typed, frozen value, or one message for the first mistake

- ``Value`` is the base of all such classes: frozen, no other keys; a text below a key describes it (a key whose
  type has a description of its own needs `Field(description=...)`).
- ``Number`` is a number that remains whole if it is written whole (0 does not become 0.0).
- ``T | None`` allows ``null`` in a file. ``NotRequired[T]`` with the default None is a key that may be left out and
  may not be ``null``.
- ``Distinct[T]`` is a list without repeated entries; ``Name`` is a name as studies give them.
- ``Text`` is one line of text.
- ``ModelName`` is the name of a model; read with labels as context, it is the model's label.
- ``PartialValue`` is one whose keys a file may leave out, because the files below it state them.

``schema_of`` writes the schema in the few shapes that ``cinorms.core.validation.check_document`` explains well.
"""

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
)
from pydantic_core import CoreSchema

DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: What pydantic calls a bound of a union, and what JSON Schema calls it.
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
#: Keywords of a schema that hold a schema.
_ALONE = ("items", "additionalProperties", "propertyNames")

T = TypeVar("T")


class _NotNull:
    """Refuses ``null`` for a type that has None for "left out"."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        nullable: Any = handler(source)
        inner: CoreSchema = nullable["schema"]
        return inner


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if any(value in values[:n] for n, value in enumerate(values)):
        raise ValueError(f"an entry appears twice in {list(values)}; keep one")
    return values


def _called(name: str, info: ValidationInfo) -> str:
    return str((info.context or {}).get(name, name))


Number = int | float
NotRequired = Annotated[T | None, _NotNull()]
Distinct = Annotated[tuple[T, ...], AfterValidator(_distinct), Field(json_schema_extra={"uniqueItems": True})]
#: A name as studies give them; files are called after it, and file systems take 255 bytes.
NAME = r"^[a-z0-9][a-z0-9_-]{0,99}(?!\n)$"
Name = Annotated[
    str, Field(pattern=NAME, description="names have lower-case letters, digits, '-' and '_' (at most 100)")
]
#: The name of a model. Whatever is read again with labels by name as pydantic's context has them in place of the names.
ModelName = Annotated[str, AfterValidator(_called)]
#: The name of a file of resources.
ResourceName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*(?!\n)$")]
#: One line of text. Python's $ also fits before a line break at the end.
Text = Annotated[
    str, Field(pattern=r"^\S(.*\S)?(?!\n)$", description="one line of text without spaces around it")
]
#: Text that is not empty.
SomeText = Annotated[str, Field(min_length=1)]
SHA256 = r"^[0-9a-f]{64}(?!\n)$"


class Value(BaseModel):
    """A frozen value read from a file; keys that it does not declare are refused."""

    # Rust's regular expressions, the default, have no lookahead.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        regex_engine="python-re",
        defer_build=True,
        allow_inf_nan=False,
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the JSON schema, where the text below a key describes it.

        pydantic's own `use_attribute_docstrings` would read the source of every class at every start.
        """
        written = handler(schema)
        properties = handler.resolve_ref_schema(written).get("properties", {})
        for name, text in _texts_below_keys(cls).items():
            if name in properties and cls.model_fields[name].description is None:
                properties[name]["description"] = text
        return written


class PartialValue(Value):
    """A value whose keys a file may leave out, because the files below it state them."""

    model_config = ConfigDict(json_schema_extra=lambda schema: schema.pop("required", None))


def _texts_below_keys(cls: type[BaseModel]) -> dict[str, str]:
    """Return the text below each key of a class and of those that it extends."""
    texts: dict[str, str] = {}
    for each in (base for base in reversed(cls.__mro__) if issubclass(base, Value)):
        written = _classes_of(each.__module__).get(each.__name__)
        for key, below in pairwise(written.body if written else ()):
            if isinstance(key, ast.AnnAssign) and isinstance(below, ast.Expr):
                texts[ast.unparse(key.target)] = inspect.cleandoc(ast.literal_eval(below.value))
    return texts


@cache
def _classes_of(module: str) -> dict[str, ast.ClassDef]:
    """Return the classes that a module writes by name; `inspect` would read the module for each of them."""
    written = ast.parse(inspect.getsource(sys.modules[module])).body
    return {each.name: each for each in written if isinstance(each, ast.ClassDef)}


@cache
def schema_of(cls: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of ``cls``. It is cached: callers must not change it."""
    schema = cls.model_json_schema()
    return {"$schema": DIALECT, **_clean(schema, schema.pop("$defs", {}))}


def _clean(schema: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """Return ``schema`` with its references resolved, without titles, in the shapes that messages explain well."""
    if "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _clean({**defs[schema["$ref"].removeprefix("#/$defs/")], **rest}, defs)
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "patternProperties"):
            value = {name: _clean(part, defs) for name, part in value.items()}
        elif key in ("anyOf", "prefixItems"):
            value = [_clean(part, defs) for part in value]
        elif key in _ALONE and isinstance(value, dict):
            value = _clean(value, defs)
        elif key == "description":  # in a class it may have several lines
            value = "\n\n".join(" ".join(part.split()) for part in value.split("\n\n"))
        if schema.get("type") == "array":  # of one that is looked through for repeated entries
            key = key.replace("Length", "Items")
        if key != "title" and not (key == "default" and value is None):
            kept[_BOUNDS.get(key, key)] = value
    if "patternProperties" in kept:  # a mapping whose names have a pattern
        ((pattern, values),) = kept.pop("patternProperties").items()
        kept["propertyNames"] = {**kept.get("propertyNames", {}), "pattern": pattern}
        kept["additionalProperties"] = values
    if "prefixItems" in kept and all(item == kept["prefixItems"][0] for item in kept["prefixItems"]):
        kept["items"] = kept.pop("prefixItems")[0]
    if "const" in kept:
        kept["enum"] = [kept.pop("const")]
    if "enum" in kept:
        kept.pop("type", None)  # "is not allowed; allowed: ..." says more than a wrong type
    return _alternatives(kept) if "anyOf" in kept else kept


def _alternatives(schema: dict[str, Any]) -> dict[str, Any]:
    """Return ``schema`` without ``anyOf`` where one type, or one and null, means the same."""
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    options = [option for option in schema["anyOf"] if option != {"type": "null"}]
    if {"type": "number"} in options:
        options = [option for option in options if option != {"type": "integer"}]
    nullable = {"type": "null"} in schema["anyOf"]
    if len(options) > 1 and all(option.keys() == {"type"} for option in options):
        return {"type": [*(option["type"] for option in options), *(["null"] if nullable else [])], **rest}
    if len(options) > 1 or "anyOf" in options[0]:
        listed = options if len(options) > 1 else options[0]["anyOf"]
        return {"anyOf": [*listed, {"type": "null"}] if nullable else listed, **rest}
    only = dict(options[0])
    if nullable and "enum" in only:
        only["enum"] = [*only["enum"], None]
    elif nullable:
        only["type"] = [only["type"], "null"]
    return {**only, **rest}


# --- What a schema allows, in words, for messages and for pages

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping of keys to values",
}
#: Several values of a type.
_SEVERAL = {
    "string": "text",
    "integer": "whole numbers",
    "number": "numbers",
    "boolean": "true or false",
    "object": "mappings of keys to values",
}
_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "length at least {}",
    "maxLength": "length at most {}",
    "minItems": "length at least {}",
    "maxItems": "length at most {}",
    "minProperties": "length at least {}",
    "maxProperties": "length at most {}",
}


def ways_of(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the alternatives of a schema: itself where it has one."""
    return schema.get("anyOf") or [schema]


def values_of(schema: Mapping[str, Any]) -> list[Any]:
    """Return the values that a schema lists."""
    return [value for way in ways_of(schema) for value in way.get("enum", ())]


def in_words(schema: Mapping[str, Any], mark: str = "", several: bool = False) -> str:
    """Return what a value, or each of ``several``, can be; ``mark`` stands around values that are listed."""
    if "anyOf" in schema:
        return " or ".join(in_words(way, mark, several) for way in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"{mark}{'null' if value is None else value}{mark}" for value in schema["enum"])
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    words = " or ".join(_type_in_words(name, schema, mark, several) for name in types)
    limits = ", ".join(text.format(schema[name]) for name, text in _LIMITS.items() if name in schema)
    return f"{words} ({limits})" if limits else words


def _type_in_words(name: str, schema: Mapping[str, Any], mark: str, several: bool) -> str:
    if name == "null":
        return f"{mark}null{mark}"
    if name == "array" and "items" in schema:
        return f"{'lists' if several else 'a list'} of {in_words(schema['items'], mark, True)}"
    values = schema.get("additionalProperties")
    if name == "object" and isinstance(values, Mapping) and not several:
        return f"a mapping of names to {in_words(values, mark, True)}"
    return (_SEVERAL if several else _TYPES)[name]
