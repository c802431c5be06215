"""Check a document against a closed JSON schema; say in one message what is wrong and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from cinorms.errors import ConfigError

KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping of keys to values",
    "null": "empty",
}


def load_yaml(path: str | Path) -> Any:
    """Read a YAML file; a syntax error or a repeated key names the file and the line."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot be read ({reason})") from None
    try:
        return yaml.load(text, Loader=_UniqueKeys)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "an unknown line"
        raise ConfigError(f"{path}: not valid YAML at {where}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from None


class _UniqueKeys(yaml.SafeLoader):
    """A safe loader that refuses a key given twice: YAML would keep the last and say nothing."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key '{key}' is given twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def check(document: Any, schema_path: str | Path, file: str, prefix: str = "") -> None:
    """Raise a ``ConfigError`` for the first thing in ``document`` that ``schema_path`` does not allow.

    ``file`` names where the document comes from and ``prefix`` the key it stands under, for the message.
    """
    errors = sorted(_validator(str(schema_path)).iter_errors(document), key=_order)
    if errors:
        raise ConfigError(f"{file}: {_message(errors[0], prefix)}")


def unknown(file: str, key: str, given: object, allowed: Iterable[str], what: str) -> ConfigError:
    """Return the error for a name that does not exist: what was given, what there is, the nearest spelling."""
    return ConfigError(f"{file}: {key}: {what} {given!r} is not known; {listing(given, allowed)}")


def listing(given: object, allowed: Iterable[str]) -> str:
    """Return ``allowed: a, b, c`` and, where one is near to ``given``, ``did you mean 'b'?``."""
    names = sorted(str(name) for name in allowed)
    shown = ", ".join(names) if names else "none"
    near = difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    return f"allowed: {shown}" + (f"; did you mean '{near[0]}'?" if near else "")


@cache
def _validator(schema_path: str) -> Any:
    from jsonschema import Draft202012Validator

    schema = load_yaml(schema_path)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def _order(error: Any) -> tuple[int, str]:
    # A key that is not known explains more than the key then found missing beside it.
    return (error.validator != "additionalProperties", error.json_path)


def _where(error: Any, prefix: str) -> str:
    parts = [prefix] if prefix else []
    for part in error.absolute_path:
        if isinstance(part, int):
            parts[-1:] = [f"{parts[-1] if parts else ''}[{part}]"]
        else:
            parts.append(str(part))
    return ".".join(parts)


def _kind(schema_type: str | list[str]) -> str:
    names = [schema_type] if isinstance(schema_type, str) else schema_type
    return " or ".join(KINDS[name] for name in names)


def _message(error: Any, prefix: str) -> str:
    if error.validator in ("anyOf", "oneOf") and error.context:
        return _of_alternatives(error, prefix)
    where = _where(error, prefix)
    given = error.instance
    key = where or "the whole file"
    match error.validator:
        case "additionalProperties":
            return _unknown_key(error, where)
        case "propertyNames":
            return f"{key}: name {given!r} is not allowed; {error.schema.get('description', 'see config/README.md')}"
        case "required":
            absent = next(name for name in error.validator_value if name not in given)
            return f"{key}: key '{absent}' is missing; needed: {', '.join(error.validator_value)}"
        case "type":
            return f"{key}: {given!r} was given, {_kind(error.validator_value)} is needed"
        case "enum":
            return f"{key}: {given!r} is not allowed; {listing(given, error.validator_value)}"
        case "const":
            return f"{key}: {given!r} is not allowed; only {error.validator_value!r} is"
        case "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum":
            return f"{key}: {given!r} was given; allowed: {_bounds(error.schema)}"
        case "pattern":
            return (
                f"{key}: {given!r} is not allowed; {error.schema.get('description', error.validator_value)}"
            )
        case "minItems" | "minProperties" | "minLength":
            return f"{key}: at least {error.validator_value} needed, {len(given)} given"
        case "uniqueItems":
            return f"{key}: the same entry is given twice in {given!r}"
    return f"{key}: {error.message}"


def _of_alternatives(error: Any, prefix: str) -> str:
    """Explain the alternative that came closest: the one of the right type, else all the types."""
    deeper = [e for e in error.context if e.validator != "type" or len(e.path) > 0]
    if deeper:
        return _message(sorted(deeper, key=_order)[0], prefix)
    kinds = " or ".join(dict.fromkeys(_kind(e.validator_value) for e in error.context))
    return f"{_where(error, prefix)}: {error.instance!r} was given, {kinds} is needed"


def _unknown_key(error: Any, where: str) -> str:
    known = error.schema.get("properties", {})
    extra = next(str(name) for name in error.instance if name not in known)
    full = f"{where}.{extra}" if where else extra
    return f"{full}: there is no such key here; {listing(extra, known)}"


def _bounds(schema: dict[str, Any]) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
    }
    return ", ".join(f"{word} {schema[name]}" for name, word in words.items() if name in schema)
