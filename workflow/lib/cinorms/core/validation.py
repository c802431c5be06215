"""Read YAML, and check it against a class (`cinorms.core.schema`): one message says what is wrong."""

import json
import os
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from yaml.constructor import SafeConstructor

from cinorms.core.errors import ConfigError, listing, nearest
from cinorms.core.schema import in_words, schema_of, values_of, ways_of

M = TypeVar("M", bound=BaseModel)
KeyPath = tuple[str | int, ...]

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
        try:
            document = yaml.load(text, Loader=_FastLoader)
        except yaml.YAMLError:
            document = yaml.load(text, Loader=_Loader)  # its messages are clearer
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


def _size(node: Any, sizes: dict[int, int]) -> int:
    """Return how many values ``node`` holds; those of an alias count at every use.

    Raises ``OverflowError`` beyond `MOST_VALUES`, ``RecursionError`` for what holds itself.
    """
    if not isinstance(node, dict | list):
        return 1
    if sizes.get(id(node)) == 0:
        raise RecursionError
    if id(node) not in sizes:
        sizes[id(node)] = 0  # under way
        inside = node.values() if isinstance(node, dict) else node
        sizes[id(node)] = 1 + sum(_size(value, sizes) for value in inside)
    if sizes[id(node)] > MOST_VALUES:
        raise OverflowError(f"its aliases (*) expand to more than {MOST_VALUES:,} values; use fewer")
    return sizes[id(node)]


class _PlainYaml(SafeConstructor):
    """YAML without its surprises: repeated keys, numbers to base 60 or 8, dates, tags that do not fit."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of ``node``, unless people read it in another way than YAML does."""
        tag = node.tag.rpartition(":")[2]
        if tag == "timestamp":  # Snakemake reads study files too, and an impossible date stops it
            raise _refused(node, f"YAML reads {node.value} as a date; put it in quotes")
        if tag in ("int", "float") and isinstance(text := node.value, str):
            base_8 = tag == "int" and re.fullmatch(r"[-+]?0[0-9]+", text)
            # 1:30 would be 90, 010 would be 8, and 1_000 a number.
            if ":" in text or "_" in text or base_8 or len(text) > MOST_DIGITS:
                raise _refused(
                    node,
                    f"{text[:40]} is not a plain number; write it in decimal digits, or as text in quotes",
                )
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError):
            raise _refused(
                node, f"{shown(node.value)} is not what its tag '!!{tag}' says; leave the tag out"
            ) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue  # `<<: *anchor`, whose keys may be given again
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise _refused(key_node, f"{shown(key)} cannot be a key")
            if key in seen:
                raise _refused(key_node, f"key '{key}' appears twice")
            seen.add(key)
        return super().construct_mapping(node, deep)


class _Loader(_PlainYaml, yaml.SafeLoader):
    """Reads YAML in Python."""


class _FastLoader(_PlainYaml, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads YAML in C, ten times as fast: Snakemake reads the study and its schemas again in every job."""


def _refused(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def load_as(cls: type[M], path: str | Path, shown: str = "") -> M:
    """Return what the file at ``path``, which messages name ``shown`` or by its path, holds.

    Raises ``ConfigError`` with the file, the key, what is given and what is allowed.
    """
    return check_document(load_yaml(path), cls, shown or str(path))


def check_document(document: Any, cls: type[M], file: str, prefix: str = "") -> M:
    """Return ``document`` as a ``cls``; raise a ``ConfigError`` for the first thing that is wrong with it.

    For the message, ``file`` names the document's source and ``prefix`` the key that holds it.
    """
    check_text(document, file, prefix)
    return parse(document, cls, lambda path: (file, key_of(path, prefix)))


def parse(document: Any, cls: type[M], stated_in: Callable[[KeyPath], tuple[str, str]]) -> M:
    """Do the same where a document has several sources: ``stated_in`` gives the file and the key of a path."""
    schema = schema_of(cls)
    try:
        # From JSON, pydantic is strict with types and takes a list for a tuple.
        return cls.model_validate_json(json.dumps(document), strict=True)
    except ValidationError as error:
        mistakes = [_mistake(each, document, schema) for each in error.errors(include_url=False)]
    first = min(mistakes, key=_order)
    if first.path:  # of several alternatives, the one that fits the value has its mistakes further in
        inside = [m for m in mistakes if m.path[: len(first.path)] == first.path and m.path != first.path]
        first = min(inside, key=_order, default=first)
    file, key = stated_in(first.path)
    raise ConfigError(f"{file}: {key}: {first.text}")


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


def check_text(document: Any, file: str, key: str = "") -> None:
    """Refuse keys that YAML reads as numbers or truth values (``1:``, ``on:``), and text that no file can hold."""
    if isinstance(document, str) and (odd := _UNWRITABLE.search(document)):
        raise ConfigError(
            f"{file}: {key or 'the whole file'}: {shown(document)} has the character {odd[0]!r}, which no path or "
            "file of text can have; remove it"
        )
    if isinstance(document, dict):
        for name, value in document.items():
            where = _below(key, name)
            if not isinstance(name, str):
                raise ConfigError(f"{file}: {where}: YAML reads this key as {shown(name)}; put it in quotes")
            check_text(value, file, where)
    elif isinstance(document, list):
        for number, value in enumerate(document):
            check_text(value, file, f"{key}[{number}]")
    elif isinstance(document, set | bytes):
        raise ConfigError(
            f"{file}: {key or 'the whole file'}: {shown(document)} is no text, number, list or mapping; write one"
        )


def shown(value: object) -> str:
    """Return a value as messages show it, in one line."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


class _Mistake(NamedTuple):
    """What is wrong at a ``path`` of a document."""

    path: KeyPath
    text: str
    rank: int = 1


def _order(mistake: _Mistake) -> tuple[bool, list[str], int]:
    # An unknown key (rank 0) explains more than the key that is then missing, a wrong type (2) less than a bound.
    return mistake.rank > 0, [str(part) for part in mistake.path], mistake.rank


def _mistake(error: Mapping[str, Any], document: Any, schema: Mapping[str, Any]) -> _Mistake:
    """Return an error of pydantic in this project's words."""
    path: KeyPath = ()
    above, value, last = schema, document, error["loc"][-1] if error["loc"] else None
    for part in error["loc"]:
        # What is not in the document names an alternative, a missing key, or a key itself ("[key]").
        if (
            part in value
            if isinstance(value, dict)
            else isinstance(value, list) and part in range(len(value))
        ):
            path, above, schema, value = (*path, part), schema, _inside(schema, part), value[part]
    match error["type"]:
        case "extra_forbidden":
            keys = {name for way in ways_of(above) for name in way.get("properties", ())}
            return _Mistake(path, f"there is no such key here; {listing(last, keys)}", 0)
        case "missing" if isinstance(last, str):
            # A section of a study file may leave out every key, but one of its files has to state it.
            needed = [name for way in ways_of(schema) for name in way.get("required", ())]
            listed = ", ".join(needed if last in needed else [last])
            return _Mistake(path, f"key '{last}' is missing; required: {listed}")
        case "string_pattern_mismatch" if last == "[key]":
            return _Mistake(path[:-1], _wrong(path[-1], above["propertyNames"]))
        case "json_invalid":  # too deep for pydantic: nothing else is wrong with JSON that Python wrote
            return _Mistake((), "its lists and mappings are nested too deeply")
        case "value_error":
            return _Mistake(path, str(error["ctx"]["error"]))
    return _Mistake(path, _wrong(value, schema), 2 if error["type"].endswith("_type") else 1)


def _inside(schema: Mapping[str, Any], part: str | int) -> Mapping[str, Any]:
    """Return the schema of what is at ``part`` of a mapping or a list; empty where there is none."""
    for way in ways_of(schema):
        others = way.get("items" if isinstance(part, int) else "additionalProperties")
        if inner := way.get("properties", {}).get(part, others):
            return inner if isinstance(inner, dict) else {}
    return {}


def _wrong(value: Any, schema: Mapping[str, Any]) -> str:
    """Say why ``value`` is not what ``schema`` allows."""
    for way in ways_of(schema):
        if "pattern" in way and isinstance(value, str):
            return f"{shown(value)} is not allowed; {way.get('description', way['pattern'])}"
    near = nearest(value, [word for word in values_of(schema) if isinstance(word, str)])
    return f"{shown(value)} is not allowed{near or ';'} allowed: {in_words(schema)}"


def key_of(path: Iterable[str | int], prefix: str = "") -> str:
    """Return the key at ``path`` as a message names it: ``arms.main.models[0]``."""
    where = prefix
    for part in path:
        where = f"{where}[{part}]" if isinstance(part, int) else _below(where, part)
    return where or "the whole file"


def _below(where: str, name: object) -> str:
    """Return the place of the key ``name`` in what is at ``where``, in one line."""
    shown = str(name) if str(name).isprintable() else repr(name)
    return f"{where}.{shown}" if where else shown
