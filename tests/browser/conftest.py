"""A real browser for the tests of the report: Chromium, headless, driven by Selenium."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

#: Nothing here waits for a time: it waits for what must happen, and gives up after this many seconds.
PATIENCE = 300
MISSING = "{name} is missing: the browser tests need Debian's packages chromium and chromium-driver"


@dataclass
class Window:
    """A browser window, and what tests want of it."""

    driver: webdriver.Chrome

    def open(self, page: Path, state: str = "") -> None:
        """Open a page in a state, as a reader does who was sent its address."""
        self.driver.get("about:blank")
        self.driver.get(page.as_uri() + state)
        self.wait(
            lambda: self.run("return document.documentElement.dataset.ready") == "1", "the page is not ready"
        )

    def wait(self, happened: Callable[[], Any], otherwise: str) -> Any:
        """Wait until ``happened`` returns something true, and return it."""
        end = time.monotonic() + PATIENCE
        while not (found := happened()):
            assert time.monotonic() < end, f"{otherwise}; the console says {self.driver.get_log('browser')}"
            time.sleep(0.02)
        return found

    def run(self, script: str, *arguments: object) -> Any:
        """Run JavaScript in the page."""
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[WebElement]:
        """Return the elements that a selector finds."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        """Return the first element that a selector finds."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """Return the text of every element, also of those that are scrolled away."""
        return list(
            self.run(
                "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector
            )
        )

    def click(self, selector: str) -> None:
        """Click an element wherever it stands."""
        self.run("arguments[0].click()", self.one(selector))

    def choose(self, name: str, value: str) -> None:
        """Choose an option of a control."""
        script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change', {bubbles: true}))"
        self.run(script, self.one(f'select[name="{name}"]'), value)

    def hash(self) -> str:
        """Return the state that the address holds."""
        return str(self.run("return location.hash"))

    def dialog(self) -> str:
        """Return the text of the open dialog."""
        self.wait(lambda: self.run("return document.getElementById('cell').open"), "the dialog does not open")
        return str(self.run("return document.getElementById('cell').textContent"))

    def complaints(self) -> list[str]:
        """Return what the console says, and every address that was asked for outside the page."""
        said = [str(entry["message"]) for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                if not address.startswith(("file:", "data:", "blob:", "about:")):
                    said.append(address)
        return said


@pytest.fixture(scope="session")
def window() -> Iterator[Window]:
    """Return a window of 1,280 by 900 points."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    assert binary, MISSING.format(name="chromium")
    assert driver, MISSING.format(name="chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "ignore")
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield Window(chrome)
    chrome.quit()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take pages that are there already."""
    parser.addoption("--page", action="append", default=[], help="a report's index.html to be tested as well")
