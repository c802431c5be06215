"""What MkDocs does for this project (mkdocs.yml): the same Markdown files work on GitHub and on the site.

Pages link to each other and to any file of the repository by relative paths, as GitHub follows them. The site has
the pages of docs/, the Markdown files outside docs/ that something links to, and a page with the text of every other
file that something links to. Links are written accordingly. A link that leads nowhere ends the build.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = "docs"
#: Markdown files outside docs/ whose place on the site is not their place in the repository.
PLACES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "config/README.md": "your-study.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/inference/README.md": "benchmarks-inference.md",
    "workflow/lib/cumulink/README.md": "cumulink.md",
    "workflow/lib/optionreader/README.md": "optionreader.md",
    "workflow/lib/rewordings/README.md": "rewordings.md",
}
#: Words that a reader searches for, and the page that answers them: search shows it first.
SEARCHED = {
    "index.md": ["cite", "citation", "windows"],
    "your-first-context.md": ["endpoint", "start"],
    "ask-a-model.md": ["model", "anthropic", "claude", "gemini", "deepseek", "ollama"],
    "method/vignettes/datasets.md": ["data", "dataset", "vignette", "vignettes"],
    "running.md": ["resume", "cost"],
    "cluster.md": ["cluster", "slurm"],
    "gate.md": ["version", "versions", "compare", "compared", "quantization", "quantisation", "quantized"],
    "method/human/people.md": ["people", "survey"],
    "method/report/page.md": ["plot", "plots", "figure", "figures"],
    "questions.md": ["r", "read", "results", "table"],
    "method/norms/assessment.md": ["norm", "norms"],
    "method/stats/generalizability.md": ["wordings"],
}
#: Where the pages with the texts of files are.
FILES = "files"
#: What a link can lead to a copy of, as it is.
COPIED = {".png", ".svg", ".json", ".ipynb", ".csv"}
LANGUAGES = {
    ".py": "python",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".cff": "yaml",
    ".smk": "python",
    ".toml": "toml",
}

# Code first: what looks like a link in code is none.
_LINK = re.compile(
    r"(?P<code>```.*?```|`[^`\n]*`)"
    r'|(?P<open>\]\(|srcset=")(?P<link>[^)\s"]+)(?P<close>"|[^)]*\))',
    re.DOTALL,
)


class DeadLink(Exception):
    """A page links to a file that is not in the repository."""


class LoadsFromElsewhere(Exception):
    """A page of the site loads a file from another host."""


def heading_id(heading: str, separator: str = "-") -> str:
    """Return the id that GitHub gives a heading, so that one link works in both places."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return words.replace(" ", separator)


def relative_links(text: str) -> Iterator[str]:
    """Yield the relative links of a Markdown text, those in code left out."""
    for found in _LINK.finditer(text):
        if found["link"] and _is_relative(found["link"]):
            yield found["link"]


def _is_relative(link: str) -> bool:
    return not re.match(r"[a-z]+:|/", link)


def target_of(source: str, link: str) -> str:
    """Return the path in the repository that a link of the file ``source`` leads to; for a folder, its README.md.

    Raises ``DeadLink`` where there is no such file.
    """
    if link.startswith("#"):
        return source
    name = posixpath.normpath(posixpath.join(posixpath.dirname(source), link.partition("#")[0]))
    if (ROOT / name).is_dir():
        name = posixpath.join(name, "README.md")
    if name.startswith("..") or not (ROOT / name).is_file():
        raise DeadLink(f"{source}: the link {link} leads nowhere: there is no file {name}")
    return name


def place_of(name: str) -> str:
    """Return where a file of the repository is among the sources of the site."""
    if name in PLACES:
        return PLACES[name]
    if name.startswith(f"{DOCS}/"):
        return name.removeprefix(f"{DOCS}/")
    if PurePosixPath(name).suffix in {".md", *COPIED}:
        return name
    return f"{FILES}/{name}.md"


def with_links_of_the_site(text: str, source: str) -> str:
    """Return the Markdown text of the file ``source`` with each relative link as the site needs it."""
    here = posixpath.dirname(place_of(source))

    def rewritten(found: re.Match[str]) -> str:
        link = found["link"]
        if not link or link.startswith("#") or not _is_relative(link):
            return found[0]
        _, hash_sign, part = link.partition("#")
        place = posixpath.relpath(place_of(target_of(source, link)), here or ".")
        return f"{found['open']}{place}{hash_sign}{part}{found['close']}"

    return _LINK.sub(rewritten, text)


def page_of_a_file(name: str) -> str:
    """Return a page with the text of a file."""
    text = (ROOT / name).read_text(encoding="utf-8")
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    language = LANGUAGES.get(PurePosixPath(name).suffix, "text")
    return f"# {name}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def files_outside_docs() -> list[str]:
    """Return the files outside docs/ that the site shows: those of `PLACES` and all that a page links to."""
    outside: dict[str, None] = {}
    waiting = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / DOCS).rglob("*.md"))]
    waiting += PLACES
    while waiting:
        name = waiting.pop(0)
        if not name.startswith(f"{DOCS}/"):
            outside[name] = None
        if name.endswith(".md"):
            linked = {
                target_of(name, link) for link in relative_links((ROOT / name).read_text(encoding="utf-8"))
            }
            waiting += sorted(new for new in linked - {*outside, *waiting} if not new.startswith(f"{DOCS}/"))
    return list(outside)


def check_page(page: Path) -> None:
    """Raise ``LoadsFromElsewhere`` for a page that loads a file from another host."""
    for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page.read_text(encoding="utf-8")):
        loaded = re.search(r"""(?:src|href)=["']?((?:https?:)?//[^"' >]+)""", tag)
        if loaded and "canonical" not in tag:
            raise LoadsFromElsewhere(f"{page.name}: the page loads {loaded[1]}; copy the file to docs/")


# --- What MkDocs calls


def in_one_message(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; end the build with one message where it finds a mistake in a page."""
    from mkdocs.exceptions import PluginError

    try:
        return function(*arguments)
    except (DeadLink, LoadsFromElsewhere) as error:
        raise PluginError(str(error)) from None


def on_config(config: Any) -> Any:
    """Give headings the ids that they have on GitHub."""
    config["mdx_configs"].setdefault("toc", {})["slugify"] = heading_id
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in docs/."""
    from mkdocs.structure.files import File, InclusionLevel

    for name in in_one_message(files_outside_docs):
        place = place_of(name)
        if name.endswith(".md"):
            page = File.generated(config, place, content=(ROOT / name).read_text(encoding="utf-8"))
        elif place == name:
            page = File.generated(config, place, abs_src_path=os.fspath(ROOT / name))
        else:
            page = File.generated(config, place, content=page_of_a_file(name))
            page.inclusion = InclusionLevel.NOT_IN_NAV
        page.in_repository = name
        files.append(page)
    return files


def pages_of(part: Any) -> Iterator[str]:
    """Yield the pages of a part of the navigation."""
    if isinstance(part, str):
        yield part
    else:
        for inner in part.values() if isinstance(part, dict) else part:
            yield from pages_of(inner)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Write the links of a page as the site needs them; search finds what the navigation shows, best answers first."""
    if page.file.src_uri not in set(pages_of(config["nav"])) or page.file.src_uri.startswith("decisions/"):
        page.meta["search"] = {"exclude": True}
    page.meta["tags"] = SEARCHED.get(page.file.src_uri, [])
    if page.file.src_uri.startswith(f"{FILES}/"):
        return markdown
    source = getattr(page.file, "in_repository", f"{DOCS}/{page.file.src_uri}")
    return in_one_message(with_links_of_the_site, markdown, source)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Write formulas as MathML, which browsers show by themselves."""
    from latex2mathml.converter import convert

    def formula(found: re.Match[str]) -> str:
        block, tex = found[1] == "div", unescape(found[2])
        return convert(tex, display="block" if block else "inline")

    return re.sub(r'<(div|span) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', formula, html, flags=re.DOTALL)


def on_post_build(config: Any) -> None:
    """Insist that no page loads anything from another host: readers may be offline, and nobody should follow them."""
    for page in sorted(Path(config["site_dir"]).rglob("*.html")):
        in_one_message(check_page, page)
