"""Jobs killed at random moments: nothing lost, nothing asked twice but what was under way, the same responses."""

import json
import os
import platform
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.inference.questions import Questions
from cinorms.inference.store import Store

from ..asking import make_runtime, responses_in
from .conftest import RATES, every_file, request_to, variants, vignettes
from .server import Endpoint, Fault, Moody

ROOT = Path(__file__).parents[2]


class Jobs:
    """Jobs that ask the same questions one after another; ``runtime`` is how they are reached."""

    def __init__(
        self, folder: Path, endpoint: Endpoint, n: int, changes: dict[str, Any] | None = None, **runtime: Any
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.endpoint = folder, endpoint
        request = request_to(endpoint, **(changes or {}))
        self.questions = Questions.of(request, vignettes(n), variants())
        tables.write(vignettes(n), folder / "vignettes.parquet", tables.VIGNETTES)
        tables.write(variants(), folder / "variants.parquet", tables.PROMPTS)
        own = {"study": "s", "store": str(folder / "replies"), "progress": str(folder / ".progress")}
        self.runtime = make_runtime(**{**own, **runtime})

    def command(self, module: str = "cinorms.inference.ask") -> list[str]:
        """Return the command that asks."""
        files = {name: str(self.folder / f"{name}.parquet") for name in ("vignettes", "variants")}
        arguments = {
            "requests": json.dumps([["main", self.questions.request.plain()]]),
            "runtime": json.dumps(self.runtime),
            "out": str(self.folder / "asked.json"),
            "log": str(self.folder / "job.log"),
            **files,
        }
        return [sys.executable, "-m", module, *(f"--{name}={value}" for name, value in arguments.items())]

    def start(self, **variables: str) -> "subprocess.Popen[str]":
        """Start a job that hurries."""
        return subprocess.Popen(
            self.command("tests.faults.job"),
            stderr=(self.folder / "errors.txt").open("w"),
            text=True,
            env=environment(PYTHONPATH=f"{ROOT / 'workflow/lib'}:{ROOT}", **variables),
        )

    def end(self) -> None:
        """Let a job come to its end."""
        assert self.start().wait(900) == 0, (self.folder / "errors.txt").read_text()

    @property
    def store(self) -> Store:
        return Store(Path(self.runtime["store"]), self.questions.request, self.runtime["study"])

    def n_kept(self) -> int:
        return int(self.store.answered(self.questions.keys).sum())

    def responses(self) -> pd.DataFrame:
        return responses_in(Path(self.runtime["store"]), self.questions, self.runtime["study"])

    def kill_until_done(self, kills: int, apart: int, seed: int) -> int:
        """Kill so many jobs, then let one end; return how many did not end by themselves.

        Most are killed when the endpoint was asked a random number of times more, up to ``apart``: after so many
        seconds, a job on a slow machine has asked nothing yet.
        """
        chance, killed, kept = random.Random(seed), 0, 0
        for number in range(kills):
            kill_at = self.endpoint.number + chance.randint(1, apart)
            running = self.start()
            if number % 5:
                while self.endpoint.number < kill_at and running.poll() is None:
                    time.sleep(0.005)
            else:
                time.sleep(chance.uniform(0, 1.5))  # while it starts
            running.send_signal(signal.SIGKILL)
            killed += running.wait() == -signal.SIGKILL
            before, kept = kept, self.n_kept()
            assert kept >= before
        assert kept, "no job was killed after it had an answer"
        self.end()
        return killed


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "workflow/lib"), **more}


def wait_for(there: Callable[[], Any], seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


@pytest.mark.slow
def test_a_job_killed_again_and_again_at_an_endpoint_that_fails_in_every_way(tmp_path, endpoint):
    endpoint.delay, endpoint.fault = 0.05, Moody(random.Random(3), slow=0.01)
    jobs = Jobs(tmp_path, endpoint, 200, limits={"concurrency": 8})
    killed = jobs.kill_until_done(10, apart=120, seed=3)
    assert killed >= 7
    assert len(endpoint.answered) == 1200, "a prompt was lost"
    # At most what was under way at the end of a job.
    assert sum(endpoint.answered.values()) - 1200 <= killed * 8, (
        "more than what was under way was asked twice"
    )
    endpoint.delay, endpoint.fault = 0.0, lambda number, body: None
    whole = Jobs(tmp_path / "whole", endpoint, 200)
    whole.end()
    pd.testing.assert_frame_equal(jobs.responses(), whole.responses())


def test_two_studies_share_what_one_that_was_killed_has_asked(tmp_path, endpoint):
    endpoint.hold_from = 40  # the first does not come to its end before it is killed
    one = Jobs(tmp_path / "one", endpoint, 60, limits={"concurrency": 4}, store=str(tmp_path / "replies"))
    running = one.start()
    wait_for(lambda: sum(endpoint.answered.values()) >= 20)
    running.send_signal(signal.SIGKILL)
    running.wait()
    endpoint.hold_from = None
    endpoint.released.set()
    two = Jobs(
        tmp_path / "two", endpoint, 80, limits={"concurrency": 4}, store=str(tmp_path / "replies"), study="t"
    )
    two.end()
    asked = sum(endpoint.asked.values())
    assert len(endpoint.asked) == 80 * 6
    assert asked - 80 * 6 <= 8  # what was under way
    one.end()
    assert sum(endpoint.asked.values()) == asked
    assert one.responses()["text"].tolist() == two.responses()["text"].tolist()[: 60 * 6]


def several(folder: Path, endpoint: Endpoint, *studies: str, **runtime: Any) -> list[Jobs]:
    """Return jobs of these studies that ask the same 432 questions, in a store that they share."""
    endpoint.delay = 0.02
    own = {"limits": {"concurrency": 8}, "store": str(folder / "replies"), **runtime}
    return [
        Jobs(folder / f"{number}", endpoint, 72, study=study, **own) for number, study in enumerate(studies)
    ]


def state_of(jobs: Jobs) -> dict[str, Any]:
    path = Path(jobs.runtime["progress"]) / "m.1-of-1.json"
    return json.loads(path.read_bytes()) if path.exists() else {}


@pytest.mark.parametrize("studies", ["ss", "sss", "st"])
def test_jobs_that_ask_the_same_at_once_pay_once(tmp_path, endpoint, studies):
    jobs = several(tmp_path, endpoint, *studies)
    running = [each.start() for each in jobs]
    assert [each.wait(600) for each in running] == [0] * len(jobs)
    assert (len(endpoint.asked), sum(endpoint.asked.values())) == (432, 432)
    for each in jobs[1:]:
        pd.testing.assert_frame_equal(each.responses(), jobs[0].responses())
    assert not list(tmp_path.glob("replies/*/*.lease"))


def test_two_studies_that_share_some_questions_ask_the_rest_meanwhile(tmp_path, endpoint):
    endpoint.delay, endpoint.hold_from = 0.02, 200
    own = {"limits": {"concurrency": 4}, "store": str(tmp_path / "replies")}
    small, large = (Jobs(tmp_path / f"{n}", endpoint, n, study=f"{n}", **own) for n in (40, 60))
    first = small.start()
    wait_for(lambda: endpoint.number >= 20)
    second = large.start()
    wait_for(lambda: endpoint.number >= 200)  # of 240 and 120 more
    assert len({json.dumps(body["messages"]) for body in endpoint.bodies}) == endpoint.number
    endpoint.released.set()
    assert (first.wait(600), second.wait(600)) == (0, 0)
    assert sum(endpoint.asked.values()) == len(endpoint.asked) == 60 * 6


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_the_second_goes_on_where_the_first_was_killed_or_stopped(tmp_path, endpoint, by):
    first, second = several(tmp_path, endpoint, "s", "t")
    endpoint.hold_from, silence = 200, "12" if by == signal.SIGSTOP else "90"
    running = first.start(CINORMS_TEST_SILENCE=silence)
    wait_for(lambda: first.n_kept() >= 100)
    waiting = second.start(CINORMS_TEST_SILENCE=silence)
    holder = f"waits for process {running.pid} on {platform.node()}, which asks for study s"
    wait_for(lambda: state_of(second).get("doing") == holder)
    endpoint.hold_from = None
    running.send_signal(by)
    if by == signal.SIGSTOP:
        wait_for(lambda: endpoint.number > 208)
    endpoint.released.set()
    try:
        assert waiting.wait(600) == 0
    finally:
        running.send_signal(signal.SIGCONT)
    assert len(endpoint.asked) == 432
    assert running.wait(600) != 0
    # What was under way, and what the stopped one had begun to send when it woke up.
    assert sum(endpoint.asked.values()) - 432 <= 2 * 8
    pd.testing.assert_frame_equal(first.responses(), second.responses())
    if by == signal.SIGSTOP:
        assert "another one asks its questions" in (first.folder / "errors.txt").read_text()


def test_three_at_once_stay_within_a_cap(tmp_path, endpoint):
    """Each of 432 replies costs 0.012 dollars; the cap pays for 300."""
    cap = 300 * 0.012
    expected = tmp_path / "expected_usd.json"
    expected.write_text(json.dumps({"m": 10.0}))
    money = {"max_cost_usd": cap, "expected_usd": str(expected), "rates": RATES}
    jobs = several(tmp_path, endpoint, "s", "s", "s", **money)
    running = [each.start() for each in jobs]
    assert [each.wait(600) for each in running] == [1, 1, 1]
    assert 0.012 * sum(endpoint.answered.values()) <= cap
    assert max(endpoint.answered.values()) == 1
    assert 200 <= len(endpoint.answered) <= 300


@pytest.mark.slow
def test_outages_and_kills_at_any_moment_leave_nothing_that_a_rerun_does_not_ask(tmp_path, endpoint):
    """Wherever an outage begins and ends: what was not answered is asked by the next run."""
    chance = random.Random(12)
    for number in range(20):
        begin, length = endpoint.number + chance.randint(1, 100), chance.randint(1, 60)
        outage = range(begin, begin + length)
        endpoint.fault = lambda at, body, outage=outage: Fault(503) if at in outage else None
        jobs = Jobs(tmp_path / f"{number}", endpoint, 16, limits={"concurrency": 4}, model=f"m{number}")
        running = jobs.start()
        if number % 2:
            kill_at = endpoint.number + chance.randint(1, 100)
            wait_for(lambda at=kill_at, job=running: endpoint.number >= at or job.poll() is not None)
            running.send_signal(signal.SIGKILL)
        running.wait(600)
        endpoint.fault = lambda at, body: None
        jobs.end()
        responses = jobs.responses()
        assert (len(responses), set(responses["finish_reason"])) == (96, {"stop"})


@pytest.mark.parametrize(
    ("by", "words"), [(signal.SIGTERM, "Stopped by SIGTERM"), (signal.SIGINT, "Stopped by Ctrl+C")]
)
def test_a_job_that_is_told_to_end_keeps_what_was_answered_and_says_so(tmp_path, endpoint, by, words):
    """SLURM sends SIGTERM half a minute before it kills."""
    endpoint.delay = 0.05
    jobs = Jobs(tmp_path, endpoint, 400, rates=RATES)
    running = subprocess.Popen(
        jobs.command(),
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores SIGINT, and so do the tests then and all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: sum(endpoint.answered.values()) >= 200)
    running.send_signal(by)
    _, shown = running.communicate(timeout=300)
    assert running.returncode != 0
    assert by != signal.SIGTERM or running.returncode == 128 + by
    log = (tmp_path / "job.log").read_text()
    # SLURM's end is for the log; whoever pressed Ctrl+C sits at the terminal.
    assert words in (log if by == signal.SIGTERM else shown)
    assert "Traceback" not in shown + log
    assert jobs.n_kept() >= 200 - 64  # some of the 200 may not have arrived
    assert jobs.store.runs()[-1]["status"] == "failed"
    assert sum(endpoint.asked.values()) - jobs.n_kept() <= 64
    # What was under way counts at the most that it can cost: the endpoint may bill it.
    assert jobs.store.usd() >= 0.012 * sum(endpoint.asked.values())


@pytest.mark.parametrize("answer", ["answers", "refuses"])
def test_a_planted_key_appears_nowhere(tmp_path, endpoint, answer):
    key = "sk-planted-9876543210-do-not-print"
    if answer == "refuses":
        endpoint.fault = lambda number, body: Fault(401, "invalid_api_key", f"Incorrect API key: {key}")
    words = Jobs(tmp_path, endpoint, 5, key_variable="MY_ENDPOINT_KEY").command()
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
