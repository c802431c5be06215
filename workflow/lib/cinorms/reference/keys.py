"""The keys of a schema as rows: key, value, default, what it does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cinorms.core.validation import TYPES, bounds

Row = tuple[str, str, str, str]

_WORDS = {**TYPES, "null": "`null`"}
#: Several values of a type.
_SEVERAL = {"string": "text", "integer": "whole numbers", "number": "numbers", "boolean": "true or false"}


def key_rows(schema: Mapping[str, Any], defaults: Any, above: str = "") -> Iterator[Row]:
    """Yield a row for every key, those of nested settings among them; a default is that of ``defaults``, if any."""
    stated = defaults if isinstance(defaults, Mapping) else {}
    for name, field in schema["properties"].items():
        key, default = f"{above}{name}", stated.get(name, field.get("default"))
        if name == "kind":
            continue
        if "properties" in field:
            # A value that a class fills in for itself is not a default of the file.
            inner = default if name in stated else {k: v for k, v in (default or {}).items() if v is not None}
            yield from key_rows(field, inner, f"{key}.")
        else:
            needed = name in schema.get("required", [])
            known = "required" if needed else default_words(default, name in stated)
            yield f"`{key}`", type_words(field), known, field.get("description", "")
            yield from _named_rows(schema, field, key)


def _named_rows(schema: Mapping[str, Any], field: Mapping[str, Any], key: str) -> Iterable[Row]:
    """Return the rows of the keys that each value of a mapping has; one row where another key has them already."""
    each = field.get("additionalProperties")
    if not isinstance(each, Mapping) or "properties" not in each:
        return []
    keys = each["properties"].keys()
    for same, other in schema["properties"].items():
        if other.get("properties", {}).keys() == keys:
            needed = " and ".join(f"`{name}`" for name in each.get("required", []))
            about = f"{each['description']} Required: {needed}; a key that is left out is that of `{same}`."
            return [(f"`{key}.<name>`", f"a mapping with the keys of `{same}`", "", about)]
    return key_rows(each, None, f"{key}.<name>.")


def type_words(field: Mapping[str, Any]) -> str:
    """Return in words what a key can be."""
    if "anyOf" in field:
        return " or ".join(type_words(way) for way in field["anyOf"])
    if "enum" in field:
        return ", ".join("`null`" if value is None else f"`{value}`" for value in field["enum"])
    types = [field["type"]] if isinstance(field["type"], str) else field["type"]
    return _bounded(field, " or ".join(_type_words(name, field) for name in types))


def _type_words(name: str, field: Mapping[str, Any]) -> str:
    if name == "array" and "items" in field:
        return f"a list of {_several_words(field['items'])}"
    if name == "object" and isinstance(field.get("additionalProperties"), Mapping):
        return f"a mapping of names to {_several_words(field['additionalProperties'])}"
    return _WORDS[name]


def _several_words(field: Mapping[str, Any]) -> str:
    """Return in words what each of several values can be."""
    if "anyOf" in field:
        return " or ".join(_several_words(way) for way in field["anyOf"])
    if "enum" in field:
        return type_words(field)
    if field["type"] == "array":
        return f"lists of {_several_words(field['items'])}"
    if field["type"] == "object":
        return "mappings of keys to values"
    types = [field["type"]] if isinstance(field["type"], str) else field["type"]
    return _bounded(field, " or ".join(_SEVERAL[name] for name in types))


def _bounded(field: Mapping[str, Any], words: str) -> str:
    limits = bounds(field)
    return f"{words} ({limits})" if limits else words


def default_words(value: Any, stated: bool = False) -> str:
    """Return a default as a cell; empty where leaving the key out has a meaning of its own."""
    if value == "" or (value is None and not stated) or (isinstance(value, dict) and value):
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"
