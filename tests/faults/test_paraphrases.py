"""Paraphrases that a model wrote: the run stops for a reader, `make confirm` goes on, mending by hand is recorded."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from .server import Endpoint, answer_to
from .test_study import KEY, Study

pytestmark = pytest.mark.slow

ORIGINAL = "Please say how acceptable this scenario is: {scenario}. Answer with one of these: {options}"
WORDINGS = [
    "How acceptable is what follows: {scenario}? Reply with one of these: {options}",
    "Judge this scenario: {scenario} The answer must be one of these options: {options}",  # runs on
    "Judge the acceptability of this: {scenario}. Give one of the following: {options}",
    "Say how acceptable you find this: {scenario}. Choose among these: {options}",
]
FROZEN = "resources/prompts/frozen/mine.yaml"


@pytest.fixture
def study(tmp_path: Path, endpoint: Endpoint) -> Study:
    """Return a study in a prompt set that the model behind the endpoint is to paraphrase."""
    found = Study(tmp_path / "project", endpoint)
    found.study["arms"]["main"] |= {"prompts": "mine", "templates": "all"}
    declared = {
        "title": "Mine",
        "source": "generate",
        "paraphraser": "behind-an-api",
        "scale": "acceptability",
        "original": ORIGINAL,
        "count": 3,
        "tries": 2,
        "temperature": 1,
        "seed": 7,
    }
    (found.folder / "resources/prompts/mine.yaml").write_text(yaml.safe_dump(declared), encoding="utf-8")
    endpoint.answer = lambda chat: "\n".join(WORDINGS) if "Reword" in chat[0]["content"] else answer_to(chat)
    found.write()
    return found


def n_asked(endpoint: Endpoint) -> int:
    """Return how many flows the endpoint was asked about."""
    return sum("Reword" not in body["messages"][0]["content"] for body in endpoint.bodies)


def frozen(study: Study) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((study.folder / FROZEN).read_text(encoding="utf-8"))
    return found


def edit(study: Study, before: str, after: str) -> None:
    path = study.folder / FROZEN
    text = path.read_text(encoding="utf-8")
    # The paraphraser's own words stay in the provenance.
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


def call(
    study: Study, command: str, *arguments: str, said: str = "", code: int = 0, **environment: str
) -> str:
    """Run a command of `make` on the study, with ``said`` as what the user types."""
    library = str(study.folder / "workflow/lib")
    done = subprocess.run(
        [sys.executable, "-m", f"cinorms.run.{command}", "--configfile", "api.yaml", *arguments],
        cwd=study.folder,
        env={**os.environ, "PLANTED_KEY": KEY, "PYTHONPATH": library, **environment},
        input=said,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def snakemake(
    study: Study, *targets: str, code: int = 0, options: Sequence[str] = (), **environment: str
) -> str:
    return study.run_as_it_is(*options, code=code, targets=targets, **environment)


def test_a_run_stops_for_a_reader_and_goes_on_when_confirmed(study, endpoint):
    printed = snakemake(study, "all", code=1)
    assert printed.count(f"{FROZEN}: these paraphrases wait for you: nobody has read them yet") == 1
    assert "make confirm" in printed
    assert "Error in rule" not in printed
    assert n_asked(endpoint) == 0
    written = frozen(study)
    assert written["templates"] == [ORIGINAL, WORDINGS[0], WORDINGS[2], WORDINGS[3]]
    (rejected,) = written["provenance"]["rejected"]
    assert "the vignette runs into the next sentence ('{scenario} The')" in rejected["reason"]

    # Once more, as a target and as a file: nothing is asked, one message, no job.
    for target in ("all", "results/api/prompts/main.parquet"):
        printed = snakemake(study, target, code=1)
        assert printed.count("these paraphrases wait for you") == 1, target
    assert n_asked(endpoint) == 0
    assert "Traceback" not in printed
    assert "wait for you" not in snakemake(study, "plan")

    # A terminal is needed, or YES=1.
    shown = call(study, "confirm", said="y\n", code=1)
    assert f"  1  {WORDINGS[0]}" in shown
    assert "YES=1" in shown
    assert "error    paraphrases" in call(study, "check", code=1)

    assert "Confirmed" in call(study, "confirm", CINORMS_YES="1")
    assert frozen(study)["provenance"]["confirmed"]["how"] == "unread"
    assert "no paraphrases wait" in call(study, "confirm")
    snakemake(study, "results/api/provenance.json")
    assert n_asked(endpoint) == 9 * 12 * 4


def test_a_paraphrase_is_mended_by_hand(study, endpoint):
    snakemake(study, "all", code=1)
    bad = WORDINGS[0]
    edit(study, bad, "How acceptable is this? {scenario} Somewhat acceptable? One of: {options}")
    message = call(study, "confirm", "--yes", code=2)
    assert "templates[1]: it names the answer option 'somewhat acceptable'; correct it" in message
    assert "Traceback" not in message

    mended = "How acceptable would you call what follows: {scenario}? Reply with one of: {options}"
    edit(study, "How acceptable is this? {scenario} Somewhat acceptable? One of: {options}", mended)
    shown = call(study, "confirm", "--yes")
    assert f"  1  {mended}\n     [by hand]" in shown
    provenance = frozen(study)["provenance"]
    assert provenance["generated"][0] == bad
    assert provenance["mended"][0]["templates"] == [1]
    snakemake(study, "results/api/provenance.json")
    assert n_asked(endpoint) == 9 * 12 * 4

    # Edited once more, after it was used: noticed, and only those prompts are asked again.
    again = "How acceptable would you say this is: {scenario}? Reply with one of: {options}"
    edit(study, mended, again)
    message = snakemake(study, "results/api/provenance.json", code=1)
    assert "they were edited since they were confirmed" in message
    assert n_asked(endpoint) == 9 * 12 * 4
    snakemake(study, "results/api/provenance.json", CINORMS_YES="1")  # accepted unread
    provenance = frozen(study)["provenance"]
    assert provenance["confirmed"]["how"] == "unread"
    assert provenance["mended"][0]["templates"] == [1]
    assert n_asked(endpoint) == 9 * 12 * 5
    asked = json.loads((study.folder / "results/api/provenance.json").read_text())["asked"][0]
    assert asked["responses"] == 9 * 12 * 4
