"""Paraphrases that a model wrote: the run stops for a reader, and `make confirm` goes on."""

import os
import subprocess
import sys
from pathlib import Path

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


def call(study: Study, command: str, said: str = "", code: int = 0, **environment: str) -> str:
    """Run a command of `make` on the study, with ``said`` as what the user types."""
    library = str(study.folder / "workflow/lib")
    done = subprocess.run(
        [sys.executable, "-m", f"cinorms.run.{command}", "--configfile", "api.yaml"],
        cwd=study.folder,
        env={**os.environ, "PLANTED_KEY": KEY, "PYTHONPATH": library, **environment},
        input=said,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def test_a_run_stops_for_a_reader_and_goes_on_when_confirmed(study, endpoint):
    printed = study.run_as_it_is(code=1, targets=["all"])
    assert printed.count(f"{FROZEN}: these paraphrases wait for you: nobody has read them yet") == 1
    assert "make confirm" in printed
    assert "Error in rule" not in printed
    assert n_asked(endpoint) == 0
    file = study.folder / FROZEN
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert written["templates"] == [ORIGINAL, WORDINGS[0], WORDINGS[2], WORDINGS[3]]
    (rejected,) = written["provenance"]["rejected"]
    assert "the vignette runs into the next sentence ('{scenario} The')" in rejected["reason"]

    # Once more, as a target and as a file: nothing is asked, one message, no job.
    for target in ("all", "results/api/prompts/main.parquet"):
        printed = study.run_as_it_is(code=1, targets=[target])
        assert printed.count("these paraphrases wait for you") == 1, target
    assert n_asked(endpoint) == 0
    assert "Traceback" not in printed
    assert "wait for you" not in study.run_as_it_is(targets=["plan"])

    # A terminal is needed, or YES=1.
    shown = call(study, "confirm", said="y\n", code=1)
    assert f"  1  {WORDINGS[0]}" in shown
    assert "YES=1" in shown
    assert "error    paraphrases" in call(study, "check", code=1)

    assert "Confirmed" in call(study, "confirm", CINORMS_YES="1")
    assert yaml.safe_load(file.read_text(encoding="utf-8"))["provenance"]["confirmed"]["how"] == "unread"
    assert "no paraphrases wait" in call(study, "confirm")
    study.run_as_it_is(targets=["results/api/provenance.json"])
    assert n_asked(endpoint) == 9 * 12 * 4
