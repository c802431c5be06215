"""Formats: what declares one, all of them (the modules of ``cinorms.exchange.formats``), and how one is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pandas as pd

from cinorms.core.errors import ConfigError
from cinorms.exchange.received import Received
from cinorms.exchange.way import Way, ways_of
from cinorms.inference.spec import Spec

#: The package whose modules are formats.
FORMATS = "cinorms.exchange.formats"


@dataclass(frozen=True)
class Format:
    """One format. ``read`` reads a file that a tool wrote; ``write`` writes the prompts of an arm into a folder.

    A format that only its tool's own package can read names a module as ``converter``: run as
    ``python -m CONVERTER --out FILE LOG...`` in the environment ``environment``, it writes what ``read`` reads.
    """

    name: str
    #: One sentence: which files these are.
    about: str
    #: Endings of the files that are read.
    endings: tuple[str, ...]
    read: Callable[[Path], Iterator[Received]]
    #: Writes prompts; receives the ways of asking of an arm, its name and a folder. None where a tool takes none.
    write: Callable[[Sequence[Way], str, Path], None] | None = None
    #: The command with which the tool asks the prompts that ``write`` wrote.
    command: str = ""
    #: Whether it has no place for a prompt in a literal wrapper.
    messages_only: bool = False
    converter: str | None = None
    environment: str = "core"
    virtual_environment: str | None = None


@cache
def format_modules() -> dict[str, str]:
    """Return the module in which each format is declared."""
    return {
        module.name: f"{FORMATS}.{module.name}" for module in iter_modules(import_module(FORMATS).__path__)
    }


@cache
def format_named(name: str) -> Format:
    """Return the format ``name``; raise ``KeyError`` where there is none."""
    module = format_modules()[name]
    declared = import_module(module).FORMAT
    if not isinstance(declared, Format) or declared.name != name:
        raise TypeError(f"{module}: FORMAT must be a Format with the name {name!r}")
    return declared


def formats() -> tuple[Format, ...]:
    """Return all formats, by name."""
    return tuple(map(format_named, sorted(format_modules())))


def written_formats() -> tuple[Format, ...]:
    """Return the formats in which prompts can be written."""
    return tuple(known for known in formats() if known.write)


_PAGE = """\
# Prompts of arm {arm} for other tools: {format}

{rows}

Ask them: {command}.

Then take the responses into the study. `id` in each file tells which prompt a response answers; keep it.

```yaml
arms:
  {arm}:
    source: responses
    response_format: {format}
    response_files: received/{{model}}{ending}      # {endings}; * stands for several files
    response_origin: who asked, with which tool, when
```
"""


def export_prompts(
    format_: Format,
    specs: Sequence[Spec],
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    arm: str,
    folder: Path,
) -> list[Way]:
    """Write the prompts of ``arm`` for the models of ``specs`` into ``folder``; return the ways of asking."""
    assert format_.write is not None, "only formats that can be written are asked for"
    told = [spec.model for spec in specs if "budget" in spec.identity.get("reasoning", {})]
    if told:
        raise ConfigError(
            f"arms.{arm}.reasoning: no format can state how {told[0]!r} is told to reason; set it to null to export "
            "the prompts, or ask the arm here"
        )
    ways = ways_of(specs, vignettes, variants)
    for way in ways:
        if way.wrapper and format_.messages_only:
            raise ConfigError(
                f"arms.{arm}: {', '.join(way.specs)} receives prompts in the literal wrapper '{way.wrapper}', but the "
                f"format '{format_.name}' sends chat messages; set wrap: chat_template, or use FORMAT=plain or lm_eval"
            )
    folder.mkdir(parents=True, exist_ok=True)
    format_.write(ways, arm, folder)
    rows = [
        f"- `{way.name}`: {len(way):,} prompts for {', '.join(way.specs)} (layout {way.spec.layout}"
        f"{f', literal wrapper {way.wrapper}' if way.wrapper else ''}, temperature {way.spec.temperature}, at most "
        f"{way.spec.max_tokens} tokens)"
        for way in ways
    ]
    page = _PAGE.format(
        arm=arm,
        format=format_.name,
        rows="\n".join(rows),
        command=format_.command,
        ending=format_.endings[0],
        endings=", ".join(format_.endings),
    )
    (folder / "README.md").write_text(page, encoding="utf-8")
    return ways
