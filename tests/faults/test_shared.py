"""Studies that share journals: nothing is paid twice, whoever asks, and whenever somebody is killed."""

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from cinorms.core import tables
from cinorms.inference.spec import Spec

from .conftest import spec, variants, vignettes
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
