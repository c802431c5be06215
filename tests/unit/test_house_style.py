"""What the code of this project keeps to, checked on the files themselves."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from cinorms.kinds import KINDS

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "workflow/lib/cinorms"
MODULES = {
    ".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(LIBRARY.rglob("*.py"))
}
RULE_FILES = sorted((ROOT / "workflow/rules").glob("*.smk"))
SCRIPTS = sorted((ROOT / "workflow/scripts").glob("*.py"))
HEAVY = {"torch", "vllm", "openai", "transformers", "statsmodels", "plotnine", "matplotlib", "sklearn"}


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def rules_of(path: Path) -> dict[str, str]:
    """Return the text of each rule of a rule file by its name."""
    parts = re.split(r"^rule (\w+):$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


RULES = [(path, name, text) for path in RULE_FILES for name, text in rules_of(path).items()]
RULE_NAMES = [name for _, name, _ in RULES]


# --- The library


@pytest.mark.parametrize("path", MODULES.values(), ids=short)
def test_a_module_does_not_know_the_workflow_and_is_not_long(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "snakemake" not in text, "the library takes plain values"
    assert "snakemake" not in named
    assert text.count("\n") <= 400
    assert ast.get_docstring(tree), "a module says what it is for"


@pytest.mark.parametrize("path", MODULES.values(), ids=short)
def test_no_function_is_longer_than_fifty_lines(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            late = [part for part in body if isinstance(part, ast.Import | ast.ImportFrom)]
            lines = sum(part.end_lineno - part.lineno + 1 for part in body if part not in late)
            assert lines <= 50, f"{path.name}: {node.name} has {lines} lines"


def test_importing_any_module_pulls_in_nothing_heavy() -> None:
    code = (
        "import importlib, sys\n"
        f"for name in {list(MODULES)!r}: importlib.import_module(name)\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(LIBRARY.parent)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not HEAVY & set(done.stdout.split())
    assert "pandas" in done.stdout.split()


def test_asking_needs_no_package_that_the_inference_environments_lack() -> None:
    """envs/openai.yaml and envs/vllm.yaml have pandas, pyarrow and numpy, and neither YAML nor schemas."""
    code = "import sys, cinorms.ask; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(LIBRARY.parent)}, capture_output=True, text=True
    )
    assert not {"yaml", "jsonschema", "jinja2", "scipy"} & set(done.stdout.split())


#: They decide how a mistake is told, not what comes out.
WITHOUT_RESULTS = {"cinorms.errors", "cinorms.logs", "cinorms.validation"}


@cache
def names_in(module: str) -> tuple[dict[str, ast.AST], dict[str, tuple[str, str]]]:
    """Return what ``module`` defines, and what it imports from the library as (module, name)."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    defined: dict[str, ast.AST] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {
                name.id: node for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)
            }
    imported = {
        alias.asname or alias.name: (f"{node.module}.{alias.name}", "")
        if f"{node.module}.{alias.name}" in MODULES
        else (str(node.module), alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cinorms")
        for alias in node.names
    }
    return defined, imported


def used_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names that ``node`` uses, each with the attribute taken of it; annotations use nothing."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name):
                yield child.value.id, child.attr
            if isinstance(child, ast.Name):
                yield child.id, ""
            elif isinstance(child, ast.AST):
                yield from used_by(child)


def modules_behind(module: str, name: str, seen: set[tuple[str, str]]) -> set[str]:
    """Return the modules whose code runs when ``name`` of ``module`` does."""
    defined, imported = names_in(module)
    if (module, name) in seen or name not in defined:
        return set()
    seen.add((module, name))
    found = {module}
    for used, attribute in used_by(defined[name]):
        if used in defined:
            found |= modules_behind(module, used, seen)
        elif used in imported:
            target, what = imported[used]
            found |= modules_behind(target, what or attribute, seen)
    return found


@pytest.mark.parametrize(
    ("section", "name"), [(section, name) for section, kinds in KINDS.items() for name in kinds]
)
def test_a_kind_names_every_module_that_can_change_its_result(section: str, name: str) -> None:
    """Otherwise an edited module leaves old tables and figures standing."""
    kind = KINDS[section][name]
    needed = modules_behind(f"cinorms.{kind.module}", kind.function, set()) - WITHOUT_RESULTS
    assert f"cinorms.{kind.module}" in needed
    named = [f"cinorms.{pattern}" for pattern in kind.modules]
    missing = {module for module in needed if not any(fnmatch(module, pattern) for pattern in named)}
    assert not missing, f"{section}.{name} uses them too: {sorted(missing)}"


# --- Rules


def test_there_are_rules_to_check() -> None:
    assert {"expand_vignettes", "ask_planted", "read_answers", "make_table", "write_report"} <= set(
        RULE_NAMES
    )


@pytest.mark.parametrize("path", RULE_FILES, ids=short)
def test_a_stage_says_what_goes_in_and_what_comes_out(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "lambda" not in text
    functions = {"common.smk": 150, "inputs.smk": 250, "report_inputs.smk": 100}  # and the most lines of each
    if path.name in functions:
        assert text.count("\n") <= functions[path.name]
        assert not rules_of(path)
    else:
        docstring = re.match(r'"""(.*?)"""', text, flags=re.DOTALL)
        assert docstring, "a stage opens with a docstring"
        assert re.search(r"^Inputs: ", docstring[1], flags=re.MULTILINE)
        assert re.search(r"^Outputs: ", docstring[1], flags=re.MULTILINE)


@pytest.mark.parametrize(("path", "name", "text"), RULES, ids=RULE_NAMES)
def test_a_rule_has_a_log_an_environment_and_a_script_of_its_name(path: Path, name: str, text: str) -> None:
    assert re.search(r"^    log:$", text, flags=re.MULTILINE)
    assert re.search(r"^    conda:$", text, flags=re.MULTILINE)
    log = re.search(r"^    log:\n        f?\"logs/(.*)\",$", text, flags=re.MULTILINE)
    assert log, "one log below logs/"
    assert f"/{name}" in "/" + log[1], "the log is called after the rule"
    for environment in re.findall(r'conda:\n        "(.*)"', text):
        assert (path.parent / environment).is_file()
    scripts = re.findall(r'script:\n        "(.*)"', text)
    assert scripts in ([], [f"../scripts/{name}.py"])
    assert scripts or "shell:" in text


def test_no_script_is_without_its_rule() -> None:
    assert {path.stem for path in SCRIPTS} <= set(RULE_NAMES)


def test_digests_name_modules_that_exist() -> None:
    for path in [*RULE_FILES]:
        for call in re.findall(r'code_digest\(("[^)]*")\)', path.read_text(encoding="utf-8")):
            for module in re.findall(r'"([^"]+)"', call):
                assert list(LIBRARY.glob(module.replace(".", "/") + ".py")), f"{path.name}: {module}"


# --- Scripts


@pytest.mark.parametrize("path", SCRIPTS, ids=short)
def test_a_script_is_short_and_does_nothing_when_imported(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 40
    assert "argparse" not in text
    assert ast.get_docstring(ast.parse(text))
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # there is no `snakemake` here: work outside the guard would fail
