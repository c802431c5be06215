"""Captions of Snakemake's report: filled from what a job is given, and for a figure the text of its own file."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from docutils.core import publish_parts
from jinja2 import Environment

from cinorms.core.labels import PLANTED_MARK
from cinorms.figures.theme import CAPTION_WIDTH, Drawn, save

from ...entries import make_entry

REPORT = Path(__file__).parents[3] / "workflow/report"
#: A text with everything that reStructuredText would take for its own.
SAID = (
    "Norms of *a* and tulu_2_: |x| `b`, n = 20 <flows> & 5%. " * 4
    + "\n- Planted respondents: no model gave their answers."
)


def caption(name: str, entry: dict[str, Any], wildcards: dict[str, str], output: dict[str, str]) -> str:
    """Return a caption as HTML, made as Snakemake makes it."""
    job = SimpleNamespace(
        params=SimpleNamespace(entry=entry),
        wildcards=SimpleNamespace(study="s", **wildcards),
        output=SimpleNamespace(**output),
    )
    environment = Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    text = environment.from_string((REPORT / name).read_text(encoding="utf-8")).render(snakemake=job)
    body = publish_parts(text, writer="html")["body"]
    assert "system-message" not in body
    return str(body)


def plain_entry(
    section: str, kind: str, arms: list[str], facts: dict[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    """Return the parameter of a rule that makes an entry of models a and b."""
    pairs = [(arm, model) for arm in arms for model in ("a", "b")]
    return make_entry(section, kind, options, pairs, **(facts or {})).plain()


def printed(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameter of the rule that prints a table."""
    return make_entry("printed", kind, options).plain()


@pytest.fixture(scope="module")
def drawn_caption(tmp_path_factory) -> Path:
    """Return the file of a caption that was saved with a figure."""
    from plotnine import ggplot

    folder = tmp_path_factory.mktemp("figure")
    paths = [folder / f"fig.{kind}" for kind in ("pdf", "png", "svg", "txt")]
    save(Drawn(ggplot(), 2.0, 2.0, SAID, pd.DataFrame()), *paths)
    return paths[-1]


def test_a_figures_caption_is_the_text_beside_it_whatever_stands_in_it(drawn_caption):
    entry = plain_entry("figures", "distribution", ["main", "hot"], title="All norms")
    body = caption("figure.rst", entry, {"figure": "fig"}, {"caption": str(drawn_caption)})
    text = drawn_caption.read_text(encoding="utf-8")
    literal = re.search(r"<pre.*?>\n(.*?)</pre>", body, re.DOTALL)
    assert literal is not None
    shown = literal[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert shown.strip() == text.strip()
    assert " ".join(text.split()) == " ".join(SAID.split())
    assert max(map(len, text.split("\n"))) <= CAPTION_WIDTH
    assert "<strong>All norms.</strong>" in body
    assert "main, hot" in body


def test_a_figure_needs_no_title(drawn_caption):
    entry = plain_entry("figures", "distribution", ["main"])
    assert "<strong>" not in caption("figure.rst", entry, {"figure": "fig"}, {"caption": str(drawn_caption)})


def test_a_tables_caption_says_what_was_filtered():
    select = {"sender": ["a camera"]}
    facts = {"t_val": {"a": 10, "b": 9}, "mark": PLANTED_MARK}
    entry = plain_entry("analyses", "minority", ["main"], facts, select=select)
    body = " ".join(caption("table.rst", entry, {"analysis": "gone"}, {}).split())
    for said in ("models a, b.", "a 10, b 9", "majority of 0.5", "sender: a camera", "no model gave"):
        assert said in body
    quiet = plain_entry("analyses", "minority", ["main"])
    body = caption("table.rst", quiet, {"analysis": "gone"}, {})
    assert "Only flows" not in body
    assert "no model gave" not in body


def test_a_printed_tables_caption_says_what_it_is_made_from():
    body = caption("printed.rst", printed("lost", {"from": ["one", "two"]}), {"printed": "t"}, {})
    assert "one, two" in body
    assert "registry" in caption("printed.rst", printed("models", {}), {"printed": "t"}, {})
