"""Read YAML without its surprises: a mistake names the file, the line and what to do.

``python -m cinorms.core.yaml_files FILE`` does so for study files. Snakemake reads the file of ``--configfile``
before the workflow does, names no line and may answer with a traceback: `make` runs this first. It imports little, as
each run waits for it.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor

from cinorms.core.errors import ConfigError
from cinorms.core.logs import command

#: The keys and positions that lead to a value.
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


def check_mapping(document: Any, file: str) -> None:
    """Refuse a ``document`` that is not a mapping of keys to values, as a study file is."""
    check_values(document, file)
    if not isinstance(document, dict):
        raise ConfigError(f"{file}: the whole file: {shown(document)} is not a mapping of keys to values")


@command("The study cannot run.")
def main(files: Sequence[str]) -> int:
    """Read each file."""
    for file in files:
        check_mapping(load_yaml(file), file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
