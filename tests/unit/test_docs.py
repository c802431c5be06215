"""What the documents name exists: files that they link to, modules, and the pages of the index."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "config/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LIBRARY = ROOT / "workflow/lib/cinorms"
PACKAGES = sorted(path.parent.name for path in LIBRARY.glob("*/__init__.py"))
#: Where the files of the project name a page of docs/, other than by a link.
FOLDERS = ("benchmarks", "config", "docs", "profiles", "resources", "tests", "workflow")
TEXTS = {".css", ".html", ".js", ".md", ".py", ".smk", ".yaml"}


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def heading_id(line: str) -> str:
    """Return the id that GitHub gives a heading."""
    words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower().replace("`", ""))
    return words.replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, part = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), f"{short(page)}: {link} leads nowhere"
        if part:
            headings = re.findall(r"(?m)^#+ .*$", target.read_text(encoding="utf-8"))
            assert part in map(heading_id, headings), f"{short(page)}: {link}: no such heading"


def test_pages_named_in_code_and_text_exist() -> None:
    named = 0
    files = [ROOT / "README.md", *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    for path in files:
        if path.suffix in TEXTS and path.is_file():
            for name in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8")):
                assert (ROOT / name).is_file(), f"{short(path)} names {name}, which is not there"
                named += 1
    assert named > 10


def test_the_pages_on_method_mirror_the_packages_and_are_in_the_index() -> None:
    index = (ROOT / "docs/method.md").read_text(encoding="utf-8")
    pages = sorted((ROOT / "docs/method").rglob("*.md"))
    assert len(pages) > 10
    for page in pages:
        inside = page.relative_to(ROOT / "docs/method")
        assert inside.parts[0] in PACKAGES, f"{short(page)}: there is no package {inside.parts[0]}"
        assert len(inside.parts) > 1, f"{short(page)}: a page is in the folder of its package"
        assert f"](method/{inside})" in index, f"{short(page)} is not in docs/method.md"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "docs" in page.parts and "reference" not in page.parts], ids=short
)
def test_modules_that_a_page_names_exist(page: Path) -> None:
    """`stats.clm`, `norms.distances.bias_table` and `analyses/counts.py` are things of the library."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    packages = "|".join(PACKAGES)
    for name in re.findall(rf"`(?:cinorms\.)?((?:{packages})(?:\.\w+)+)`", text):
        if name.endswith((".yaml", ".csv")):
            continue
        assert is_there(f"cinorms.{name}"), f"{short(page)}: there is no {name}"
    for name in re.findall(rf"`((?:{packages})/[\w/]+\.py)`", text):
        assert (LIBRARY / name).is_file(), f"{short(page)}: there is no {name}"


def test_the_page_on_architecture_has_the_layers_that_are_checked() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    text = (
        (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("| package | what it does |")[2]
    )
    rows = re.findall(r"^\| (`[^|]*) \|", text.partition("\n\n")[0], flags=re.MULTILINE)
    assert [re.findall(r"`(\w+)`", row) for row in rows] == [layer.split(" | ") for layer in layers]


def is_there(name: str) -> bool:
    """Say whether a dotted name is a module or something in one."""
    parts = name.split(".")
    for at in range(len(parts), 1, -1):
        file = LIBRARY.parent.joinpath(*parts[:at])
        if file.with_suffix(".py").is_file() or (file / "__init__.py").is_file():
            thing = importlib.import_module(".".join(parts[:at]))
            return at == len(parts) or hasattr(thing, parts[at])
    return False
