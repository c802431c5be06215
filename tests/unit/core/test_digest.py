"""The digest of a rule's code covers what its script imports, beside grimp, which reads imports in its own way."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from cinorms.core.digest import code_digest, reached
from cinorms.core.version import LIBRARIES
from cinorms.entries.kind import SECTIONS, kinds

ROOT = Path(__file__).parents[3]
LIBRARY = ROOT / "workflow/lib/cinorms"
SCRIPTS = {path.stem: path for path in sorted((ROOT / "workflow/scripts").glob("*.py"))}
MODULES = sorted(LIBRARY.rglob("*.py"))
#: The rules of the entries, whose code is a script and the module of the entry's kind.
MAKES = {"analyses": "make_table", "figures": "draw_figure", "printed": "print_table"}
KIND_MODULES = sorted(
    {(MAKES[section], kind.module) for section in SECTIONS for kind in kinds(section).values()}
)
#: What the code of each rule is: its script, and for the rules of entries the module of a kind.
STARTS = [(name,) for name in SCRIPTS if name not in MAKES.values()] + KIND_MODULES


def name_of(path: Path) -> str:
    parts = path.relative_to(LIBRARY.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def file_of(module: str) -> Path:
    path = LIBRARY.parent.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[grimp.ImportGraph]:
    """Return the imports of the library and of all scripts, which stand in a package for the occasion."""
    folder = tmp_path_factory.mktemp("scripts")
    shutil.copytree(ROOT / "workflow/scripts", folder / "rule_scripts")
    (folder / "rule_scripts/__init__.py").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield grimp.build_graph(
            *LIBRARIES, "rule_scripts", exclude_type_checking_imports=True, cache_dir=None
        )


def upstream(graph: grimp.ImportGraph, start: tuple[str, ...]) -> set[str]:
    """Return the modules of the library that a script, and the module of a kind, reach by imports."""
    first = [f"rule_scripts.{start[0]}", *start[1:]]
    return {*start[1:], *(m for name in first for m in graph.find_upstream_modules(name))}


@pytest.mark.parametrize("start", STARTS, ids="-".join)
def test_the_code_of_a_rule_is_what_its_script_reaches(graph, start):
    found = reached(SCRIPTS[start[0]]).union(*(reached(file_of(module)) for module in start[1:]))
    assert {path for path in found if path.is_relative_to(LIBRARY.parent)} == {
        file_of(module) for module in upstream(graph, start)
    }


def test_every_rule_with_a_script_has_the_code_of_that_script():
    found = []
    for path in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for rule in re.split(r"^rule ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            script = re.search(r'"\.\./scripts/(\w+)\.py"', rule)
            if script:
                found.append(script[1])
                code = f'code_of{"_entry" * (script[1] in MAKES.values())}("{script[1]}"'
                assert re.search(rf"code={re.escape(code)}[,)]", rule), rule.partition(":")[0]
    assert set(found) == set(SCRIPTS)


def test_only_kinds_formats_and_engines_are_imported_by_a_name_that_is_put_together():
    """No digest follows such an import: the rules of entries name the module of the kind."""
    found = [
        name_of(path)
        for path in MODULES
        if re.search(r"\b(import_module|__import__)\(", path.read_text(encoding="utf-8"))
    ]
    # The face of the package (`open_results`, the command) is for people: no rule uses it. What the forks of a
    # run have loaded is what their scripts import: these are in the digest by themselves.
    assert found == [
        "cinorms",
        "cinorms.__main__",
        "cinorms.core.declared",
        "cinorms.entries.kind",
        "cinorms.run.inside_snakemake",
    ]


def test_a_package_with_code_is_imported_by_its_own_name(graph):
    """Importing a module runs the packages that it lies in, which the digest does not count."""
    for path in LIBRARY.glob("*/**/__init__.py"):  # the library's own holds the version alone
        package = name_of(path)
        if re.sub(r'\A""".*?"""\s*', "", path.read_text(encoding="utf-8"), flags=re.DOTALL):
            inside = {m for m in graph.modules if f"{m}.".startswith(f"{package}.")}
            importers = {i for m in inside - {package} for i in graph.find_modules_that_directly_import(m)}
            assert importers <= inside, f"{sorted(importers - inside)}: import {package} itself"


def test_a_module_that_is_not_there_is_named():
    with pytest.raises(FileNotFoundError, match=r"no module 'cinorms\.gone'"):
        code_digest("cinorms.gone")


def test_a_digest_is_of_the_texts_of_all_that_is_reached(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from cinorms.core.draws import draw_bits\n", encoding="utf-8")
    files = sorted(reached(script))
    assert {script, LIBRARY / "core/draws.py"} <= set(files)
    whole = hashlib.sha256(b"".join(path.read_bytes() for path in files))
    assert code_digest(script) == whole.hexdigest()[:12]
