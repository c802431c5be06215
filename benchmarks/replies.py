"""How long a browser takes with a report of 1.8 million replies, all different: 8 models, 6,912 flows, 33 variants.

Run: ``python benchmarks/replies.py FOLDER`` (2 GB of disk, chromium and chromium-driver). What a rule went by is looked
for in every tenth reply only; the last line is what it costs for each.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from selenium import webdriver

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from tests import study_folder
from tests.scales import ACCEPTABILITY

from cinorms.answers.reading.asked_text import AskedText
from cinorms.answers.reading.evidence import evidence
from cinorms.report.page import render

_WORDS = "the owner agreed device sends data maker police doctor home friend private open often"
WORDS = np.array(_WORDS.split())
OPENED, TIMED = 30, 2000
#: Opens a flow with one of its variants and returns the milliseconds until its replies are shown.
OPEN = """const [state, flow, done] = arguments, start = performance.now();
const look = () => {
  const shown = document.getElementById("cell-title")?.textContent.startsWith(`Flow ${flow} `);
  if (shown && document.querySelector("#question .reply")) done(performance.now() - start);
  else setTimeout(look, 2);
};
location.hash = state;
look();"""


def long_texts(answers: pd.DataFrame, mark: str) -> pd.Series[str]:
    """Return replies of about 130 characters, no two the same, and let a rule that goes by no words read most."""
    rng, n = np.random.default_rng(len(answers)), len(answers)
    reasons = pd.Series([" ".join(row) for row in WORDS[rng.integers(0, len(WORDS), (n, 16))]])
    answers["rule"] = pd.Categorical.from_codes((np.arange(n) % 10 > 0).astype(int), ["label", "override"])
    said = answers["level"].map(
        dict(zip(ACCEPTABILITY.levels, ACCEPTABILITY.options, strict=True)), na_action="ignore"
    )
    return (
        "I would say "
        + said.astype("str").fillna("nothing")
        + f", {mark}as "
        + reasons
        + [f" {i}." for i in range(n)]
    )


def make_page(folder: Path) -> Path:
    """Write the study and return its page."""
    study_folder.SENDERS[:] = [f"sender {i}" for i in range(12)]
    study_folder.RECIPIENTS[:] = [f"recipient {i}" for i in range(24)]
    study_folder.PRINCIPLES[:] = [f"under condition {i}" for i in range(24)]
    study_folder.SHAPE = (11, 3)
    study_folder.reply_texts = long_texts
    results = study_folder.make_results(folder, models=[f"model-{i}" for i in range(8)])
    page = folder / "report/index.html"
    page.write_text(render(results, study_folder.COMMAND), encoding="utf-8")
    return page


def browser() -> webdriver.Chrome:
    """Return Chromium without a window."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options)


def main() -> None:
    """Make the study unless its page is there, and print sizes and seconds."""
    folder = Path(sys.argv[1])
    page = folder / "report/index.html"
    page = page if page.exists() else make_page(folder)
    files = sorted((folder / "report/replies").rglob("*.js"))
    sizes = [file.stat().st_size for file in files]
    print(
        f"page {page.stat().st_size / 1e6:.1f} MB; {len(files)} scripts, {sum(sizes) / 1e6:.0f} MB, "
        f"largest {max(sizes):,} bytes"
    )
    driver = browser()
    try:
        opened = []
        for _ in range(5):
            driver.get("about:blank")
            start = time.perf_counter()
            driver.get(page.as_uri())
            while driver.execute_script("return document.documentElement.dataset.ready") != "1":
                time.sleep(0.005)
            opened.append(time.perf_counter() - start)
        print(
            f"page opened in {np.median(opened):.2f} s (median of {len(opened)}; slowest {max(opened):.2f} s)"
        )
        for models in (1, 4):
            chosen = "".join(f"&model=model-{i}" for i in range(models))
            flows = np.random.default_rng(models).choice(6912, OPENED, replace=False).tolist()
            states = [f"#explorer?arm=main{chosen}&flow={flow}&variant=0_0" for flow in flows]
            took = [
                driver.execute_async_script(OPEN, *pair) / 1e3 for pair in zip(states, flows, strict=True)
            ]
            print(
                f"a flow with the replies of {models}: {np.median(took):.2f} s (median of {OPENED}; "
                f"slowest {max(took):.2f} s)"
            )
    finally:
        driver.quit()
    start = time.perf_counter()
    for i in range(TIMED):
        text = f"I would say somewhat acceptable, as {' '.join(WORDS)} {i}"
        evidence(AskedText(text, ACCEPTABILITY, "stop", frozenset()), "label", 1)
    print(f"words of a reply found again in {(time.perf_counter() - start) / TIMED * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
