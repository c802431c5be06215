"""Take the pictures of README and documents from the results of studies, with the numbers that the pages state.

``PYTHONPATH=workflow/lib .venv/bin/python docs/tools/pictures.py``, after the commands below, writes ``docs/images``:
each picture, and ``facts.json`` with its study, its command, the phrases with numbers that pages must contain, and the
picture's SHA-256.
A test fails where a picture, its caption and the numbers next to it are not from one run.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd

from cinorms.report.screen import headline
from cinorms.report.standing import Standing, ranked
from cinorms.report.words import in_words

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs/images"
#: The figure's name for how much answers depend on the flow.
SHARE = "variance of answers that goes with the flow"
#: Pixels that a picture is wide at most.
WIDEST = 1900


class Taken(NamedTuple):
    """A picture, who answered in it, and what the pages that show it say, by page."""

    picture: bytes
    respondents: list[str]
    says: dict[str, list[str]]


# --- Two real models


def real(study: Path) -> Taken:
    """Return the profile of two real models and planted respondents, and the numbers of the run that it shows."""
    data = pd.read_csv(study / "figures/profile.csv").set_index(["model", "measure"])
    shown = list(dict.fromkeys(data.index.get_level_values("model")))
    answers = pd.read_parquet(study / f"answers/text/{shown[0]}.parquet", columns=["flow"])
    rows = [_row(data.loc[model], answers["flow"].nunique()) for model in shown]
    picture = (study / "figures/profile.png").read_bytes()
    return Taken(picture, shown, {"docs/method/stats/trust.md": rows})


def _row(of_model: pd.DataFrame, flows: int) -> str:
    """Return a model's cells in the table of trust.md."""
    valid, norms, share = (of_model.loc[name] for name in ("valid answers", "flows with a norm", SHARE))
    of_flow = f"{share['value']:.0%}".replace("-0%", "0%")
    return f"| {valid['value']:.0%} | {norms['value'] * flows:.0f} | {of_flow} |"


# --- People and models


def people(study: Path) -> Taken:
    """Return what the page says first of models next to the people of one survey, and its drawing of that."""
    survey = "people-2b"
    table = pd.read_csv(study / "tables/distances.csv").query(f"baseline == '{survey}' and metric == 'rms'")
    compared = pd.read_csv(study / "tables/flows.csv").query(f"baseline == '{survey}'")["flow"]
    ratings = pd.read_parquet(study / f"answers/{survey}/people.parquet")
    verdicts = table["verdict"].value_counts()
    n_flows, models = int(table["n_flows"].max()), in_words(len(table))
    says = [
        f"{ratings['flow'].isin(compared).sum()} ratings by people of {n_flows} flows of ConfAIde",
        f"answers of {models} models",
        f"{in_words(verdicts['farther']).capitalize()} of the {models} models are farther from people",
        f"for {in_words(verdicts['undecided'])} the answers do not decide",
    ]
    page = (study / "people/index.html").read_text(encoding="utf-8")
    head, figure = page.partition("<body>")[0], page.index(f'<figure id="distance-{survey}">')
    with TemporaryDirectory() as folder:
        alone = Path(folder) / "figure.html"
        alone.write_text(f"{head}<body>{page[figure : page.index('</figure>', figure)]}", encoding="utf-8")
        picture = _screen(alone.as_uri(), PEOPLE_WINDOW)
    return Taken(picture, table["model"].tolist(), {"docs/method/human/people.md": says})


# --- The report's first screen

#: The window that shows the first screen of the report and nothing below it.
WINDOW = (1400, 757)
#: That which shows how far each model is from the people of a survey, and nothing else.
PEOPLE_WINDOW = (1400, 292)


def first_screen(study: Path, dark: bool = False) -> Taken:
    """Return the first screen of a report, and what it says."""
    files = sorted((study / "cards").glob("*.json"))
    cards = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    rows = ranked(Standing(**card["standing"]) for card in cards)
    page = study / "report/index.html"
    text = unescape(page.read_text(encoding="utf-8"))
    (finding,) = re.findall("<h1>(.*?)</h1>", text)
    small = _screen(page.resolve().as_uri(), WINDOW, dark)
    return Taken(small, [row.model for row in rows], {"README.md": [finding, headline(rows)]})


# --- A map


def norm_map(study: Path) -> Taken:
    """Return the norms of two models as Figure 7 of the paper has them, and on how many flows."""
    flows = re.search(r"n = ([\d,]+ flows)", (study / "figures/fig07.txt").read_text(encoding="utf-8"))
    models = list(pd.read_csv(study / "figures/fig07.csv")["model"].unique())
    return Taken(_small(study / "figures/fig07.png", 700), models, {"README.md": [flows[1], *models]})


# --- A gate

#: The window that shows a gate's verdict and its first claims.
GATE_WINDOW = (1400, 720)


def gate(study: Path) -> Taken:
    """Return what the page of a gate says first, and how many of its claims pass."""
    folder = study / "gate/quantisation"
    found = json.loads((folder / "gate.json").read_text(encoding="utf-8"))
    verdicts = Counter(claim["verdict"] for claim in found["claims"])
    assert verdicts.keys() == {"pass", "undecided"}, "README says nothing of claims that fail"
    says = [
        f"{in_words(verdicts['pass']).capitalize()} of {in_words(verdicts.total())} claims pass",
        f"for {in_words(verdicts['undecided'])} there are not enough wordings to tell",
    ]
    page = (folder / "index.html").resolve().as_uri()
    models = [found[side]["model"] for side in ("base", "new")]
    return Taken(_screen(page, GATE_WINDOW), models, {"docs/gate.md": says})


def _screen(page: str, window: tuple[int, int], dark: bool = False) -> bytes:
    """Return what a window shows of a page; Chromium draws it (Debian's package ``chromium``)."""
    with TemporaryDirectory() as folder:
        picture = Path(folder) / "screen.png"
        subprocess.run(
            [
                *("chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars"),
                f"--blink-settings=preferredColorScheme={0 if dark else 1}",
                f"--window-size={window[0]},{window[1]}",
                *(f"--screenshot={picture}", page),
            ],
            check=True,
            capture_output=True,
        )
        return _small(picture)


def _small(path: Path, widest: int = WIDEST) -> bytes:
    """Return a picture in the size and with the colours that a page needs."""
    from PIL import Image

    with Image.open(path) as image:
        wide = min(widest, image.width)
        size = (wide, round(image.height * wide / image.width))
        small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS).quantize(256)
    out = io.BytesIO()
    small.save(out, "PNG", optimize=True)
    return out.getvalue()


#: The command of the gate that README shows.
GATED = (
    "make gate BASE=replication/main/tulu-2-13b NEW=replication/main/tulu-2-13b-awq "
    "POLICY=examples/gate/quantisation.yaml"
)
#: The study whose respondents are real models.
REAL = "replication"
#: Each picture: the command that makes its results, its study, and what takes the picture from them.
PICTURES: dict[str, tuple[str, str, Callable[[Path], Taken]]] = {
    "real.png": ("make real CONFIG=config/real-pair.yaml", "real-pair", real),
    "people.png": ("make people", "people-confaide", people),
    "first-screen.png": (f"make run CONFIG=config/{REAL}.yaml", REAL, first_screen),
    "first-screen-dark.png": (f"make run CONFIG=config/{REAL}.yaml", REAL, partial(first_screen, dark=True)),
    "map.png": (f"make run CONFIG=config/{REAL}.yaml", REAL, norm_map),
    "gate.png": (GATED, REAL, gate),
}


def main() -> None:
    """Write the pictures whose studies have results, and their facts; keep the others as they are."""
    file = IMAGES / "facts.json"
    facts = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for name, (command, study, take) in PICTURES.items():
        try:
            taken = take(ROOT / "results" / study)
        except FileNotFoundError as missing:
            print(f"{name}: kept as it is; `{command}` makes what is missing: {missing}")
            continue
        (IMAGES / name).write_bytes(taken.picture)
        digest = hashlib.sha256(taken.picture).hexdigest()
        facts[name] = {"command": command, "study": study, **taken._asdict(), "sha256": digest}
        del facts[name]["picture"]
    facts = {name: facts[name] for name in facts if (IMAGES / name).exists()}
    file.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
