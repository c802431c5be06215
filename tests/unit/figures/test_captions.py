"""Captions of Snakemake's report: filled from what a job is given, and for a figure the text of its own file."""

import html
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
from docutils.core import publish_parts
from jinja2 import Environment

from cinorms.core.labels import PLANTED_MARK
from cinorms.entries.entry import ENTRIES, Entry
from cinorms.figures.theme import CAPTION_WIDTH, Drawn, save

from ...entries import make_entry

REPORT = Path(__file__).parents[3] / "workflow/report"
#: A text with everything that reStructuredText would take for its own.
SAID = (
    "Norms of *a* and tulu_2_: |x| `b`, n = 20 <flows> & 5%. " * 4
    + "\n- Simulated respondents: no model gave their answers."
)


def caption(name: str, entry: Entry[Any], text_file: Path | None = None) -> str:
    """Return a caption as HTML, made as Snakemake makes it."""
    job = SimpleNamespace(
        params=SimpleNamespace(entry=ENTRIES.dump_python(entry, mode="json", exclude_defaults=True)),
        wildcards=SimpleNamespace(study="s", figure="it", analysis="it", printed="it"),
        output=SimpleNamespace(caption=str(text_file)),
    )
    environment = Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    text = environment.from_string((REPORT / name).read_text(encoding="utf-8")).render(snakemake=job)
    body = publish_parts(text, writer="html")["body"]
    assert "system-message" not in body
    return str(body)


PAIRS = [("main", "a"), ("main", "b")]


def test_a_figures_caption_is_the_text_beside_it_whatever_stands_in_it(tmp_path):
    from plotnine import ggplot

    *drawings, path = [tmp_path / f"fig.{kind}" for kind in ("pdf", "png", "svg", "txt")]
    save(Drawn(ggplot(), SAID, pd.DataFrame()), *drawings, path)
    body = caption("figure.rst", make_entry("figures", "distribution", {"title": "All norms"}, PAIRS), path)
    text = path.read_text(encoding="utf-8")
    literal = re.search(r"<pre.*?>\n(.*?)</pre>", body, re.DOTALL)
    assert html.unescape(literal[1]).strip() == text.strip()
    assert " ".join(text.split()) == " ".join(SAID.split())
    assert max(map(len, text.split("\n"))) <= CAPTION_WIDTH
    assert "<strong>All norms.</strong>" in body
    assert "<strong>" not in caption("figure.rst", make_entry("figures", "distribution", {}, PAIRS), path)


def test_a_tables_caption_says_what_was_filtered():
    options = {"select": {"sender": ["a camera"]}}
    stated = make_entry(
        "analyses", "discarded_association", options, PAIRS, t_val={"a": 10, "b": 9}, mark=PLANTED_MARK
    )
    body = " ".join(caption("table.rst", stated).split())
    for said in ("models a, b.", "a 10, b 9", "majority of 0.5", "sender: a camera", "no model gave"):
        assert said in body
    body = caption("table.rst", make_entry("analyses", "discarded_association", {}, PAIRS))
    assert "Only flows" not in body
    assert "no model gave" not in body


def test_a_printed_tables_caption_says_what_it_is_made_from():
    assert "one, two" in caption("printed.rst", make_entry("printed", "lost", {"from": ["one", "two"]}))
    assert "registry" in caption("printed.rst", make_entry("printed", "models", {}))
