"""The public face of `cinorms.stats.clm`: what it offers, what it needs, and that its page is right."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from cinorms.stats import clm

ROOT = Path(__file__).parents[4]
LIBRARY = ROOT / "workflow/lib/cinorms"
PACKAGE = LIBRARY / "stats/clm"
PAGE = ROOT / "docs/method/stats/clm.md"
OUTSIDE = [path for path in sorted(LIBRARY.rglob("*.py")) if PACKAGE not in path.parents]


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of cinorms that a file imports, whole names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("cinorms"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cinorms"):
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                is_module = LIBRARY.parent.joinpath(*inside.split(".")).with_suffix(".py").is_file()
                yield inside if is_module else str(node.module)


def test_every_name_of_the_face_is_there_and_described():
    assert sorted(clm.__all__) == sorted({*clm.__all__})
    page = PAGE.read_text(encoding="utf-8")
    for name in clm.__all__:
        assert hasattr(clm, name)
        assert f"`{name}" in page, f"{PAGE.name} does not name {name}"


def test_other_packages_use_the_face_alone():
    inner = {
        str(path.relative_to(LIBRARY)): sorted(
            n for n in imported(path) if n.startswith("cinorms.stats.clm.")
        )
        for path in OUTSIDE
    }
    assert {path: names for path, names in inner.items() if names} == {}
    assert any("cinorms.stats.clm" in imported(path) for path in OUTSIDE)


def test_it_needs_little_of_the_project():
    needed = {name for path in PACKAGE.glob("*.py") for name in imported(path)}
    others = {name for name in needed if not name.startswith("cinorms.stats.clm.")}
    assert others == {"cinorms.core.errors", "cinorms.core.tails", "cinorms.stats.arrays"}


def test_the_example_of_the_page_runs_and_prints_what_it_shows(capsys):
    text = PAGE.read_text(encoding="utf-8")
    code, shown = re.findall(r"```(?:python|text)\n(.*?)```", text, flags=re.DOTALL)[:2]
    exec(compile(code, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == shown


def test_the_numbers_of_the_page_are_those_of_r_and_of_this_package():
    reference = ROOT / "tests/reference"
    data = pd.read_csv(reference / "clm_data.csv")
    factors, baselines = ["sender", "recipient", "order"], {"sender": "lock"}
    plain = pd.read_csv(reference / "clm_reference.csv").query("model == 'logit'").set_index("parameter")
    mixed = pd.read_csv(reference / "clmm_reference.csv").query("model == 'laplace'").set_index("parameter")
    tables = (
        clm.fit_clm(data, "level", factors, baselines).coefficients,
        clm.fit_clmm(data, "level", factors, "flow", baselines).coefficients,
    )
    rows = re.findall(r"^\| `(\w+)` (\w+) \|(.*)\|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(rows) == 7
    for factor, level, cells in rows:
        shown = [float(cell) for cell in cells.split("|")]
        columns = ["estimate", "std_err"]
        of_r = [table.loc[factor + level, column] for table in (plain, mixed) for column in columns]
        own = [
            fit.set_index(["factor", "level"]).loc[(factor, level), column]
            for fit in tables
            for column in columns
        ]
        assert shown == pytest.approx(of_r, abs=6e-7)
        assert shown == pytest.approx(own, abs=1e-4)
