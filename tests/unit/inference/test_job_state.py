"""The file that says how far a job is: what is in it, how its reader tells the living from the dead, and no key."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cinorms.core.errors import EngineError
from cinorms.inference import job_state
from cinorms.inference.job_state import (
    HEARTBEAT,
    SILENCE,
    YOUNG,
    AskingState,
    followed,
    read_state,
)
from cinorms.inference.processes import stop_between_steps

ROOT = Path(__file__).parents[3]


@pytest.fixture
def progress(tmp_path: Path) -> Path:
    return tmp_path / "progress"


def stored(progress: Path) -> AskingState:
    found = read_state(progress, "m", "1-of-2")
    return found


def test_trouble_has_a_reason_and_a_time_and_ends_with_the_next_answer(progress):
    with followed(progress, "m", "1-of-2") as state:
        state.begin(10, 0)
        state.trouble("no reply")
        state.trouble("no connection")
        state.write()
        found = stored(progress)
        assert found.trouble == "no connection"
        assert found.failures == 2
        assert found.since == pytest.approx(time.time(), abs=6)
        state.count()
        state.write()
        found = stored(progress)
        assert (found.trouble, found.failures) == ("", 2)
        state.trouble("no connection")
    with followed(progress, "m", "1-of-2") as another:  # nothing is kept from one job to the next
        another.write()
        assert (stored(progress).trouble, stored(progress).phase) == ("", "starting")


@pytest.mark.parametrize(
    ("failure", "phase", "trouble"),
    [
        (EngineError("at x: sk-secret-1 is refused; check it\nsecond line"), "failed", "[key] is refused"),
        (RuntimeError("boom sk-secret-1"), "failed", "RuntimeError: boom [key]"),
        (SystemExit(143), "stopped", ""),
        (KeyboardInterrupt(), "stopped", ""),
    ],
)
def test_why_a_job_ended_is_in_its_file_without_the_key(progress, failure, phase, trouble):
    with pytest.raises(type(failure)), followed(progress, "m", "1-of-2", ["sk-secret-1"]):
        raise failure
    text = (progress / "m.1-of-2.json").read_text()
    assert "sk-secret-1" not in text
    assert "second line" not in text
    assert stored(progress).phase == phase
    assert trouble in stored(progress).trouble


def test_the_rate_is_that_since_the_first_answers_and_only_of_what_was_asked(progress):
    with followed(progress, "m", "1-of-2") as state:
        state.begin(10_000, 500)
        state.find(100)
        state.write()
        assert stored(progress).first is None
        state.count()
        state.write()
        found = stored(progress)
        assert (found.answered, found.before, found.first) == (601, 601, found.updated)
        state.find(99)
        state.count()
        state.write()
        later = stored(progress)
        assert (later.answered, later.before, later.first) == (701, 700, found.first)
    seconds = [replace(later, updated=later.first + seconds).rate for seconds in (YOUNG - 1, YOUNG)]
    assert seconds == [None, 1 / YOUNG]
    assert AskingState("asking", 10, 3, updated=1000.0).rate is None


def test_a_state_is_written_again_long_before_it_counts_as_silent(progress, monkeypatch):
    assert 10 * HEARTBEAT < SILENCE
    monkeypatch.setattr(job_state, "HEARTBEAT", 0.01)
    with followed(progress, "m", "1-of-2"):
        first = stored(progress).updated
        while stored(progress).updated == first:
            time.sleep(0.01)


def test_a_killed_job_and_one_that_is_silent_elsewhere_are_dead(progress):
    code = (
        "import sys, time; from pathlib import Path; from cinorms.inference.job_state import followed\n"
        "with followed(Path(sys.argv[1]), 'm', '1-of-2') as state:\n"
        "    state.begin(10, 3); state.write(); print('written', flush=True); time.sleep(900)"
    )
    job = subprocess.Popen(
        [sys.executable, "-c", code, str(progress)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow/lib")},
        stdout=subprocess.PIPE,
        text=True,
    )
    job.stdout.readline()
    assert stored(progress).is_alive(time.time())
    job.send_signal(signal.SIGKILL)
    job.wait()
    assert stored(progress).phase == "asking"
    assert not stored(progress).is_alive(time.time())
    elsewhere = AskingState("asking", updated=1000.0, host="another", process=1)
    assert elsewhere.is_alive(1000.0 + SILENCE - 1)
    assert not elsewhere.is_alive(1000.0 + SILENCE + 1)


def test_a_full_disk_ends_no_job_and_an_odd_file_is_no_state(progress, monkeypatch):
    def refuse(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(job_state, "replacing", refuse)
    with followed(progress, "m", "1-of-2") as state:
        state.begin(10, 0)
        state.write()
    path = progress / "m.1-of-2.json"
    progress.mkdir()
    for content in ("", "[1]", "7", '{"phase": "asking", "unknown": 2}'):
        path.write_text(content)
        assert read_state(progress, "m", "1-of-2") is None, content
    path.write_text('{"phase": "asking", "total": null}')
    assert read_state(progress, "m", "1-of-2") is not None


def test_a_signal_ends_a_job_between_two_steps():
    with stop_between_steps() as leave_if_signalled:
        leave_if_signalled()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(SystemExit) as ended:
            leave_if_signalled()
    assert ended.value.code == 128 + signal.SIGTERM
