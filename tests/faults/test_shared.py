"""Studies that share journals: nothing is paid twice, whoever asks, and whenever somebody is killed."""

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from cinorms.core import tables
from cinorms.inference.engines.openai import batch
from cinorms.inference.journal import Asker, Journal
from cinorms.inference.spec import Spec

from .conftest import RATES, Shard, spec, variants, vignettes
from .test_kill import command, environment, files


def words(folder: Path, study: str, of: Spec, flows: Any) -> list[str]:
    """Return the command of one study's job; all studies of ``folder`` share a journal."""
    own = folder / "results" / study
    given = files(own, of, flows, variants(), limits={"concurrency": 4})
    journal = str(folder / "results/.journal")
    return command(given, own, journal=journal, asker=[study, "main", "audited"])


def test_two_studies_that_run_at_once_share_the_work(tmp_path, endpoint):
    """The second finds what the first has claimed, asks the rest, waits, and takes the first's replies."""
    endpoint.delay = 0.05
    jobs = {
        study: subprocess.Popen(words(tmp_path, study, spec(endpoint), vignettes(n)), env=environment())
        for study, n in (("one", 60), ("two", 80))
    }
    assert [job.wait(900) for job in jobs.values()] == [0, 0]
    assert len(endpoint.asked) == 80 * 6
    assert set(endpoint.asked.values()) == {1}, "a prompt was paid for twice"
    frames = [
        tables.read(tmp_path / f"results/{study}/responses/main/audited/1-of-1.parquet", tables.RESPONSES)
        for study in jobs
    ]
    assert frames[0]["text"].tolist() == frames[1]["text"].tolist()[: len(frames[0])]


def test_a_job_that_is_killed_leaves_its_claim_to_the_others(tmp_path, endpoint):
    endpoint.hold_from = 40  # the first does not come to its end before it is killed
    of = spec(endpoint)
    one = subprocess.Popen(words(tmp_path, "one", of, vignettes(60)), env=environment())
    end = time.monotonic() + 900
    while sum(endpoint.answered.values()) < 20:
        assert time.monotonic() < end
        time.sleep(0.05)
    two = subprocess.Popen(words(tmp_path, "two", of, vignettes(60)), env=environment())
    while "of the same prompts: waiting" not in log_of(tmp_path, "two"):
        assert time.monotonic() < end
        time.sleep(0.1)
    one.send_signal(signal.SIGKILL)
    one.wait()
    endpoint.released.set()
    assert two.wait(900) == 0
    assert len(endpoint.asked) == 360
    twice = sum(endpoint.asked.values()) - 360
    assert twice <= 4  # what was under way
    assert not list(tmp_path.glob("results/.journal/*/claims/*two*"))


def log_of(folder: Path, study: str) -> str:
    path = folder / "results" / study / "job.log"
    return path.read_text() if path.exists() else ""


def test_a_running_batch_of_another_study_is_harvested_and_not_asked_again(tmp_path, endpoint, monkeypatch):
    folder = tmp_path / "results/.journal"

    def shard(study: str) -> Shard:
        found = Shard(tmp_path / "results" / study, endpoint)
        found.tuning = {"mode": "batch", "rates": RATES, "asker": [study, "main", "audited"]}
        found.journal = lambda: Journal.at(folder, found.spec, Asker(study, "main", "audited")).begin()  # type: ignore[method-assign]
        return found

    one, two = shard("one"), shard("two")
    endpoint.batch_polls = 4
    engine = one.engine()

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(batch.time, "sleep", stop)
        with pytest.raises(KeyboardInterrupt):
            one.ask()
    assert engine.counts["batches"] == 0
    assert len(endpoint.batches) == 1
    frame = two.ask()
    assert len(endpoint.batches) == 1, "the other study's batch has the replies"
    assert two.journal().usd() == 0, "who created it pays"
    before = sum(endpoint.billed.values())
    assert one.ask()["text"].tolist() == frame["text"].tolist()
    assert sum(endpoint.billed.values()) == before
