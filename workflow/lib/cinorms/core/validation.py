"""Read YAML, and check it against a class (`cinorms.core.schema`): one message says what is wrong."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from yaml.constructor import SafeConstructor

from cinorms.core.errors import ConfigError, listing, nearest
from cinorms.core.schema import in_words, schema_of, values_of, ways_of

M = TypeVar("M", bound=BaseModel)
KeyPath = tuple[str | int, ...]

#: Most values of a file, aliases written out, and how deep they are nested: the largest file has some thousands.
MOST_VALUES, MOST_DEPTH = 1_000_000, 100
#: 1:30 would be 90, 1_000 a number, 010 would be 8; and a number that is too long.
_ODD_NUMBER = re.compile(r"[:_]|^[-+]?0[0-9]+$|.{31}")
_UNWRITABLE = re.compile(r"[\0\ud800-\udfff]")


def load_yaml(path: str | Path) -> Any:
    """Read a YAML file; a syntax error or a repeated key names the file and the line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ConfigError(f"{path}: cannot be read ({reason})") from None
    return read_yaml(text, str(path))


def read_yaml(text: str, place: str) -> Any:
    """Return what ``text`` holds; ``place`` names its source in messages."""
    try:
        try:
            document = yaml.load(text, Loader=_FastLoader)
        except yaml.YAMLError:
            document = yaml.load(text, Loader=_Loader)  # its messages are clearer
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{place}: not valid YAML{line}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{place}: not valid YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ConfigError(f"{place}: its lists and mappings are nested too deeply") from None
    check_values(document, place)
    return document


class _PlainYaml(SafeConstructor):
    """YAML without its surprises: repeated keys, numbers to base 60 or 8, dates, tags that do not fit."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of ``node``, unless people read it in another way than YAML does."""
        tag, text = node.tag.rpartition(":")[2], node.value
        if tag == "timestamp":  # Snakemake reads study files too, and an impossible date stops it
            raise _refused(node, f"YAML reads {text} as a date; put it in quotes")
        if tag in ("int", "float") and isinstance(text, str) and _ODD_NUMBER.search(text):
            problem = f"{text[:40]} is not a plain number; write it in decimal digits, or as text in quotes"
            raise _refused(node, problem)
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError):
            problem = f"{shown(text)} is not what its tag '!!{tag}' says; leave the tag out"
            raise _refused(node, problem) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                raise _refused(key, "a list or a mapping cannot be a key")
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":  # `<<: *anchor`
                raise _refused(key, f"key '{key.value}' appears twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class _Loader(_PlainYaml, yaml.SafeLoader):
    """Reads YAML in Python."""


class _FastLoader(_PlainYaml, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads YAML in C, ten times as fast: Snakemake reads the study and its schemas again in every job."""


def _refused(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def check_values(document: Any, file: str) -> None:
    """Refuse keys that YAML does not read as text (``1:``, ``on:``), text that no file can hold, endless aliases."""
    rest: list[tuple[KeyPath, Any]] = [((), document)]
    for _ in range(MOST_VALUES):
        if not rest:
            return
        path, value = rest.pop()
        if len(path) > MOST_DEPTH:
            raise ConfigError(
                f"{file}: its lists and mappings are nested too deeply (allowed: {MOST_DEPTH}), or an anchor (&) "
                "holds itself; write the file without that"
            )
        if problem := _unusable(value):
            raise ConfigError(f"{file}: {key_of(path)}: {problem}")
        inside = (
            value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
        )
        rest += reversed([((*path, part), inner) for part, inner in inside])
    raise ConfigError(f"{file}: its aliases (*) expand to more than {MOST_VALUES:,} values; use fewer")


def _unusable(value: Any) -> str:
    """Return why no setting can be ``value``, whatever the setting; empty where one can."""
    if isinstance(value, dict):
        odd_keys = [key for key in value if not isinstance(key, str)]
        return f"YAML reads one of its keys as {shown(odd_keys[0])}; put it in quotes" if odd_keys else ""
    if isinstance(value, str):
        odd = _UNWRITABLE.search(value)
        return (
            f"{shown(value)} has the character {odd[0]!r}, which no file can have; remove it" if odd else ""
        )
    if value is None or isinstance(value, list | bool | int | float):
        return ""
    return f"{shown(value)} is no text, number, list or mapping; write one"


def load_as(cls: type[M], path: str | Path, shown: str = "") -> M:
    """Return what the file at ``path``, which messages name ``shown`` or by its path, holds.

    Raises ``ConfigError`` with the file, the key, what is given and what is allowed.
    """
    return check_document(load_yaml(path), cls, shown or str(path))


def check_document(document: Any, cls: type[M], file: str, prefix: str = "") -> M:
    """Return ``document``, read from ``file``, as a ``cls``; in messages, its keys are below the key ``prefix``."""
    return parse(document, cls, lambda path: (file, key_of(path, prefix)))


def parse(document: Any, cls: type[M], stated_in: Callable[[KeyPath], tuple[str, str]]) -> M:
    """Return ``document`` as a ``cls``; raise a ``ConfigError`` for one thing that is wrong with it.

    ``stated_in`` gives the file and the key of a path: a document can have several sources.
    """
    try:
        # From JSON, pydantic is strict with types and takes a list for a tuple.
        return cls.model_validate_json(json.dumps(document), strict=True)
    except ValidationError as error:
        mistakes = [(_path(each["loc"], document), each) for each in error.errors(include_url=False)]

    # An unknown key explains the key that is then missing. Of several alternatives, the one that fits has its mistakes
    # further in. A wrong type says less than a bound.
    path, first = min(mistakes, key=lambda mistake: mistake[1]["type"] != "extra_forbidden")
    if path:
        inside = [mistake for mistake in mistakes if mistake[0][: len(path)] == path]
        path, first = min(
            inside, key=lambda mistake: (-len(mistake[0]), mistake[1]["type"].endswith("_type"))
        )
    file, key = stated_in(path)
    raise ConfigError(f"{file}: {key}: {_in_words(first, path, schema_of(cls))}")


def _path(location: Iterable[str | int], document: Any) -> KeyPath:
    """Return the path in ``document`` of an error at pydantic's ``location``.

    What is not in the document names an alternative, a missing key, or a key itself ("[key]").
    """
    path: KeyPath = ()
    for part in location:
        is_key = isinstance(document, dict) and part in document
        if is_key or (isinstance(document, list) and part in range(len(document))):
            path, document = (*path, part), document[part]
    return path


def _in_words(error: Mapping[str, Any], path: KeyPath, schema: Mapping[str, Any]) -> str:
    """Return an error of pydantic at ``path`` in this project's words; ``schema`` is that of the whole document."""
    above = schema
    for part in path:
        above, schema = schema, _inside(schema, part)
    last = error["loc"][-1] if error["loc"] else None
    match error["type"]:
        case "extra_forbidden":
            keys = {name for way in ways_of(above) for name in way.get("properties", ())}
            return f"there is no such key here; {listing(last, keys)}"
        case "missing" if isinstance(last, str):
            # A section of a study file may leave out every key, but one of its files has to state it.
            needed = [name for way in ways_of(schema) for name in way.get("required", ())]
            return f"key '{last}' is missing; required: {', '.join(needed if last in needed else [last])}"
        case "value_error":
            return str(error["ctx"]["error"])
    if last == "[key]":
        schema = above["propertyNames"]
    given = error["input"]
    for way in ways_of(schema):
        if "pattern" in way and isinstance(given, str):
            return f"{shown(given)} is not allowed; {way.get('description', way['pattern'])}"
    near = nearest(given, [word for word in values_of(schema) if isinstance(word, str)])
    return f"{shown(given)} is not allowed{near or ';'} allowed: {in_words(schema)}"


def _inside(schema: Mapping[str, Any], part: str | int) -> Mapping[str, Any]:
    """Return the schema of what is at ``part`` of a mapping or a list; empty where there is none."""
    for way in ways_of(schema):
        others = way.get("items" if isinstance(part, int) else "additionalProperties")
        if inner := way.get("properties", {}).get(part, others):
            return inner if isinstance(inner, dict) else {}
    return {}


def check_file(path: str, file: str, key: str) -> None:
    """Raise ``ConfigError`` unless the file that a setting names is there."""
    if not os.path.isfile(path):  # Path.is_file raises where a path is too long
        raise ConfigError(
            f"{file}: {key}: there is no file {path!r} in the folder that the study runs in ({Path.cwd()}); "
            "correct the path"
        )


def unknown(
    file: str, key: str, given: object, allowed: Iterable[str], what: str, hint: str = ""
) -> ConfigError:
    """Return the error for an unknown name: what is given, what is allowed, the nearest spelling."""
    article = "an" if what[0] in "aeiou" else "a"
    return ConfigError(f"{file}: {key}: {given!r} is not {article} {what}; {listing(given, allowed)}{hint}")


def shown(value: object) -> str:
    """Return a value as messages show it, in one line."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def key_of(path: Iterable[str | int], prefix: str = "") -> str:
    """Return the key at ``path`` as a message names it: ``arms.main.models[0]``."""
    key = prefix
    for part in path:
        name = part if str(part).isprintable() else repr(part)
        key += f"[{part}]" if isinstance(part, int) else f".{name}" if key else str(name)
    return key or "the whole file"
