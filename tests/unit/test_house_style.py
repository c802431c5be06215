"""What the code of this project keeps to, checked on the files themselves."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..modules import module_at

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
    """Return the text of each rule of a rule file by its name; of what a function defines, the name's beginning."""
    in_function = (
        r'^    rule:\n        name:\n            f"(\w+)_\{[\w.]+\}"\n((?:        .*\n|\n(?=        ))+)'
    )
    text = re.sub(
        in_function,
        lambda found: f"rule {found[1]}:\n" + re.sub("^    ", "", found[2], flags=re.MULTILINE),
        path.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    parts = re.split(r"^rule (\w+):$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


RULES = [(path, name, text) for path in RULE_FILES for name, text in rules_of(path).items()]
RULE_NAMES = [name for _, name, _ in RULES]


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


# --- The library


def test_a_module_says_what_it_is_for_does_not_know_the_workflow_and_is_not_long(trees):
    for name, path in MODULES.items():
        text = path.read_text(encoding="utf-8")
        # Two name the command that somebody types.
        if path.name not in ("inside_snakemake.py", "__main__.py", "given.py", "profile.py"):
            others = text.replace("from cinorms.run.inside_snakemake import", "")
            assert "snakemake" not in others, f"{path}: the library takes plain values"
        assert text.count("\n") <= 600, path
        assert ast.get_docstring(trees[name]), path


def test_a_class_name_means_one_thing(trees):
    modules: dict[str, list[str]] = {}
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules.setdefault(node.name, []).append(name)
    assert {name: where for name, where in modules.items() if len(where) > 1} == {}


def test_what_a_library_beside_gives_is_not_written_again(trees):
    arrays = ast.parse((LIBRARY.with_name("rewordings") / "arrays.py").read_text(encoding="utf-8"))
    given = {node.name for node in arrays.body if isinstance(node, ast.FunctionDef)}
    assert "divide" in given
    own = {node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert not given & own


def test_no_function_is_longer_than_fifty_lines(trees):
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                late = [part for part in body if isinstance(part, ast.Import | ast.ImportFrom)]
                lines = sum(part.end_lineno - part.lineno + 1 for part in body if part not in late)
                assert lines <= 50, f"{name}: {node.name} has {lines} lines"


#: What pages make of numbers in tables: means over models, as the table of kind ``finding`` has them.
OVER_MODELS = {"by_model", "over_models"}
COMPUTES = re.compile(r"\.(nan)?(mean|std|var|median|quantile|percentile|average|corr|cov)\(")


def test_pages_compute_no_statistic(trees):
    """They count, and look up what is in tables: any other number is one that no table has."""
    for name, tree in trees.items():
        if not name.startswith("cinorms.report"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and re.match(
                r"cinorms\.stats|rewordings|cumulink", node.module or ""
            ):
                assert {alias.name for alias in node.names if not alias.name.isupper()} <= OVER_MODELS, name
        assert not COMPUTES.findall(ast.unparse(tree)), name


#: The papers print shares in a form of their own.
OWN_PERCENT = {"cinorms.core.labels", "cinorms.printed.cells", "cinorms.printed.filtering"}


def test_a_share_is_put_in_words_by_the_functions_of_labels(trees):
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.JoinedStr) or name in OWN_PERCENT:
                continue
            forms = [
                ast.unparse(part.format_spec) for part in node.values if getattr(part, "format_spec", None)
            ]
            after = [str(part.value) for part in node.values[1:] if isinstance(part, ast.Constant)]
            own = [form for form in forms if form.rstrip("'\"").endswith("%")]
            own += [text for text in after if text.startswith("%") and "var(--" not in text]  # no style sheet
            assert not own, f"{name}: {ast.unparse(node)}"
    pages = [path for path in LIBRARY.rglob("templates/*.html") if "%%" in path.read_text(encoding="utf-8")]
    assert not pages


#: They extend classes of a heavy package, and are imported where they are used.
SUBCLASSES = {f"cinorms.inference.engines.openai.{name}" for name in ("client", "live")}


#: A new Python asks, then loads a study, then every module; after each it prints what is loaded.
IMPORTS = """
import importlib, sys
import cinorms.inference.ask
from cinorms.inference.engine_kind import engine_kinds
assert engine_kinds()
print(*sys.modules)
import cinorms.study.load
from cinorms.entries.kind import kinds
assert all(kinds(section) for section in ('analyses', 'figures', 'printed'))
print(*sys.modules)
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*sys.modules)
"""


def test_what_imports_pull_in():
    """A job that asks starts without templates and statistics; each Snakemake process loads all kinds."""
    command = [sys.executable, "-c", IMPORTS, *(name for name in MODULES if name not in SUBCLASSES)]
    environment = {"PYTHONPATH": str(LIBRARY.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    asking, study, everything = (set(line.split()) for line in done.stdout.splitlines())
    assert not {"jinja2", "scipy"} & asking
    assert not {"scipy.special", "scipy.stats", "scipy.linalg", "scipy.sparse"} & study
    assert not HEAVY & everything
    assert "pandas" in asking


# --- Rules


def test_there_are_rules_to_check():
    assert {"expand_vignettes", "ask", "fetch_checkpoint", "generate_paraphrases", "make_table"} <= {
        *RULE_NAMES
    }


@pytest.mark.parametrize("path", RULE_FILES, ids=short)
def test_a_stage_says_what_it_is_for(path):
    text = path.read_text(encoding="utf-8")
    if "def " in text:
        assert path.name in ("project.smk", "common.smk", "engines.smk", "hooks.smk")
        assert not re.search("^rule ", text, flags=re.MULTILINE), "functions and rules are read apart"
    else:
        assert text.startswith('"""'), "a stage opens with a docstring"


def test_what_snakemake_does_not_document_is_used_in_one_module():
    """Not in project.smk: it finds that module."""
    files = [ROOT / "workflow/Snakefile", *RULE_FILES, *MODULES.values(), *SCRIPTS]
    inside = re.compile(r"\bworkflow\.(?!rst\b)[a-z_]+\b|(?:from|import) snakemake\.(?!utils\b)")
    found = [path.name for path in files if inside.search(path.read_text(encoding="utf-8"))]
    assert found == ["project.smk", "inside_snakemake.py"]


@pytest.mark.parametrize(("path", "name", "text"), RULES, ids=RULE_NAMES)
def test_a_rule_has_a_log_an_environment_and_a_script_of_its_name(path, name, text):
    assert re.search(r"^    conda:$", text, flags=re.MULTILINE)
    log = re.search(r"^    log:\n        f?\"logs/(.*)\",$", text, flags=re.MULTILINE)
    assert log, "one log below logs/"
    assert f"/{name}" in "/" + log[1], "the log is called after the rule"
    for environment in re.findall(r'conda:\n        "(.*)"', text):
        assert (path.parent / environment).is_file()
    scripts = re.findall(r'script:\n        "(.*)"', text)
    assert scripts == [f"../scripts/{name}.py"] or (not scripts and "shell:" in text)


def test_no_script_is_without_its_rule():
    assert {path.stem for path in SCRIPTS} <= set(RULE_NAMES)


# --- Scripts


@pytest.mark.parametrize("path", SCRIPTS, ids=short)
def test_a_script_is_short_and_does_nothing_when_imported(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 40
    assert "argparse" not in text
    assert ast.get_docstring(ast.parse(text))
    module_at(path)  # there is no `snakemake` here: work outside the guard would fail


# --- Templates


@pytest.mark.parametrize("path", sorted((ROOT / "workflow").rglob("templates/*.*")), ids=short)
def test_a_template_asks_for_the_value_of_a_key_and_not_whether_it_exists(path):
    asked = re.search(r"is (not )?defined|\|\s*default\b", path.read_text(encoding="utf-8"))
    assert asked is None, "a key that always exists, empty, is taken for one that has a value"
