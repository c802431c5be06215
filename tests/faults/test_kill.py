"""Jobs killed at random moments: nothing lost, nothing asked twice but what was under way, the same bytes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cinorms.core import tables
from cinorms.inference.journal import Journal
from cinorms.inference.spec import Spec

from ..specs import endpoint_tuning
from .conftest import every_file, spec, variants, vignettes
from .server import Fault, Moody

JOB = Path(__file__).with_name("job.py")
ROOT = Path(__file__).parents[2]


def job(given: dict[str, Any]) -> subprocess.Popen[str]:
    command, pipe = [sys.executable, str(JOB), json.dumps(given)], subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


def to_its_end(running: subprocess.Popen[str]) -> None:
    _, errors = running.communicate(timeout=900)
    assert running.returncode == 0, errors


def kill_until_done(given: dict[str, Any], kills: int, seen: Callable[[], int], apart: int, seed: int) -> int:
    """Kill so many jobs, then let one end; return how many did not end by themselves.

    Most are killed when ``seen``, what jobs have asked, has grown by a random number up to ``apart``: after so many
    seconds, a job on a slow machine has asked nothing yet.
    """
    chance = random.Random(seed)
    killed, journal = 0, journal_of(given)
    before = 0
    for number in range(kills):
        running = job(given)
        assert running.stdout is not None
        if number % 5:
            running.stdout.readline()
            kill_at = seen() + chance.randint(1, apart)
            while seen() < kill_at and running.poll() is None:
                time.sleep(0.005)
        else:
            time.sleep(chance.uniform(0, 1.5))  # while it starts
        running.send_signal(signal.SIGKILL)
        killed += running.wait() == -signal.SIGKILL
        running.stdout.close()
        kept = journal.read().num_rows
        assert kept >= before
        before = kept
    assert before, "no job was killed after it had an answer"
    to_its_end(job(given))
    return killed


def journal_of(given: dict[str, Any]) -> Journal:
    return Journal.at(Path(given["out"]).parent / ".journal", Spec.from_plain(given["spec"])).begin()


def files(folder: Path, of: Spec, flows: Any, asked: Any, **tuning: Any) -> dict[str, Any]:
    """Return what a job needs, in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    tables.write(flows, folder / "vignettes.parquet", tables.VIGNETTES)
    tables.write(asked, folder / "variants.parquet", tables.PROMPTS)
    return {
        "spec": of.as_plain(),
        "tuning": endpoint_tuning(**tuning),
        "vignettes": str(folder / "vignettes.parquet"),
        "variants": str(folder / "variants.parquet"),
        "out": str(folder / "responses" / "main" / "audited" / "1-of-1.parquet"),
    }


def uninterrupted(given: dict[str, Any], folder: Path) -> bytes:
    """Return the bytes of the same shard, asked without a kill."""
    out = folder / "whole" / "main" / "audited" / "1-of-1.parquet"
    to_its_end(job({**given, "out": str(out)}))
    return out.read_bytes()


@pytest.mark.slow
def test_a_shard_killed_again_and_again_at_an_endpoint_that_fails_in_every_way(tmp_path, endpoint):
    endpoint.delay, endpoint.fault = 0.05, Moody(random.Random(3), slow=0.01)
    given = files(tmp_path, spec(endpoint), vignettes(200), variants(), limits={"concurrency": 8})
    killed = kill_until_done(given, 5, lambda: endpoint.number, apart=150, seed=3)
    assert killed >= 4
    assert len(endpoint.answered) == 1200, "a prompt was lost"
    # A reply that drips leaves its place to another question.
    assert sum(endpoint.answered.values()) - 1200 <= killed * 2 * 8, (
        "more than what was under way was asked twice"
    )
    endpoint.delay, endpoint.fault = 0.0, lambda number, body: None
    assert Path(given["out"]).read_bytes() == uninterrupted(given, tmp_path)


# --- The command itself


def command(given: dict[str, Any], folder: Path, **tuning: Any) -> list[str]:
    """Return the command that asks, with more of the ``tuning``."""
    own = {"journal": str(Path(given["out"]).parent / ".journal"), "spending": str(folder / ".spending")}
    arguments = {
        "spec": json.dumps(given["spec"]),
        "tuning": json.dumps({**given["tuning"], **own, "job": "main.audited.1-of-1", **tuning}),
        "log": str(folder / "job.log"),
        **{name: given[name] for name in ("vignettes", "variants", "out")},
    }
    return [sys.executable, "-m", "cinorms.ask", *(f"--{name}={value}" for name, value in arguments.items())]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "workflow/lib"), **more}


@pytest.mark.parametrize(
    ("by", "words"), [(signal.SIGTERM, "Stopped by SIGTERM"), (signal.SIGINT, "Stopped by Ctrl+C")]
)
def test_a_job_that_is_told_to_end_keeps_what_was_answered_and_says_so(tmp_path, endpoint, by, words):
    """SLURM sends SIGTERM half a minute before it kills."""
    endpoint.delay = 0.05
    given = files(tmp_path, spec(endpoint), vignettes(400), variants())
    running = subprocess.Popen(
        command(given, tmp_path),
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores SIGINT, and so do the tests then and all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    end = time.monotonic() + 600
    while sum(endpoint.answered.values()) < 200 and time.monotonic() < end:
        time.sleep(0.05)
    running.send_signal(by)
    _, shown = running.communicate(timeout=300)
    assert running.returncode != 0
    assert by != signal.SIGTERM or running.returncode == 128 + by
    log = (tmp_path / "job.log").read_text()
    # SLURM's end is for the log; whoever pressed Ctrl+C sits at the terminal.
    assert words in (log if by == signal.SIGTERM else shown)
    assert "Traceback" not in shown + log
    kept = journal_of(given)
    assert kept.read().num_rows >= 200 - 64  # some of the 200 may not have arrived
    assert kept.runs()[-1]["status"] == "failed"
    assert sum(endpoint.asked.values()) - kept.read().num_rows <= 64


@pytest.mark.parametrize("answer", ["answers", "refuses"])
def test_a_planted_key_appears_nowhere(tmp_path, endpoint, answer):
    key = "sk-planted-9876543210-do-not-print"
    if answer == "refuses":
        endpoint.fault = lambda number, body: Fault(401, "invalid_api_key", f"Incorrect API key: {key}")
    given = files(tmp_path, spec(endpoint), vignettes(5), variants(), key_variable="MY_ENDPOINT_KEY")
    words = command(given, tmp_path)
    debug = environment(MY_ENDPOINT_KEY=key, OPENAI_LOG="debug")
    done = subprocess.run(words, env=debug, capture_output=True, text=True)
    assert done.returncode == (0 if answer == "answers" else 1)
    assert endpoint.keys == {f"Bearer {key}"}
    assert key not in done.stdout + done.stderr + " ".join(words)
    content = every_file(tmp_path)
    assert len(content) > 5000
    assert key.encode() not in content
    if answer == "refuses":
        assert "check the key in MY_ENDPOINT_KEY" in done.stderr
        assert "Traceback" not in done.stderr
