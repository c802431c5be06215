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
    current,
    followed,
    read_state,
)

from ...engines import Clock

ROOT = Path(__file__).parents[3]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "main" / "m" / "1-of-2.parquet"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock()
    monkeypatch.setattr(job_state.time, "monotonic", moved)
    monkeypatch.setattr(job_state.time, "time", moved)
    return moved


@pytest.fixture
def kept(clock: Clock, tmp_path: Path) -> JobState:
    """Return a state that is written where the clock is the test's."""
    return JobState(AskingState("main", "m", "1-of-2"), tmp_path / "state.json")


def stored(out: Path) -> AskingState:
    found = read_state(out.parents[2], "main", "m", "1-of-2")
    assert found is not None
    return found


def test_a_job_says_how_far_it_is_and_how_it_ends(out):
    with followed(out) as state:
        assert current() is state
        state.begin(100, 10)
        current().count(5)
        state.write()
        found = stored(out)
        assert (found.phase, found.total, found.answered) == ("asking", 100, 15)
        assert (found.arm, found.model, found.shard) == ("main", "m", "1-of-2")
        assert found.is_alive(time.time())
    assert stored(out).phase == "done"
    assert not stored(out).is_alive(time.time())
    current().count()  # outside a job it leads nowhere
    assert stored(out).answered == 15


def test_trouble_has_a_reason_and_a_time_and_ends_with_the_next_answer(out):
    with followed(out) as state:
        state.begin(10, 0)
        state.trouble("no connection", 8)
        state.trouble("no connection", 2)
        state.write()
        found = stored(out)
        assert found.trouble == "no connection"
        assert found.failures == 2
        assert found.next_attempt == pytest.approx(time.time() + 8, abs=6)
        state.count()
        state.write()
        assert (stored(out).trouble, stored(out).next_attempt, stored(out).failures) == ("", None, 2)
        state.trouble("no connection", 8)
    with followed(out) as another:  # nothing is kept from one job to the next
        another.write()
        assert (stored(out).trouble, stored(out).phase) == ("", "starting")


def test_an_engine_that_counts_nothing_is_counted_by_what_it_hands_over(out):
    state = JobState(AskingState("a", "m", "1-of-1"))
    state.begin(10, 2)
    state.count(3)
    state.at_least(4)
    assert state.state.answered == 5
    state.at_least(8)
    assert state.state.answered == 8


@pytest.mark.parametrize(
    ("failure", "phase", "trouble"),
    [
        (EngineError("at x: sk-secret-1 is refused; check it\nsecond line"), "failed", "[key] is refused"),
        (RuntimeError("boom sk-secret-1"), "failed", "RuntimeError: boom [key]"),
        (SystemExit(143), "stopped", ""),
        (KeyboardInterrupt(), "stopped", ""),
    ],
)
def test_why_a_job_ended_is_in_its_file_without_the_key(out, failure, phase, trouble):
    with pytest.raises(type(failure)), followed(out, ["sk-secret-1"]):
        raise failure
    text = (out.parent / job_state.FOLDER / "1-of-2.json").read_text()
    assert "sk-secret-1" not in text
    assert "second line" not in text
    assert stored(out).phase == phase
    assert trouble in stored(out).trouble


def test_the_rate_is_that_of_the_last_minute(kept, clock):
    kept.begin(10_000, 0)
    for seconds, per_second in ((100, 1), (60, 10)):
        for _ in range(seconds):
            clock.now += 1
            kept.count(per_second)
            kept.write()
        assert kept.state.rate == pytest.approx(per_second, rel=0.05)


def test_the_log_is_told_now_and_then_how_far_the_job_is(kept, clock, capsys):
    kept.begin(100, 0)
    for second in range(1, 100):
        clock.now += 1
        if second <= 40:
            kept.count()
        kept.write()
    assert capsys.readouterr().out == "30 of 100 answered.\n40 of 100 answered.\n"


@pytest.mark.parametrize("answered", [0, 500])
def test_the_pace_of_replies_in_bursts_is_known_late_and_then_jumps_little(kept, clock, answered):
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
        if kept.state.pace:
            forecasts[clock.now] = (total - kept.state.answered) / kept.state.pace
    end = clock.now
    assert min(forecasts) - start == 70  # 2 and 96 of 720
    assert all(abs(left - (end - at)) <= 0.3 * (end - at) + 5 for at, left in forecasts.items())


def test_the_pace_of_a_slow_endpoint_is_known_five_minutes_after_its_first_reply(kept, clock):
    kept.begin(10_000, 0)
    known = []
    for second in range(1, 360):
        clock.now += 1
        if second >= 20:
            kept.count(second % 2)
        kept.write()
        known.append(kept.state.pace is not None)
    assert known.index(True) + 1 == 321
    assert kept.state.pace == pytest.approx(0.5, rel=0.05)


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


def test_a_killed_job_and_one_that_is_silent_elsewhere_are_dead(out):
    code = (
        "import sys, time; from pathlib import Path; from cinorms.inference.job_state import followed\n"
        "with followed(Path(sys.argv[1])) as state:\n"
        "    state.begin(10, 3); state.write(); print('written', flush=True); time.sleep(900)"
    )
    job = subprocess.Popen(
        [sys.executable, "-c", code, str(out)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow/lib")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert job.stdout is not None
    job.stdout.readline()
    assert stored(out).is_alive(time.time())
    job.send_signal(signal.SIGKILL)
    job.wait()
    assert stored(out).phase == "asking"
    assert not stored(out).is_alive(time.time())
    elsewhere = AskingState("a", "m", "1-of-1", phase="asking", updated=1000.0, host="another", process=1)
    assert elsewhere.is_alive(1000.0 + SILENCE - 1)
    assert not elsewhere.is_alive(1000.0 + SILENCE + 1)


def test_a_full_disk_ends_no_job_and_an_odd_file_is_no_state(out, monkeypatch):
    def refuse(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(job_state, "write_whole", refuse)
    with followed(out) as state:
        state.begin(10, 0)
        state.write()
    path = out.parent / job_state.FOLDER / "1-of-2.json"
    fine = '{"arm": "main", "model": "m", "shard": "1-of-2"'
    odd = [
        '"rate": NaN',
        '"answered": "9"',
        '"answered": null',
        '"usd": -1',
        '"updated": Infinity',
        '"host": 1',
    ]
    for content in ("", "[1]", '{"arm": 1, "unknown": 2}', *(f"{fine}, {each}}}" for each in odd)):
        path.write_text(content)
        assert read_state(out.parents[2], "main", "m", "1-of-2") is None, content
    path.write_text(f'{fine}, "total": null, "rate": 0.5}}')
    assert read_state(out.parents[2], "main", "m", "1-of-2") is not None
