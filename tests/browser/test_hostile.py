"""What models, data and settings say stays text, in every place that it can reach."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cinorms.report.page import render

from ..study_folder import folder_of, make_results
from .conftest import Window

MARKS = [
    "</script><script>hacked = 1</script>",
    "</style><style>body { display: none }</style><img src=x onerror='hacked = 1'>",
    '" onmouseover="hacked = 1" autofocus onfocus="hacked = 1" x="',
    "<!--<script>--> ]]> {{7*7}} {% raw %} ${7*7} &lt;b&gt; \u2028\u2029 \u202egnp.exe\u202c",
    "<iframe src='javascript:hacked = 1'></iframe><a href='https://example.org/'>link</a>",
    "<svg><script>hacked = 1</script></svg><base href='https://example.org/'><meta http-equiv=refresh content=0>",
    '=HYPERLINK("https://example.org/","x")|\'+@-',
]


@pytest.fixture(params=MARKS, ids=range(len(MARKS)))
def mark(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(mark: str, tmp_path: Path, window: Window) -> Iterator[Path]:
    """Return a page in which every text has the mark; nothing of it may run, load or be said in the console."""
    results = make_results(tmp_path, mark, models=["model-a", "b<b onclick=alert(1)>&'"])
    path = folder_of(results) / "report/index.html"
    path.write_text(render(results), encoding="utf-8")
    window.complaints()
    yield path
    assert window.complaints() == []
    assert window.run("return typeof hacked") == "undefined"
    assert (
        window.run("return document.querySelectorAll('script, style, iframe, base, object, embed').length")
        == 3
    )
    every = "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes])"
    assert window.run(f"return {every}.filter((a) => a.name.startsWith('on')).length") == 0


def test_the_page_shows_hostile_texts_as_they_are(window, page, mark):
    window.open(page)
    shown = window.run("return document.body.textContent")
    flat = " ".join(mark.split())
    assert " ".join(shown.split()).count(flat) > 20
    for name in ("What decides", "Who differs", "Look up a flow", "How sure"):
        assert name in window.texts("h2")
    assert window.one("h1").is_displayed()


def test_the_explorer_works_on_hostile_labels(window, page, mark):
    window.open(page)
    level = "a camera" + mark
    window.choose("fix:sender", level)
    assert (
        window.run("return document.getElementById('slice').textContent")
        == f"40 of 120 flows with sender ‘{level}’."
    )
    window.click("#flows tbody button")
    said = window.dialog()
    assert mark in said
    window.run("document.querySelector('#cell tbody .link').click()")
    asked = window.wait(lambda: window.texts("#question blockquote"), "no question appears")
    assert asked[0] == f"Be kind.{mark}"
    assert mark in asked[1]
    window.open(page, window.hash())
    assert mark in window.dialog()
