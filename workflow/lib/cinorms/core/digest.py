"""Digests of code: Snakemake does not notice an edited module of the library, but it does notice a new parameter."""

import ast
import atexit
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from cinorms.core.files import replacing

PACKAGE = Path(__file__).parents[1]
#: What finds the imports: another version of this module or of Python may find others in the same text.
_READER = Path(__file__).read_bytes() + sys.version.encode()
#: More texts than an edited library has in months; then its imports are found anew.
_MOST_KEPT = 2000


@cache
def code_digest(*starts: str | Path) -> str:
    """Return a digest of the source of ``starts`` and of every module of the library that they import.

    A start is a script's path or the name of a module (``cinorms.figures.norms``). A rule carries the digest as a
    parameter, so that an edited module re-runs the rules that reach it and no others.
    """
    digest = hashlib.sha256()
    for file in _all_reached(starts):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def modules_of(*starts: str | Path) -> frozenset[str]:
    """Return the modules, of any package, that ``starts`` and the modules of the library they reach import.

    Of ``from package import name``, where the package is another one, it returns ``package`` and ``package.name``,
    which may be no module.
    """
    return frozenset(name for file in _all_reached(starts) for name in _names_in(file))


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
    if library != PACKAGE.name:
        return None
    file = PACKAGE.joinpath(*inside)
    found = (file.with_suffix(".py") if inside else file, file / "__init__.py")
    return next((path for path in found if path.is_file()), None)


@cache
def _names_in(file: Path) -> frozenset[str]:
    names: set[str] = set()
    for module, name in _imports_in(file.read_bytes()):
        inside = f"{module}.{name}" if name else module
        ours = module.split(".")[0] == PACKAGE.name
        names |= {inside} if _module_file(inside) or not name else {module} if ours else {module, inside}
    return frozenset(names)


def _imports_in(source: bytes) -> list[list[str]]:
    """Return a module and a name, or a module and nothing, for each import: from the cache where the text is known."""
    known, text = _known_imports(PACKAGE), hashlib.sha256(_READER + source).hexdigest()
    if text not in known:
        found: list[list[str]] = []
        for node in _statements(ast.parse(source)):
            if isinstance(node, ast.Import):
                found += [[alias.name, ""] for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                found += [[node.module, alias.name] for alias in node.names]
        known[text] = found  # all of it or nothing: it is kept however this process ends
    return known[text]


@cache
def _known_imports(package: Path) -> dict[str, list[list[str]]]:
    """Return what earlier processes found, by digests of texts; what is new is kept when this one ends.

    To parse the library takes a fifth of a dry run. The file lies where Python keeps what it compiled.
    """
    file, known = package / "__pycache__/imports.json", dict[str, list[list[str]]]()
    with suppress(OSError, ValueError, TypeError):
        known |= json.loads(file.read_text(encoding="utf-8"))
    before = len(known)
    if before > _MOST_KEPT:
        known.clear()

    def keep() -> None:
        if len(known) != before and not sys.dont_write_bytecode:
            with suppress(OSError), replacing(file) as part:
                part.write_text(json.dumps(known), encoding="utf-8")

    atexit.register(keep)
    return known


#: Where a statement has statements of its own. Expressions have none, so the many nodes below them are left out.
_INSIDE = ("body", "orelse", "handlers", "finalbody", "cases")


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements that run, without those for type checkers only."""
    for part in _INSIDE:
        inside = getattr(tree, part, ())
        for node in inside if isinstance(inside, list) else ():
            for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for run in node.orelse if for_types else [node]:
                yield run
                yield from _statements(run)
