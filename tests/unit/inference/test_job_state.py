"""The file that says how far a job is: what is in it, how its reader tells the living from the dead, and no key."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cinorms.core.errors import EngineError
from cinorms.inference import job_state
from cinorms.inference.job_state import (
    HEARTBEAT,
    SILENCE,
    AskingState,
    JobState,
    followed,
    read_state,
)
from cinorms.inference.processes import stop_between_steps

ROOT = Path(__file__).parents[3]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def progress(tmp_path: Path) -> Path:
    return tmp_path / "progress"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock()
    monkeypatch.setattr(job_state.time, "monotonic", moved)
    monkeypatch.setattr(job_state.time, "time", moved)
    return moved


@pytest.fixture
def kept(clock: Clock, tmp_path: Path) -> JobState:
    """Return a state that is written where the clock is the test's."""
    return JobState(AskingState("m", "1-of-2"), tmp_path / "state.json")


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
        assert (found.trouble, found.since, found.failures) == ("", None, 2)
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


def test_the_rate_is_that_of_the_last_minutes(kept, clock):
    kept.begin(10_000, 0)
    for seconds, per_second in ((400, 1), (300, 10)):
        for _ in range(0, seconds, 5):
            clock.now += 5
            kept.count(5 * per_second)
            kept.write()
        assert kept.state.rate == pytest.approx(per_second, rel=0.05)


@pytest.mark.parametrize("answered", [0, 500])
def test_the_rate_of_replies_in_bursts_is_known_late_and_then_jumps_little(kept, clock, answered):
    """As vLLM on a CPU: a few replies after 40 s, then a burst of 32 every 10 s, of 720."""
    start, total = clock.now, answered + 720
    kept.begin(total, answered)
    forecasts = {}
    while kept.state.answered < total:
        clock.now += 2
        if clock.now - start == 40:
            kept.count(2)
        elif clock.now - start > 40 and (clock.now - start) % 10 == 0:
            kept.count(min(32, total - kept.state.answered))
        kept.write()
        if kept.state.rate:
            forecasts[clock.now] = (total - kept.state.answered) / kept.state.rate
    end = clock.now
    assert min(forecasts) - start == 70
    assert all(abs(left - (end - at)) <= 0.3 * (end - at) + 5 for at, left in forecasts.items())


def test_an_unchanged_state_is_written_again_before_it_counts_as_silent(kept, clock, tmp_path):
    assert HEARTBEAT + 2 * job_state.PERIOD < SILENCE
    path = tmp_path / "state.json"
    kept.write()
    first = path.read_bytes()
    clock.now += HEARTBEAT / 2
    kept.write()
    assert path.read_bytes() == first
    clock.now += HEARTBEAT
    kept.write()
    assert json.loads(path.read_bytes())["updated"] == clock.now


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
    elsewhere = AskingState("m", "1-of-1", phase="asking", updated=1000.0, host="another", process=1)
    assert elsewhere.is_alive(1000.0 + SILENCE - 1)
    assert not elsewhere.is_alive(1000.0 + SILENCE + 1)


def test_a_full_disk_ends_no_job_and_an_odd_file_is_no_state(progress, monkeypatch):
    def refuse(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(job_state, "write_whole", refuse)
    with followed(progress, "m", "1-of-2") as state:
        state.begin(10, 0)
        state.write()
    path = progress / "m.1-of-2.json"
    for content in ("", "[1]", "7", '{"model": "m"}', '{"model": "m", "shard": "1-of-2", "unknown": 2}'):
        path.write_text(content)
        assert read_state(progress, "m", "1-of-2") is None, content
    path.write_text('{"model": "m", "shard": "1-of-2", "total": null, "rate": 0.5}')
    assert read_state(progress, "m", "1-of-2") is not None


def test_a_signal_ends_a_job_between_two_steps():
    with stop_between_steps() as leave_if_signalled:
        leave_if_signalled()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(SystemExit) as ended:
            leave_if_signalled()
    assert ended.value.code == 128 + signal.SIGTERM
