"""The pages that whole studies made, given with ``--page``: they load, say nothing, ask for nothing, and react."""

from pathlib import Path

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per page; without any there is none."""
    pages = metafunc.config.getoption("--page")
    metafunc.parametrize("page", [Path(page).resolve() for page in pages], ids=pages)


def test_a_study_s_page_works(window, page):
    window.complaints()
    window.open(page)
    assert page.stat().st_size < 10 * 2**20
    rows, models = window.texts(".matrix tbody th"), window.texts("#counts tbody th")
    assert any(row.startswith(models[0]) for row in rows)
    assert len(window.all(".matrix tbody svg.line")) == len(rows)
    assert all(len(text) > 20 for text in window.texts("header h1, .trust, .example"))
    flows = window.one("#slice").text
    rows = len(window.all("#flows tbody tr"))
    assert rows > 0

    window.click('button[name^="sort:norm:"]')
    assert window.all('th[aria-sort="ascending"]')
    factor = window.run("return document.querySelector('select[name^=\"fix:\"]').name")
    level = window.run(
        "return document.querySelector(`select[name='${arguments[0]}']`).options[1].value", factor
    )
    window.choose(factor, level)
    assert window.one("#slice").text != flows
    state = window.hash()
    window.open(page, state)
    assert window.hash() == state
    assert level in window.one("#slice").text

    window.click("#flows tbody button")
    assert len(window.dialog()) > 100
    assert window.complaints() == []
