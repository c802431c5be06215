"""Small wrong edits of the libraries, and whether the tests of the package notice: ``make mutants``.

Every edit changes one place: a comparison, a sign, a bound, a condition, a constant. Without packages the lines are
those that differ from --base. Each edit runs the tests of its package in a fork of one process that has loaded the
libraries, in a copy of the project. It counts as noticed if a test fails, or if they take three times as long.
"""

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIBRARIES = Path("workflow/lib")
#: Libraries of their own, each one package with its tests inside.
SEPARATE = ("cumulink", "optionreader", "rewordings")
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any", "lower": "upper", "upper": "lower"}


class Edit(NamedTuple):
    """One wrong edit: a place in a module, and what the statement says after it."""

    module: Path
    line: int
    number: int
    after: str


def edits_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what could stand in place of ``node``."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        yield ast.Compare(node.left, [COMPARED[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif (
        isinstance(node, ast.BinOp) and type(node.op) in COMPUTED and not isinstance(node.left, ast.Constant)
    ):
        yield ast.BinOp(node.left, COMPUTED[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        yield node.values[0]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield node.operand
    elif (
        isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float) and abs(node.value) < 50
    ):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.If):
        yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Name) and node.id in SWAPPED:
        yield ast.Name(SWAPPED[node.id], node.ctx)
    elif isinstance(node, ast.Attribute) and node.attr in SWAPPED:
        yield ast.Attribute(node.value, SWAPPED[node.attr], node.ctx)
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield ast.comprehension(node.target, node.iter, node.ifs[1:], node.is_async)


def mutants(text: str) -> Iterator[tuple[int, ast.Module, str]]:
    """Yield line, module and statement of every wrong edit of a module; annotations and texts are left alone.

    The module is the same object each time, and has an edit only until the next one is asked for.
    """
    tree = ast.parse(text)
    for statement in ast.walk(tree):
        for name in ("annotation", "returns"):
            if getattr(statement, name, None) is not None:
                setattr(statement, name, ast.Constant(None))
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            for at, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                for edit in edits_of(node) if isinstance(node, ast.AST) else ():
                    put(parent, field, at, ast.copy_location(edit, node))
                    where = getattr(node, "lineno", getattr(parent, "lineno", 0))
                    yield where, tree, ast.unparse(edit)
                    put(parent, field, at, node)


def put(parent: ast.AST, field: str, at: int | None, node: ast.AST) -> None:
    """Put ``node`` into a field of ``parent``, or into a place of a field that is a list."""
    if at is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[at] = node


def places(package: str) -> tuple[Path, Path]:
    """Return the folder of a package's modules, and that of its tests."""
    if package in SEPARATE:
        return LIBRARIES / package, LIBRARIES / package / "tests"
    return LIBRARIES / "cinorms" / package, Path("tests/unit") / (package or "test_results.py")


def package_of(module: Path) -> str:
    """Return the package of a module; the modules of cinorms that are in none have ""."""
    library, *rest = module.relative_to(LIBRARIES).parts
    return library if library in SEPARATE else rest[0] if len(rest) > 1 else ""


def changed_lines(base: str) -> dict[Path, set[int]]:
    """Return the lines of each module of the libraries that differ from ``base``."""
    found: dict[Path, set[int]] = {}
    of = [f"{LIBRARIES}/*.py", f":!{LIBRARIES}/*/tests", f":!{LIBRARIES}/*/tools"]
    command = ["git", "diff", "--unified=0", "--no-color", base, "--", *of]
    for line in subprocess.check_output(command, cwd=ROOT, text=True).splitlines():
        if line.startswith("+++ b/"):
            lines = found.setdefault(Path(line[6:]), set())
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            lines.update(range(int(hunk[1]), int(hunk[1]) + int(hunk[2] or 1)))
    return found


def start(folder: str) -> None:
    """Load in this process what the tests load, and work in a copy of the project from now on."""
    own = Path(folder) / str(os.getpid())
    shutil.copytree(
        ROOT, own, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv*", "results", "build")
    )
    os.chdir(own)
    sys.path.insert(0, str(own / LIBRARIES))  # a library of its own is its own root of pytest
    import matplotlib.pyplot  # noqa: F401
    import plotnine  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import pydantic  # noqa: F401
    import scipy.stats  # noqa: F401
    import statsmodels.api  # noqa: F401


def tests_pass(package: str, seconds: float, *first: str) -> bool:
    """Tell whether the tests of a package pass here, in a fork of this process; those in ``first`` run first."""
    import pytest
    from hypothesis import Phase
    from hypothesis import settings as Settings

    child = os.fork()
    if not child:
        os.setpgrp()  # not a session of its own, which Linux would give as much time as all else together
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        sys.modules.pop("tests", None)  # that of this module: a library of its own has another
        # Hypothesis would look for minutes for the smallest text that an edit fails on.
        Settings.register_profile("first failure", deadline=None, phases=[Phase.explicit, Phase.generate])
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
        options += ["--hypothesis-profile", "first failure"]
        os._exit(pytest.main([*options, *first, str(places(package)[1])]))
    end = time.monotonic() + seconds
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.02)
    return ended[1] == 0


def survives(edit: Edit, package: str, seconds: float) -> bool:
    """Tell whether no test of the package notices an edit."""
    text = edit.module.read_text(encoding="utf-8")
    edited = next(islice(mutants(text), edit.number, None))[1]
    edit.module.write_text(ast.unparse(ast.fix_missing_locations(edited)), encoding="utf-8")
    try:
        modules, tests = places(package)
        folder = tests / edit.module.relative_to(modules).parent
        own = folder / f"test_{edit.module.stem}.py"
        return tests_pass(package, seconds, *[str(path) for path in (own, folder) if path.exists()])
    finally:
        edit.module.write_text(text, encoding="utf-8")


def edits(lines: dict[Path, set[int] | None]) -> list[Edit]:
    """Return every edit of these lines of these modules; None stands for all lines."""
    return [
        Edit(module, line, number, after)
        for module, wanted in lines.items()
        for number, (line, _, after) in enumerate(mutants((ROOT / module).read_text(encoding="utf-8")))
        if wanted is None or line in wanted
    ]


def main() -> None:
    """Print the edits that no test notices, and the share of those that a test does."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("packages", nargs="*", help="packages, whole")
    options.add_argument(
        "--base", default="origin/main", help="without packages: what the lines must differ from"
    )
    options.add_argument("--most", type=int, default=100, help="edits per package, drawn at random")
    options.add_argument("--seed", type=int, default=2026)
    given = options.parse_args()
    lines: dict[Path, set[int] | None] = dict(changed_lines(given.base)) if not given.packages else {}
    for name in given.packages:
        modules = [path.relative_to(ROOT) for path in sorted((ROOT / places(name)[0]).rglob("*.py"))]
        lines |= {module: None for module in modules if not {"tests", "tools"} & set(module.parts)}
    drawn: dict[str, list[Edit]] = {}
    for edit in edits(lines):
        drawn.setdefault(package_of(edit.module), []).append(edit)
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), start, (folder,)) as pool,
    ):
        for package, every in drawn.items():
            chosen = random.Random(given.seed).sample(every, min(given.most, len(every)))
            began = time.monotonic()
            if not pool.submit(tests_pass, package, 3600).result():
                sys.exit(f"{package}: its tests fail without an edit")
            limit = 3 * (time.monotonic() - began) + 30
            runs = [(edit, pool.submit(survives, edit, package, limit)) for edit in sorted(chosen)]
            alive = [edit for edit, run in runs if run.result()]
            for edit in alive:
                before = (ROOT / edit.module).read_text(encoding="utf-8").splitlines()[edit.line - 1].strip()
                print(f"{edit.module}:{edit.line}: {before}\n    {edit.after}")
            noticed = len(chosen) - len(alive)
            print(f"{package}: {noticed} of {len(chosen)} noticed ({noticed / len(chosen):.0%})", flush=True)


if __name__ == "__main__":
    main()
