"""No page has what axe-core calls a violation, at three widths, light, dark and printed; none is too wide.

And none runs, loads or sends what somebody may have put into it.
"""

from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

from cinorms.core.csv_tables import SENTENCES
from cinorms.gate import files as gate_files
from cinorms.gate.verdicts import Gate
from cinorms.printed import comparison
from cinorms.published.releases import load_release
from cinorms.report import appendix, people_page
from cinorms.report import page as report_page

from ..study_folder import COMMAND, make_results
from ..unit.gate.conftest import write_study
from ..unit.gate.test_files import gate, places
from ..unit.printed.test_comparison import release_file, three
from ..unit.report.test_people_page import FACTS, made
from .conftest import Window

#: Fixtures of other tests, which make what the pages are made from.
FIXTURES = (write_study, places, gate, made)
SCRIPT = """const done = arguments[0];
axe.run(document).then((found) => done(found.violations), (error) => done([{id: `${error}`}]));"""
#: What the policy of a page forbids, each by the name that the browser gives it.
FORBIDDEN = {
    "script-src-elem": "const x = document.createElement('script'); x.textContent = 'hacked = 1'; "
    "document.body.append(x)",
    "script-src-attr": "const x = document.createElement('p'); x.setAttribute('onclick', 'hacked = 1'); "
    "document.body.append(x); x.click()",
    "style-src-elem": "const x = document.createElement('style'); x.textContent = 'body { display: none }'; "
    "document.body.append(x)",
    "img-src": "new Image().src = 'https://example.org/x.png'",
    "frame-src": "const x = document.createElement('iframe'); x.src = 'https://example.org/'; "
    "document.body.append(x)",
    "connect-src": "fetch('https://example.org/').catch(() => 0)",
    "form-action": "const x = document.createElement('form'); x.action = 'https://example.org/'; "
    "document.body.append(x); x.submit()",
    "base-uri": "const x = document.createElement('base'); x.href = 'https://example.org/'; "
    "document.head.append(x)",
}


@pytest.fixture
def pages(tmp_path: Path, gate: Gate, made: tuple[pd.DataFrame, ...]) -> dict[str, Callable[[], str]]:
    """Return what makes each page."""
    cell = ["paper", "5", "It is.", "m", "x", "bad", "good", "no", "", ""]
    cells = pd.DataFrame([cell], columns=list(SENTENCES.about))
    return {
        "report": lambda: report_page.render(make_results(tmp_path)),
        "appendix": lambda: appendix.render(make_results(tmp_path), COMMAND),
        "people": lambda: people_page.render(FACTS, *made),
        "gate": lambda: gate_files.render(gate),
        "replication": lambda: comparison.render(
            load_release(release_file(tmp_path)), three(), cells, [], ["m"]
        ),
    }


@pytest.fixture
def emulated(window: Window) -> Iterator[Callable[[int, str, str], None]]:
    """Return a function that gives the window a width, a medium and a colour scheme; undone afterwards."""
    command = window.driver.execute_cdp_cmd

    def emulate(width: int, medium: str, scheme: str) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        command("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        command("Emulation.setEmulatedMedia", {"media": medium, "features": features})

    yield emulate
    command("Emulation.clearDeviceMetricsOverride", {})
    command("Emulation.setEmulatedMedia", {"media": "", "features": []})


NAMES = pytest.mark.parametrize("name", ["report", "appendix", "people", "gate", "replication"])


@NAMES
def test_a_page_s_policy_forbids_whatever_it_does_not_need(window, pages, tmp_path, name):
    file = tmp_path / "page.html"
    file.write_text(pages[name](), encoding="utf-8")
    window.driver.get(file.as_uri())
    window.run(
        "window.broken = []; document.addEventListener('securitypolicyviolation', "
        "(event) => broken.push(event.effectiveDirective))"
    )
    for directive, attack in FORBIDDEN.items():
        window.run(attack)
        window.wait(
            lambda directive=directive: directive in window.run("return broken"), f"{name} allows {directive}"
        )
    assert window.run("return typeof hacked") == "undefined"
    window.complaints()  # of what is forbidden the console says that


@NAMES
def test_a_page_has_no_violation_and_does_not_scroll_sideways(window, pages, emulated, tmp_path, name):
    file = tmp_path / "page.html"
    file.write_text(pages[name](), encoding="utf-8")
    if name == "report":
        window.open(file)
    else:
        window.driver.get(file.as_uri())
    for tab in window.all('[role="tab"]'):
        window.run("document.getElementById(arguments[0].getAttribute('aria-controls')).hidden = false", tab)
    for details in window.all("details"):
        window.run("arguments[0].open = true", details)
    window.run((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8"))
    window.driver.set_script_timeout(120)
    for width in (1400, 800, 390):
        for medium, scheme in (("screen", "light"), ("screen", "dark"), ("print", "light")):
            emulated(width, medium, scheme)
            found = [
                f"{violation['id']}: {node['html'][:150]}: {node.get('failureSummary', '')}"
                for violation in window.driver.execute_async_script(SCRIPT)
                for node in violation.get("nodes", [{"html": ""}])
            ]
            assert not found, f"{width} px, {medium}, {scheme}:\n" + "\n".join(found[:8])
            if medium == "screen" or width == 800:  # paper is as wide
                wide = window.run("return document.documentElement.scrollWidth")
                assert wide <= width, f"{width} px, {medium}, {scheme}: the page is {wide} px wide"
    if name == "gate":  # on a telephone the claims are below each other, and none of their cells is cut
        emulated(390, "screen", "light")
        inside = "const claims = document.querySelector('.claims'); return claims.scrollWidth - claims.parentElement."
        assert window.run(f"{inside}clientWidth") <= 0
