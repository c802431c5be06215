"""Check what a YAML file holds against a class (`cinorms.core.schema`): one message says what is wrong."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cinorms.core.errors import ConfigError, listing, nearest
from cinorms.core.schema import in_words, schema_of, values_of, ways_of
from cinorms.core.yaml_files import KeyPath, key_of, load_yaml, shown

M = TypeVar("M", bound=BaseModel)


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
