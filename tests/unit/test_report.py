"""The report shows what a study made on one page that needs no network and runs nothing a model wrote."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from cinorms.report import SHOWN_ROWS, render

HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&amp;{{ 7*7 }}{% raw %}"


class Page(HTMLParser):
    """Collects the tags of a page with their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def made(tmp_path: Path) -> dict[str, list[Path]]:
    """Return a figure, a table and a preview in which everything is hostile."""
    figure = tmp_path / "fig.png"
    figure.write_bytes(b"\x89PNG pixels")
    figure.with_suffix(".txt").write_text(HOSTILE + "\n", encoding="utf-8")
    table = tmp_path / "counts.csv"
    pd.DataFrame({HOSTILE: [HOSTILE, "ü"], "n": [1, None]}).to_csv(table, index=False)
    preview = tmp_path / "main.preview.csv"
    pd.DataFrame({"user_message": [f"{n} {HOSTILE}" for n in range(9)]}).to_csv(preview, index=False)
    return {"figures": [figure], "tables": [table], "previews": [preview]}


def page_of(made: dict[str, list[Path]], planted: bool = False, study: str = "demo") -> tuple[str, Page]:
    text = render(settings={"study": study, "note": HOSTILE}, planted=planted, **made)
    return text, Page(text)


def test_nothing_hostile_becomes_a_tag_or_an_attribute(made: dict[str, list[Path]]) -> None:
    text, page = page_of(made, study=HOSTILE)
    assert not [tag for tag, _ in page.tags if tag == "script"]
    assert len([tag for tag, _ in page.tags if tag == "img"]) == 1
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "49" not in page.text.replace("{{ 7*7 }}", "")
    # Shown as it was written: in the title, the heading, the caption, a column, cells, the settings.
    assert page.text.count("{{ 7*7 }}{% raw %}") >= 7
    assert text.count("&lt;script&gt;") >= 7


def test_a_figure_is_in_the_page_with_its_caption_as_alternative_text(made: dict[str, list[Path]]) -> None:
    _, page = page_of(made)
    (image,) = [attributes for tag, attributes in page.tags if tag == "img"]
    data = (image["src"] or "").removeprefix("data:image/png;base64,")
    assert base64.b64decode(data) == b"\x89PNG pixels"
    assert image["alt"] == HOSTILE


def test_the_page_needs_no_network(made: dict[str, list[Path]]) -> None:
    _, page = page_of(made)
    links = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href", "srcset", "action", "data")
    ]
    assert all((value or "").startswith(("data:", "#")) for value in links)
    assert not [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "embed", "form")]


def test_a_preview_shows_three_rows_and_says_how_many_more_there_are(made: dict[str, list[Path]]) -> None:
    _, page = page_of(made)
    assert re.findall(r"(\d) <script>", page.text) == ["0", "1", "2"]
    assert "6 more rows" in page.text


def test_a_long_table_is_cut_and_a_short_one_is_not(made: dict[str, list[Path]], tmp_path: Path) -> None:
    for n, said in ((SHOWN_ROWS, False), (SHOWN_ROWS + 1, True)):
        pd.DataFrame({"row": [f"row-{i}" for i in range(n)]}).to_csv(made["tables"][0], index=False)
        _, page = page_of({**made, "previews": []})
        assert page.text.count("row-") == SHOWN_ROWS
        assert ("1 more rows" in page.text) == said


def test_cells_are_shown_as_they_stand_in_the_file(made: dict[str, list[Path]]) -> None:
    made["tables"][0].write_text("level,p\nNA,0.050\n,1e-5\n01,None\n", encoding="utf-8")
    _, page = page_of({**made, "previews": []})
    for cell in ("NA", "0.050", "1e-5", "01", "None"):
        assert f"{cell}" in page.text
    assert "nan" not in page.text.lower()


@pytest.mark.parametrize("planted", [True, False])
def test_the_mark_of_planted_respondents(made: dict[str, list[Path]], planted: bool) -> None:
    _, page = page_of(made, planted)
    assert ("Planted respondents: no model was asked." in page.text) == planted


def test_a_study_without_figures_and_tables_has_a_page(made: dict[str, list[Path]]) -> None:
    _, page = page_of({"figures": [], "tables": [], "previews": []})
    assert "Study demo" in page.text
