"""The digest of a rule's code covers the packages that its script uses, beside grimp, which reads imports itself."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from cinorms.core import digest
from cinorms.core.digest import code_digest, package_of, used_by
from cinorms.core.version import LIBRARIES, LIBRARY
from cinorms.entries.kind import SECTIONS, kinds

ROOT = Path(__file__).parents[3]
SCRIPTS = {path.stem: path for path in sorted((ROOT / "workflow/scripts").glob("*.py"))}
#: The rules of the entries, whose code is a script and the module of the entry's kind.
MAKES = {"analyses": "make_table", "figures": "draw_figure", "printed": "print_table"}
KIND_MODULES = sorted({kind.module for section in SECTIONS for kind in kinds(section).values()})


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[grimp.ImportGraph]:
    """Return the imports of the library and of all scripts, which stand in a package for the occasion."""
    folder = tmp_path_factory.mktemp("scripts")
    shutil.copytree(ROOT / "workflow/scripts", folder / "rule_scripts")
    (folder / "rule_scripts/__init__.py").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield grimp.build_graph(*LIBRARIES, "rule_scripts", cache_dir=None)


@pytest.mark.parametrize("start", [*SCRIPTS, *KIND_MODULES])
def test_the_code_of_a_rule_has_the_packages_of_all_that_it_imports(graph, start):
    name, first = (
        (f"rule_scripts.{start}", SCRIPTS[start]) if start in SCRIPTS else (start, package_of(start))
    )
    assert {package_of(module) for module in graph.find_upstream_modules(name)} <= used_by(first)


def test_the_code_of_a_rule_has_no_other_packages():
    norms = {SCRIPTS["assess_norms"], *(LIBRARY / name for name in ("core", "norms"))}
    assert used_by(SCRIPTS["assess_norms"]) == {
        *norms,
        *map(LIBRARY.with_name, ("optionreader", "rewordings")),
    }
    figures = used_by(SCRIPTS["draw_figure"])
    assert LIBRARY / "figures" in figures
    assert not figures & {*map(package_of, KIND_MODULES), LIBRARY / "report", LIBRARY / "printed"}


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
    """No digest follows such an import: the rules name the modules, or their package."""
    found = [
        str(path.relative_to(LIBRARY))
        for path in sorted(LIBRARY.rglob("*.py"))
        if re.search(r"\b(import_module|__import__)\(", path.read_text(encoding="utf-8"))
    ]
    # The face of the package (`open_results`, the command) is for people: no rule uses it. What the forks of a
    # run have loaded is what their scripts import: these are in the digest by themselves.
    own = ["__init__.py", "__main__.py"]
    assert found == [*own, "core/declared.py", "entries/kind.py", "run/inside_snakemake.py"]


FILES = {
    "core/files.py": "",
    "norms/held.py": "from cinorms.core import files\n",
    "norms/table.json": "[1]",
    "figures/look.py": "",
    "figures/bars.py": "from cinorms.figures.look import (\n    INK,\n)\n\nKINDS = (\n)\n",
    "figures/lines.py": "def draw():\n    from cinorms.norms.held import hold\n\n\nKINDS = (\n)\n",
}
#: What is edited -> which of the scripts `hold`, `bars` and `lines` run again.
EDITS = {
    "core/files.py": {"hold", "lines"},
    "norms/table.json": {"hold", "lines"},
    "figures/look.py": {"bars", "lines"},
    "figures/bars.py": {"bars"},
}


def test_an_edit_re_runs_what_uses_its_package_and_nothing_else(tmp_path, monkeypatch):
    library = tmp_path / "cinorms"
    monkeypatch.setattr(digest, "LIBRARY", library)
    scripts = {"hold": "import cinorms.norms.held as held\n"}
    scripts |= dict.fromkeys(("bars", "lines"), "from cinorms.figures import look\n")
    for path, text in {**FILES, **{f"../{name}.py": text for name, text in scripts.items()}}.items():
        (library / path).parent.mkdir(parents=True, exist_ok=True)
        (library / path).write_text(text, encoding="utf-8")

    def forget() -> None:
        for function in (code_digest, package_of, digest._code_of, digest._imported_by):
            function.cache_clear()

    def digests() -> set[tuple[str, str]]:
        forget()
        kind = {name: [f"cinorms.figures.{name}"] for name in ("bars", "lines")}
        return {(name, code_digest(tmp_path / f"{name}.py", *kind.get(name, []))) for name in scripts}

    for edited, runs_again in EDITS.items():
        before = digests()
        with (library / edited).open("a", encoding="utf-8") as file:
            file.write("# Edited.\n")
        assert {name for name, _ in digests() - before} == runs_again, edited
    forget()
