"""Digests of code: Snakemake does not notice an edited module of the library, but it does notice a new parameter."""

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from cinorms.core.version import LIBRARIES

PACKAGE = Path(__file__).parents[1]
#: An import as ruff formats it. Every job of a run reads them all: to parse the library would take 30 times as long.
_IMPORT = re.compile(r"^ *(?:from ([\w.]+) import (\([^)]*\)|.+)|import ([\w.]+))", re.MULTILINE)
#: Imports that only type checkers see.
_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:(?: .*)?\n)+", re.MULTILINE)


@cache
def code_digest(*starts: str | Path) -> str:
    """Return a digest of the source of ``starts`` and of every module of the libraries that they import.

    A start is a script's path or the name of a module (``cinorms.figures.norms``). A rule carries the digest as a
    parameter, so that an edited module re-runs the rules that reach it and no others.
    """
    digest = hashlib.sha256()
    for file in _all_reached(starts):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@cache
def reached(start: Path) -> frozenset[Path]:
    """Return ``start`` and every file of the library that it imports, directly or through others.

    The packages that a module lies in do not count: their ``__init__`` holds a docstring and nothing else, or is
    imported by its own name.
    """
    found, waiting = {start}, [start]
    while waiting:
        names = _names_in(waiting.pop())
        new = {file for name in names if (file := _module_file(name)) is not None} - found
        found |= new
        waiting += new
    return frozenset(found)


def _all_reached(starts: Iterable[str | Path]) -> list[Path]:
    files: set[Path] = set()
    for start in starts:
        file = start if isinstance(start, Path) else _module_file(start)
        if file is None:
            raise FileNotFoundError(f"code_digest: no module {start!r} in {PACKAGE}")
        files |= reached(file)
    return sorted(files)


@cache
def _module_file(module: str) -> Path | None:
    """Return the file of a module of the library, None where there is no such module."""
    library, *inside = module.split(".")
    if library not in LIBRARIES:
        return None
    file = PACKAGE.parent.joinpath(library, *inside)
    found = (file.with_suffix(".py") if inside else file, file / "__init__.py")
    return next((path for path in found if path.is_file()), None)


@cache
def _names_in(file: Path) -> frozenset[str]:
    names: set[str] = set()
    for module, listed, whole in _IMPORT.findall(_FOR_TYPES.sub("", file.read_text(encoding="utf-8"))):
        if whole:
            names.add(whole)
        for part in filter(str.strip, listed.strip("()").split(",")):
            inside, ours = f"{module}.{part.split()[0]}", module.split(".")[0] in LIBRARIES
            names |= {inside} if _module_file(inside) else {module} if ours else {module, inside}
    return frozenset(names)
