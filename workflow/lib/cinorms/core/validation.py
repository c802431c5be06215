"""Check a document against a closed JSON schema; say in one message what is wrong and what is allowed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from cinorms.core.errors import ConfigError, listing, nearest

TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping of keys to values",
    "null": "empty",
}


#: Most values of a file, aliases written out: the largest here has some thousands.
MOST_VALUES = 1_000_000
#: Longest number, in characters.
MOST_DIGITS = 30
_UNWRITABLE = re.compile(r"[\0\ud800-\udfff]")


def load_yaml(path: str | Path) -> Any:
    """Read a YAML file; a syntax error or a repeated key names the file and the line."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot be read ({reason})") from None
    return read_yaml(text, str(path))


def read_yaml(text: str, place: str) -> Any:
    """Return what ``text`` holds; ``place`` names its source in messages."""
    try:
        document = _parsed(text)
        _size(document, {})
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "an unknown line"
        raise ConfigError(f"{place}: not valid YAML at {where}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{place}: not valid YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ConfigError(
            f"{place}: its lists and mappings are nested too deeply, or an anchor (&) holds itself; "
            "write the file without that"
        ) from None
    except OverflowError as error:
        raise ConfigError(f"{place}: {error}") from None
    return document


def _parsed(text: str) -> Any:
    try:
        return yaml.load(text, Loader=_FastLoader)
    except yaml.YAMLError:
        return yaml.load(text, Loader=_Loader)  # its messages are clearer


def _size(node: Any, known: dict[int, int]) -> int:
    """Return how many values ``node`` holds; those of an alias count at every use.

    Raises ``OverflowError`` beyond `MOST_VALUES`, ``RecursionError`` for what holds itself.
    """
    if not isinstance(node, dict | list):
        return 1
    if known.get(id(node)) == 0:
        raise RecursionError
    if id(node) not in known:
        known[id(node)] = 0  # under way
        inside = node.values() if isinstance(node, dict) else node
        known[id(node)] = 1 + sum(_size(each, known) for each in inside)
    if known[id(node)] > MOST_VALUES:
        raise OverflowError(f"its aliases (*) expand to more than {MOST_VALUES:,} values; use fewer")
    return known[id(node)]


class _PlainYaml(SafeConstructor):
    """YAML without its surprises: repeated keys, numbers to base 60 or 8, dates, tags that do not fit."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of ``node``; refuse one whose tag it does not fit, such as ``!!int abc``."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError):
            raise yaml.MarkedYAMLError(
                problem=f"{_shown(node.value)} is not what its tag '!!{node.tag.rpartition(':')[2]}' says; "
                "leave the tag out",
                problem_mark=node.start_mark,
            ) from None

    def construct_plain_number(self, node: yaml.ScalarNode) -> Any:
        """Return a number that people read as YAML does; refuse ``1:30`` (90), ``010`` (8) and ``1_000``."""
        whole = node.tag.endswith(":int")
        text = self.construct_scalar(node)
        if (
            ":" in text
            or "_" in text
            or (whole and re.fullmatch(r"[-+]?0[0-9]+", text))
            or len(text) > MOST_DIGITS
        ):
            raise yaml.MarkedYAMLError(
                problem=f"{text[:40]} is not a plain number; write it in decimal digits, or as text in quotes",
                problem_mark=node.start_mark,
            )
        return self.construct_yaml_int(node) if whole else self.construct_yaml_float(node)

    def construct_date(self, node: yaml.ScalarNode) -> Any:
        """Refuse a date: Snakemake reads study files too, and an impossible one stops it."""
        raise yaml.MarkedYAMLError(
            problem=f"YAML reads {node.value} as a date; put it in quotes", problem_mark=node.start_mark
        )

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue  # `<<: *anchor`, whose keys may be given again
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.MarkedYAMLError(
                    problem=f"{_shown(key)} cannot be a key", problem_mark=key_node.start_mark
                )
            if key in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key '{key}' appears twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class _Loader(_PlainYaml, yaml.SafeLoader):
    """Reads YAML in Python."""


class _FastLoader(_PlainYaml, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads YAML in C, ten times as fast: Snakemake reads the study and its schemas again in every job."""


for _loader in (_Loader, _FastLoader):
    for _tag in ("int", "float"):
        yaml.add_constructor(
            f"tag:yaml.org,2002:{_tag}", lambda reader, node: reader.construct_plain_number(node), _loader
        )
    yaml.add_constructor(
        "tag:yaml.org,2002:timestamp", lambda reader, node: reader.construct_date(node), _loader
    )


def check(document: Any, schema: Mapping[str, Any] | Path, file: str, prefix: str = "") -> None:
    """Raise a ``ConfigError`` for the first thing in ``document`` that ``schema`` (or a file with one) refuses.

    For the message, ``file`` names the document's source and ``prefix`` the key that holds it.
    """
    _check_text(document, file, prefix)
    stated = load_schema(schema) if isinstance(schema, Path) else schema
    errors = sorted(_validator()(stated).iter_errors(document), key=_order)
    if errors:
        raise ConfigError(f"{file}: {_message(errors[0], prefix)}")


def check_file(given: str, file: str, key: str) -> None:
    """Raise ``ConfigError`` unless the file that a setting names is there."""
    if not os.path.isfile(given):  # Path.is_file raises where a path is too long
        raise ConfigError(
            f"{file}: {key}: there is no file {given!r} in the folder that the study runs in ({Path.cwd()}); "
            "correct the path"
        )


def unknown(
    file: str, key: str, given: object, allowed: Iterable[str], what: str, hint: str = ""
) -> ConfigError:
    """Return the error for an unknown name: what is given, what is allowed, the nearest spelling."""
    article = "an" if what[0] in "aeiou" else "a"
    return ConfigError(f"{file}: {key}: {given!r} is not {article} {what}; {listing(given, allowed)}{hint}")


@cache
def load_schema(path: Path) -> Any:
    """Read a schema. It is cached: callers must not change it."""
    return load_yaml(path)


@cache
def _validator() -> Any:
    """Return a class of validators that takes whole and finite numbers as Python does."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def is_whole(_: object, value: object) -> bool:  # JSON Schema takes 3.0 for one, range() does not
        return isinstance(value, int) and not isinstance(value, bool)

    def is_number(_: object, value: object) -> bool:  # YAML has .nan, which no bound refuses, and .inf
        return is_whole(_, value) or (isinstance(value, float) and math.isfinite(value))

    def check_pattern(_: object, pattern: str, value: object, schema: Any) -> Iterator[ValidationError]:
        # Python's $ also fits before a line break at the end.
        fits = isinstance(value, str) and re.search(pattern, value) and not value.endswith("\n")
        if isinstance(value, str) and not fits:
            yield ValidationError(f"{value!r} does not match {pattern!r}")

    types = Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": is_whole, "number": is_number})
    return extend(Draft202012Validator, {"pattern": check_pattern}, type_checker=types)  # type: ignore[no-untyped-call]


def _check_text(document: Any, file: str, key: str) -> None:
    """Refuse keys that YAML reads as numbers or truth values (``1:``, ``on:``), and text that no file can hold."""
    if isinstance(document, str) and (found := _UNWRITABLE.search(document)):
        raise ConfigError(
            f"{file}: {key or 'the whole file'}: {_shown(document)} has the character {found[0]!r}, which no path or "
            "file of text can have; remove it"
        )
    if isinstance(document, dict):
        for name, value in document.items():
            where = _below(key, name)
            if not isinstance(name, str):
                raise ConfigError(f"{file}: {where}: YAML reads this key as {_shown(name)}; put it in quotes")
            _check_text(value, file, where)
    elif isinstance(document, list):
        for number, value in enumerate(document):
            _check_text(value, file, f"{key}[{number}]")


def _shown(value: object) -> str:
    """Return ``value`` as a message shows it, shortened."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def _below(where: str, name: object) -> str:
    """Return the place of the key ``name`` in what is at ``where``, in one line."""
    shown = str(name) if str(name).isprintable() else repr(name)
    return f"{where}.{shown}" if where else shown


def _order(error: Any) -> tuple[bool, str, bool]:
    # An unknown key explains more than the key that is then missing, a wrong type more than a bound.
    return (error.validator != "additionalProperties", error.json_path, error.validator != "type")


def _where(error: Any, prefix: str) -> str:
    where = prefix
    for part in error.absolute_path:
        where = f"{where}[{part}]" if isinstance(part, int) else _below(where, part)
    return where


def _kind(schema_type: str | list[str]) -> str:
    names = [schema_type] if isinstance(schema_type, str) else schema_type
    return " or ".join(TYPES[name] for name in names)


def _not_a(schema_type: str | list[str]) -> str:
    """Return what a value is that has none of the types: "not a list", "neither text nor empty"."""
    names = [TYPES[name] for name in ([schema_type] if isinstance(schema_type, str) else schema_type)]
    return f"not {names[0]}" if len(names) == 1 else f"neither {' nor '.join(names)}"


def _size_of(value: Any) -> str:
    """Return how long ``value`` is, in words."""
    n, unit = len(value), "character" if isinstance(value, str) else "entry"
    return f"it has {n} {unit if n == 1 else {'character': 'characters', 'entry': 'entries'}[unit]}"


def _message(error: Any, prefix: str) -> str:
    if error.validator in ("anyOf", "oneOf") and error.context:
        return _of_alternatives(error, prefix)
    where = _where(error, prefix)
    given = _shown(error.instance)
    key = where or "the whole file"
    match error.validator:
        case "additionalProperties":
            return _unknown_key(error, where)
        case "required":
            absent = next(name for name in error.validator_value if name not in error.instance)
            return f"{key}: key '{absent}' is missing; required: {', '.join(error.validator_value)}"
        case "type":
            return f"{key}: {given} is {_not_a(error.validator_value)}"
        case "enum":
            allowed = map(_plain, error.validator_value)
            return f"{key}: {given} is not allowed; {listing(error.instance, allowed)}"
        case "const":
            return f"{key}: {given} is not allowed; allowed: {_shown(error.validator_value)}"
        case "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum":
            return f"{key}: {given} is out of range; allowed: {bounds(error.schema)}"
        case "pattern":
            return f"{key}: {given} is not allowed; {error.schema.get('description', error.validator_value)}"
        case "minItems" | "minProperties" | "minLength":
            return f"{key}: {_size_of(error.instance)}; allowed: at least {error.validator_value}"
        case "maxItems" | "maxProperties" | "maxLength":
            return f"{key}: {_size_of(error.instance)}; allowed: at most {error.validator_value}"
        case "uniqueItems":
            return f"{key}: an entry appears twice in {given}; keep one"
        case "not":
            return f"{key}: this key is not allowed here"
    return f"{key}: {error.message}"


def _of_alternatives(error: Any, prefix: str) -> str:
    """Explain the one alternative that has the right type, else list what all of them allow."""
    here = [e for e in error.context if not e.path]
    wrong_type = {e.schema_path[0] for e in here if e.validator in ("type", "enum")}
    fitting = [e for e in error.context if e.schema_path[0] not in wrong_type]
    words = [name for e in here if e.validator == "enum" for name in e.validator_value]
    if fitting and not words:
        return _message(min(fitting, key=_order), prefix)
    allowed = " or ".join(dict.fromkeys(_alternative(e.schema) for e in here))
    near = nearest(error.instance, words)
    return f"{_where(error, prefix)}: {_shown(error.instance)} is not allowed; allowed: {allowed}{near}"


def _alternative(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(map(_plain, schema["enum"]))
    limits = bounds(schema)
    return f"{_kind(schema['type'])} ({limits})" if limits else _kind(schema["type"])


def _plain(value: object) -> str:
    return value if isinstance(value, str) else _shown(value)


def _unknown_key(error: Any, where: str) -> str:
    known = error.schema.get("properties", {})
    extra = next(str(name) for name in error.instance if name not in known)
    return f"{_below(where, extra)}: there is no such key here; {listing(extra, known)}"


def bounds(schema: Mapping[str, Any]) -> str:
    """Return the bounds of a number in words; nothing where it has none."""
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
    }
    return ", ".join(f"{word} {schema[name]}" for name, word in words.items() if name in schema)
