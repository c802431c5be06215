"""What the documents name exists: files that they link to, modules, the pages of the index and of the site."""

import hashlib
import json
import re
import tomllib
from contextlib import nullcontext
from fnmatch import fnmatch
from pathlib import Path
from pkgutil import resolve_name

import pandas as pd
import pytest
import yaml

import cinorms

from ..modules import module_at

ROOT = Path(__file__).parents[2]
reference_pages = module_at(ROOT / "docs/tools/reference.py").pages
HOOKS = module_at(ROOT / "docs/tools/mkdocs_hooks.py")  # it needs no MkDocs
#: Made by `make docs` from the code.
REFERENCE = ROOT / "docs/reference"
PAGES = [
    *(ROOT / name for name in HOOKS.PLACES),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not page.is_relative_to(REFERENCE)),
]
LIBRARY = ROOT / "workflow/lib/cinorms"
PACKAGES = sorted(path.parent.name for path in LIBRARY.glob("*/__init__.py"))
#: Where the files of the project name a page of docs/, other than by a link.
FOLDERS = ("benchmarks", "config", "docs", "profiles", "resources", "tests", "workflow")
TEXTS = {".css", ".html", ".js", ".md", ".py", ".smk", ".yaml"}


def text_of(path: Path | str) -> str:
    """Return the text of a file of the project."""
    return (ROOT / path).read_text(encoding="utf-8")


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=short)
def test_every_relative_link_leads_somewhere(page):
    for link in HOOKS.relative_links(text_of(page)):
        target = ROOT / HOOKS.target_of(short(page), link)
        part = link.partition("#")[2]
        if part:
            headings = re.findall(r"(?m)^#+ (.*)$", text_of(target))
            assert part in map(HOOKS.heading_id, headings), f"{short(page)}: {link}: no such heading"


def test_a_link_is_written_as_the_site_needs_it():
    text = (
        "[a](../../../config/README.md#words), `[b](nowhere.md)`, [c](#part), [d](https://example.org/x.md), "
        "![e](../../images/real.png), [f](../../../Makefile), [g](../../decisions/)"
    )
    assert HOOKS.with_links_of_the_site(text, "docs/method/stats/tests.md") == (
        "[a](../../your-study.md#words), `[b](nowhere.md)`, [c](#part), [d](https://example.org/x.md), "
        "![e](../../images/real.png), [f](../../files/Makefile.md), [g](../../decisions/README.md)"
    )


@pytest.mark.parametrize("link", ["nowhere.md", "../../README.md", "../workflow/Snakefil"])
def test_a_link_that_leads_nowhere_ends_the_build_of_the_site(link):
    with pytest.raises(HOOKS.DeadLink, match=r"docs/method\.md: the link"):
        HOOKS.with_links_of_the_site(f"[a]({link})", "docs/method.md")


@pytest.mark.parametrize(
    ("tag", "refused"),
    [
        ('<img alt="a" src="https://example.org/a.png">', True),
        ("<script src=//example.org/a.js></script>", True),
        ('<link rel="stylesheet" href="https://example.org/a.css">', True),
        ('<link rel="canonical" href="https://example.org/">', False),
        ('<a href="https://example.org/">a</a><img src="images/a.png">', False),
    ],
)
def test_a_page_of_the_site_loads_nothing_from_another_host(tmp_path, tag, refused):
    page = tmp_path / "page.html"
    page.write_text(f"<p>{tag}</p>", encoding="utf-8")
    error = pytest.raises(HOOKS.LoadsFromElsewhere, match=r"page\.html: the page loads .*example\.org")
    with error if refused else nullcontext():
        HOOKS.check_page(page)


def test_the_navigation_of_the_site_has_every_page_once():
    site = yaml.safe_load(text_of("mkdocs.yml"))
    named = list(HOOKS.pages_of(site["nav"]))
    assert len(named) == len(set(named))
    left_out = site["not_in_nav"].split()
    made = {f"reference/{name}" for name in reference_pages(ROOT / "config/config.yaml")}
    here = {HOOKS.place_of(short(page)) for page in PAGES} | made
    here = {place for place in here if not any(fnmatch(place, pattern) for pattern in left_out)}
    assert here - set(named) == set(), "add these pages to `nav` in mkdocs.yml"
    assert set(named) - here == set(), "`nav` in mkdocs.yml names pages that are not there"
    assert set(HOOKS.SEARCHED) <= set(named)


#: What readers search for, and the page that answers it. Search ranks words in `SEARCHED` above all text.
QUESTIONS = {
    "norm": "method/norms/assessment.md",
    "how many wordings": "method/stats/generalizability.md",
    "own data": "method/vignettes/datasets.md",
    "endpoint": "your-first-context.md",
    "Claude": "ask-a-model.md",
    "Ollama": "ask-a-model.md",
    "resume": "running.md",
    "cost": "running.md",
    "cite": "index.md",
    "R": "questions.md",
    "why no norm": "method/norms/assessment.md",
    "versions compared": "gate.md",
    "quantization": "gate.md",
    "plot": "method/report/page.md",
    "windows": "index.md",
    "anthropic": "ask-a-model.md",
    "deepseek": "ask-a-model.md",
    "what is a norm": "method/norms/assessment.md",
    "my own vignettes": "method/vignettes/datasets.md",
}


@pytest.mark.parametrize(("question", "page"), QUESTIONS.items())
def test_search_shows_the_page_that_answers_a_question_first(question, page):
    words = set(question.lower().split())
    assert [place for place, tags in HOOKS.SEARCHED.items() if words & set(tags)] == [page]


def test_every_note_on_a_decision_is_in_its_index():
    index = text_of("docs/decisions/README.md")
    notes = sorted((ROOT / "docs/decisions").glob("0*.md"))
    assert re.findall(r"\]\((0[\w.-]+)\)", index) == [note.name for note in notes]


def test_the_change_log_has_the_version_and_says_whether_its_results_change():
    text = text_of("CHANGELOG.md")
    versions = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", text, flags=re.MULTILINE))
    assert re.match(r"\d+\.\d+\.\d+", cinorms.__version__)[0] in [name.split()[0] for name in versions]
    for name, part in versions.items():
        assert re.search(r"Results change: (yes|no)\b", part), f"CHANGELOG.md: {name}"


def test_what_is_checked_on_github_needs_a_bare_clone_and_nothing_that_moves():
    text = text_of(".github/workflows/ci.yml")
    (job,) = yaml.safe_load(text)["jobs"].values()
    targets = job["strategy"]["matrix"]["target"]
    assert {"lint", "test", "docs"} < set(targets)
    makefile = text_of("Makefile")
    for target in targets:
        assert re.search(rf"^{target.split()[0]}:", makefile, flags=re.MULTILINE), target
    for step in job["steps"]:  # an action is pinned by commit
        assert "run" in step or re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]), step
    assert "shared" not in text
    assert "MIRROR" not in text


def test_pages_named_in_code_and_text_exist():
    named = 0
    files = [ROOT / "README.md", *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    for path in files:
        if path.suffix in TEXTS and path.is_file():
            for name in re.findall(r"\bdocs/[\w/-]+\.md\b", text_of(path)):
                assert (ROOT / name).is_file(), f"{short(path)} names {name}, which is not there"
                named += 1
    assert named > 10


def test_the_pages_on_method_mirror_the_packages_and_are_in_the_index():
    index = text_of("docs/method.md")
    pages = sorted((ROOT / "docs/method").rglob("*.md"))
    assert len(pages) > 10
    for page in pages:
        inside = page.relative_to(ROOT / "docs/method")
        assert inside.parts[0] in PACKAGES, f"{short(page)}: there is no package {inside.parts[0]}"
        assert len(inside.parts) > 1, f"{short(page)}: a page is in the folder of its package"
        assert f"](method/{inside})" in index, f"{short(page)} is not in docs/method.md"


@pytest.mark.parametrize("page", [page for page in PAGES if page.is_relative_to(ROOT / "docs")], ids=short)
def test_modules_that_a_page_names_exist(page):
    """`stats.pvalues`, `norms.distances.bias_table` and `analyses/counts.py` are things of the library."""
    text = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    packages = "|".join(PACKAGES)
    for name in re.findall(rf"`(?:cinorms\.)?((?:{packages})(?:\.\w+)+)`", text):
        if name.endswith((".yaml", ".csv", ".jsonl", ".py")):
            continue
        resolve_name(f"cinorms.{name}")  # an error where there is none
    for name in re.findall(rf"`((?:{packages})/[\w/]+\.py)`", text):
        assert (LIBRARY / name).is_file(), f"{short(page)}: there is no {name}"


def test_the_page_on_architecture_has_the_layers_that_are_checked():
    settings = tomllib.loads(text_of("pyproject.toml"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    text = text_of("docs/architecture.md").partition("| package | what it does |")[2]
    rows = re.findall(r"^\| (`[^|]*) \|", text.partition("\n\n")[0], flags=re.MULTILINE)
    assert [re.findall(r"`(\w+)`", row) for row in rows] == [layer.split(" | ") for layer in layers]


FACTS = json.loads(text_of("docs/images/facts.json"))
README = text_of("README.md")
SHOWN = re.findall(r"!\[[^\]]*\]\((?:docs/)?images/([^)]+)\)", README)


def around(name: str) -> str:
    """Return what README says about a picture: its alternative text and what follows it, to the next one."""
    place = rf"!\[([^\]]*)\]\([^)]*{re.escape(name)}\)(.*?)(?=^!\[|^#|\Z)"
    return " ".join("".join(re.search(place, README, re.DOTALL | re.MULTILINE).groups()).split())


def test_readme_is_short_and_says_of_agents_what_was_published():
    assert len(re.sub(r"```.*?```|<picture>.*?</picture>", "", README, flags=re.DOTALL).split()) <= 450
    numbers = pd.read_csv(ROOT / "resources/published/agents2025_numbers.csv").set_index("cell")["printed"]
    shares = [float(numbers[f"{model}, sentence: shares given no"]) for model in ("gpt-4o", "gpt-4o-mini")]
    low, high = (f"{share:.0%}" for share in sorted(shares))
    assert f"two models share a sensitive item in {low} to {high} of their actions" in " ".join(
        README.split()
    )


def test_every_picture_is_the_one_whose_facts_are_recorded():
    drawn = {path.name for path in (ROOT / "docs/images").iterdir()} - {"facts.json", "data-flow.svg"}
    assert drawn == set(FACTS)
    assert set(SHOWN) <= {name for name, facts in FACTS.items() if "README.md" in facts["says"]}
    for name, facts in FACTS.items():
        digest = hashlib.sha256((ROOT / "docs/images" / name).read_bytes()).hexdigest()
        assert digest == facts["sha256"], f"{name} is not of these facts: run docs/tools/pictures.py"


@pytest.mark.parametrize(("name", "page"), [(name, page) for name in FACTS for page in FACTS[name]["says"]])
def test_what_a_page_says_of_a_picture_and_its_run_are_the_numbers_of_that_run(name, page):
    is_shown = page == "README.md" and name in SHOWN
    left = text = around(name) if is_shown else " ".join(text_of(page).split())
    for phrase in FACTS[name]["says"][page]:
        assert phrase in text, f"{page} does not say of {name}: {phrase}"
        left = left.replace(phrase, "")
    if is_shown:
        assert f"`{FACTS[name]['command']}`" in text
        others = re.findall(r"\d[\d.,%]*", re.sub(r"`[^`]*`", "", left))
        assert not others, f"{page}: {others}, next to {name}, are not among its facts"
