"""A study behind an endpoint: what is refused before the first request, what is shown while it is asked, the status."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cinorms.inference.job_state import read_state

from ..snakemake_runs import COMMAND
from .server import Endpoint, Fault
from .test_kill import wait_for
from .test_paraphrases import call
from .test_study import KEY, Study

pytestmark = pytest.mark.slow

N = 9 * 12 * 2
#: Requests under way at once: what a killed job may ask again.
UNDER_WAY = 2
STATE = "results/api/.progress/behind-an-api.1-of-1.json"


@pytest.fixture
def study(tmp_path: Path, endpoint: Endpoint) -> Study:
    found = Study(tmp_path / "project", endpoint)
    found.entry["limits"] = {"concurrency": UNDER_WAY}
    endpoint.models = ["gpt-planted"]
    found.write()
    return found


def start(study: Study) -> subprocess.Popen[str]:
    """Start a run in a process group of its own, which prints into the file run.txt."""
    options = ["--configfile", "api.yaml", "--quiet", "rules", "reason"]
    return subprocess.Popen(
        [*COMMAND, *options, "--", "results/api/provenance.json"],
        cwd=study.folder,
        env={**os.environ, "PLANTED_KEY": KEY},
        text=True,
        stdout=(study.folder / "run.txt").open("w"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
        # What a shell starts in the background ignores SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def printed_by(study: Study) -> str:
    return (study.folder / "run.txt").read_text()


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (
            "key",
            "keys         PLANTED_KEY is not set; export the endpoint's key in this shell (for behind-an-api)",
        ),
        (
            "norms",
            "arms.main: 2 variants per flow (2 wordings x 1 order) for every model are fewer than t_val (10)",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_before_the_first_request(study, endpoint, way, message):
    environment = {}
    if way == "key":
        environment = {"PLANTED_KEY": ""}
    else:
        study.study["analyses"] = {"norms": {"kind": "norm_counts", "arms": ["main"]}}
    study.write()
    checked = call(study, "check", code=1, **environment)
    assert message in checked
    assert checked.count("error  ") == 1
    printed = study.run_as_it_is(targets=["all"], code=1, **environment)
    assert message in printed
    assert "Nothing was asked." in printed
    assert "Traceback" not in printed
    assert KEY not in printed + checked
    assert not (study.folder / "results/api").exists()
    if way == "norms":
        planned = study.run_as_it_is("--forcerun", "plan", targets=["plan"])
        assert "warning: No norm can be held." in planned
        assert "; raise templates or orders.count, or lower t_val" in planned
    else:  # what asks nobody is not checked
        study.run_as_it_is(targets=["results/api/prompts/main.parquet"], **environment)
    assert endpoint.bodies == []


def test_progress_is_shown_and_the_status_is_right_during_a_run_after_a_kill_and_at_the_end(study, endpoint):
    before = call(study, "status")
    assert ["main", "behind-an-api", "missing", "0", "216", "216", "-"] in [
        row.split() for row in before.splitlines()
    ]
    endpoint.delay, endpoint.hold_from = 0.3, 150  # it does not end before it is killed
    # Before the first line.
    endpoint.fault = lambda number, body: Fault(way="drop") if 5 <= number < 9 else None
    run = start(study)
    path = study.folder / STATE
    wait_for(lambda: path.exists() and json.loads(path.read_text())["answered"] >= 90)
    state = json.loads(path.read_text())
    assert state["total"] == N
    assert state["failures"] >= 4
    shown = call(study, "status")
    assert "main  behind-an-api  running" in shown

    # Killed with its parent: nobody could write that down.
    wait_for(lambda: " left" in printed_by(study), seconds=90)
    state = read_state(path.parent, "behind-an-api", "1-of-1")
    assert 0 < state.rate < 8
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    printed = printed_by(study)
    assert " behind-an-api:" in printed
    assert f"of {N} answered (" in printed
    assert "/s, " in printed
    assert " left" in printed
    stopped = call(study, "status")
    assert "stopped" in stopped
    assert "run again to ask the rest" in stopped
    kept = int(stopped.split("stopped")[2].split()[0].replace(",", ""))
    assert 0 <= kept < N

    endpoint.delay = 0.0
    endpoint.released.set()
    study.run_as_it_is("--unlock", targets=[])
    study.run_as_it_is(targets=["results/api/provenance.json"])
    done = call(study, "status")
    assert "Study api: 1 done" in done
    usd = json.loads((study.folder / "results/api/provenance.json").read_text())["usd"]
    assert f"${usd:.4f}" in done

    study.study["arms"]["main"]["temperature"] = 0.7
    study.write()
    assert "outdated" in call(study, "status")


def test_when_the_main_process_is_killed_nothing_more_is_spent(study, endpoint):
    endpoint.delay = 0.3
    run = start(study)
    wait_for(lambda: sum(endpoint.answered.values()) >= 20)
    os.kill(run.pid, signal.SIGKILL)
    path = study.folder / STATE
    wait_for(lambda: json.loads(path.read_text())["phase"] == "stopped", seconds=60)
    asked = endpoint.number
    assert asked < N
    assert run.wait(60) != 0
    time.sleep(1)
    assert endpoint.number == asked
    endpoint.delay = 0.0
    study.run_as_it_is("--unlock", targets=[])
    study.run_as_it_is(targets=["results/api/provenance.json"])
    assert N <= endpoint.number <= N + UNDER_WAY, "more than what was under way was asked again"


def test_on_sigterm_what_is_asked_is_finished_and_nothing_more_starts(study, endpoint):
    endpoint.delay = 0.1
    run = start(study)
    wait_for(lambda: sum(endpoint.answered.values()) >= 20)
    run.send_signal(signal.SIGTERM)
    assert run.wait(120) != 0
    assert endpoint.number == N, printed_by(study)
    made = {path.name for path in (study.folder / "results/api").iterdir()}
    assert made == {"asked", "prompts", "vignettes", ".progress"}


def test_a_lost_reply_is_shown_until_it_is_over(study, endpoint):
    endpoint.fault = lambda number, body: Fault(way="drop") if number >= 20 else None
    run = start(study)
    path = study.folder / STATE

    def waits() -> bool:
        return path.exists() and "no reply (" in json.loads(path.read_text())["trouble"]

    wait_for(waits)
    wait_for(lambda: "no reply (" in call(study, "status"))
    wait_for(lambda: "; no reply (" in printed_by(study))
    endpoint.fault = lambda number, body: None
    assert run.wait() == 0, printed_by(study)
    assert json.loads(path.read_text())["trouble"] == ""
