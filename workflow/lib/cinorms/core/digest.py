"""Digests of code: Snakemake does not notice an edited module of the library, but it does notice a new parameter.

Code counts by packages. A folder of modules is one; so is a module beside such folders (``cinorms.results``), and one
that declares kinds: an edited figure draws no other figure again.
"""

import hashlib
import re
import sys
from functools import cache
from pathlib import Path

from cinorms.core.version import LIBRARIES, LIBRARY

#: An import as ruff formats it. Every job of a run reads them all: to parse the library would take 30 times as long.
_IMPORT = re.compile(r"^ *(?:from ([\w.]+) import (\([^)]*\)|.+)|import ([\w.]+))", re.MULTILINE)
_KINDS = b"\nKINDS = (\n"


@cache
def code_digest(script: Path, *modules: str) -> str:
    """Return a digest of a script and of all packages of the library that it or ``modules`` use."""
    used = used_by(script, *map(package_of, modules))
    return hashlib.sha256(b"".join(map(_code_of, sorted(used)))).hexdigest()[:12]


def used_by(*starts: Path) -> set[Path]:
    """Return ``starts`` and every package that they import, directly or through others."""
    packages, new = set[Path](), {*starts}
    while new:
        packages |= new
        new = {package for each in new for package in _imported_by(each)} - packages
    return packages


@cache
def package_of(module: str) -> Path:
    """Return the folder that is the package of a module or a part of one; its file where it is one by itself."""
    path = LIBRARY.parent.joinpath(*module.split("."))
    if path.is_dir():
        return path
    file = path.with_suffix(".py")
    if not file.is_file():  # a kind of a user's own, on the path of its package; or the name of a function
        package, _, name = module.rpartition(".")
        files = (
            Path(folder, f"{name}.py") for folder in getattr(sys.modules.get(package), "__path__", [])[1:]
        )
        return next(filter(Path.is_file, files), None) or package_of(package)
    return file if file.parent == LIBRARY or _KINDS in _code_of(file) else file.parent


@cache
def _code_of(package: Path) -> bytes:
    """Return a package's modules and the numbers that they read; templates are inputs of their rules."""
    if package.is_file():
        return package.read_bytes()
    files = sorted([*package.glob("*.py"), *package.glob("*.json")])
    return b"".join(code for code in map(Path.read_bytes, files) if _KINDS not in code)


@cache
def _imported_by(package: Path) -> frozenset[Path]:
    names: set[str] = set()
    for module, listed, whole in _IMPORT.findall(_code_of(package).decode()):
        names |= {f"{module}.{name}" for name in re.findall(r"(\w+)(?: as \w+)?", listed)} or {whole}
    return frozenset(package_of(name) for name in names if name.split(".")[0] in LIBRARIES)
