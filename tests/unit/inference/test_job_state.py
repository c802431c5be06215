"""The file that says how far a job is: what is in it, how its reader tells the living from the dead, and no key."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from cinorms.core.errors import EngineError
from cinorms.inference import job_state
from cinorms.inference.job_state import FIRST, HEARTBEAT, SILENCE, YOUNG, AskingState, followed, read_state


@pytest.fixture
def progress(tmp_path):
    return tmp_path / "progress"


def stored(progress):
    return read_state(progress, "m", "1-of-2")


def test_trouble_has_a_reason_and_a_time_and_ends_with_the_next_answer(progress, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(job_state.time, "time", lambda: clock[0])
    with followed(progress, "m", "1-of-2") as state:
        state.begin(10, 0)
        state.note(doing="loading")
        state.trouble("no reply")
        clock[0] += 5
        state.trouble("no connection " + "x" * 200)
        state.write()
        found = stored(progress)
        assert (found.trouble, found.failures) == ("no connection " + "x" * 146, 2)
        assert (found.since, found.updated, found.doing) == (1000.0, 1005.0, "loading")
        state.count()
        state.write()
        found = stored(progress)
        assert (found.trouble, found.failures, found.doing) == ("", 2, "")
        state.trouble("no connection")
        state.write()
        assert stored(progress).since == 1005.0
    with followed(progress, "m", "1-of-2") as another:  # nothing is kept from one job to the next
        another.write()
        assert (stored(progress).trouble, stored(progress).phase) == ("", "starting")
        assert job_state.current() is another
    assert job_state.current() is not another


@pytest.mark.parametrize(
    ("failure", "phase", "trouble"),
    [
        (EngineError("at x: sk-secret-1 is refused\nsecond line"), "failed", "at x: [key] is refused"),
        (RuntimeError("boom sk-secret-1"), "failed", "RuntimeError: boom [key]"),
        (SystemExit(143), "stopped", ""),
        (KeyboardInterrupt(), "stopped", ""),
    ],
)
def test_why_a_job_ended_is_in_its_file_without_the_key(progress, failure, phase, trouble):
    with pytest.raises(type(failure)), followed(progress, "m", "1-of-2", ["sk-secret-1"]):
        raise failure
    assert "sk-secret-1" not in (progress / "m.1-of-2.json").read_text()
    assert (stored(progress).phase, stored(progress).trouble) == (phase, trouble)


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
    found = [replace(later, updated=later.first + age) for age in (FIRST / 2, FIRST, YOUNG - 1, YOUNG)]
    assert [state.rate for state in found] == pytest.approx([None, 1 / FIRST, 1 / (YOUNG - 1), 1 / YOUNG])
    assert [state.is_steady for state in found] == [False, False, False, True]
    assert AskingState("asking", 10, 3, updated=1000.0).rate is None


def test_a_state_is_written_again_long_before_it_counts_as_silent(progress, monkeypatch):
    assert 10 * HEARTBEAT < SILENCE
    monkeypatch.setattr(job_state, "HEARTBEAT", 0.01)
    with followed(progress, "m", "1-of-2"):
        first = stored(progress).updated
        while stored(progress).updated == first:
            time.sleep(0.01)


def test_a_killed_job_and_one_that_is_silent_elsewhere_are_dead(progress, folder):
    code = (
        "import sys, time; from pathlib import Path; from cinorms.inference.job_state import followed\n"
        "with followed(Path(sys.argv[1]), 'm', '1-of-2') as state:\n"
        "    state.begin(10, 3); state.write(); print('written', flush=True); time.sleep(900)"
    )
    command = [sys.executable, "-c", code, str(progress)]
    environment = {**os.environ, "PYTHONPATH": str(folder / "workflow/lib")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as job:
        job.stdout.readline()
        assert stored(progress).is_alive(time.time())
        job.send_signal(signal.SIGKILL)
        job.wait()
    assert (stored(progress).phase, stored(progress).is_alive(time.time())) == ("asking", False)
    elsewhere = AskingState("asking", updated=1000.0, host="another", process=1)
    alive = [elsewhere.is_alive(1000.0 + SILENCE), elsewhere.is_alive(1000.1 + SILENCE)]
    assert alive == [True, False]
    assert not replace(elsewhere, phase="done").is_alive(1000.0)


def test_a_full_disk_ends_no_job_and_an_odd_file_is_no_state(progress, monkeypatch):
    def refuse(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(job_state, "replacing", refuse)
    with followed(progress, "m", "1-of-2") as state:
        state.begin(10, 0)
        state.write()
    path = progress / "m.1-of-2.json"
    progress.mkdir()
    for content in ("", "[1]", "7", '{"phase": "asking", "unknown": 2}'):
        path.write_text(content)
        assert stored(progress) is None, content
    path.write_text('{"phase": "asking", "total": null}')
    assert stored(progress) is not None
