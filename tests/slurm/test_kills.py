"""However a job is ended: it goes on where it was, and the results are those of a quiet run.

The models' endpoints hold their answers back, so that jobs can be ended in the middle of a shard.
"""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ..faults.server import Endpoint
from .cluster import CPUS
from .project import N_PROMPTS, Project, Run

CONCURRENCY = 16
#: So many requests are answered, and then none until a test says so.
HOLD_FROM = 750
RESULTS = ("responses", "answers", "norms", "tables")


@contextmanager
def endpoints(models: Sequence[str]) -> Iterator[dict[str, Endpoint]]:
    """Start one endpoint for each model; let go of every request at the end."""
    with ExitStack() as stack:
        running = {model: stack.enter_context(Endpoint()) for model in models}
        for endpoint in running.values():
            endpoint.hold_from = HOLD_FROM
        try:
            yield running
        finally:
            release(running)


def release(running: dict[str, Endpoint]) -> None:
    for endpoint in running.values():
        endpoint.released.set()


def entries(running: dict[str, Endpoint]) -> dict[str, Any]:
    """Return the registry's entries of models behind endpoints."""
    limits = {"concurrency": CONCURRENCY, "timeout": 3000}
    entry = {"engine": "openai", "source": "gpt-planted", "family": "planted-api", "limits": limits}
    return {model: {**entry, "base_url": endpoint.url} for model, endpoint in running.items()}


def wait_until_held(run: Run, running: dict[str, Endpoint]) -> None:
    """Wait until every job has asked what it gets an answer to, and is stuck."""
    for model, endpoint in running.items():
        run.wait_for(f"{model} is held", lambda e=endpoint: e.number >= HOLD_FROM + CONCURRENCY // 4)


def process_of(project: Project, model: str) -> int:
    """Return the process that asks a model now."""
    state = project.folder / "results/trial/.progress" / f"{model}.1-of-1.json"
    return int(json.loads(state.read_bytes())["process"])


def check_results(project: Project, running: dict[str, Endpoint], here: Project) -> None:
    """Check that each prompt was answered once but for those under way, and the results against a quiet run."""
    for model, endpoint in running.items():
        assert len(endpoint.asked) == N_PROMPTS, model
        twice = sum(endpoint.asked.values()) - N_PROMPTS
        assert twice <= CONCURRENCY, f"{model}: {twice} prompts were asked again"
    here.run(local=True)
    for folder in RESULTS:
        found = project.content(folder)
        assert found
        assert found == here.content(folder)


def test_jobs_that_are_ended_go_on_where_they_were(tmp_path, cluster):
    models = ["one", "two", "three", "four"]
    with endpoints(models) as running:
        project = Project(tmp_path / "project", cluster, entries(running))
        run = project.start()
        wait_until_held(run, running)
        first = {model: cluster.job_of(model)["JobId"] for model in models}
        # It fits where one of the four has made room.
        wide = ("--mem=1000", f"--cpus-per-task={CPUS - len(models) + 1}")
        urgent = cluster.ask("sbatch", "--parsable", "--partition=urgent", *wide, "--wrap=sleep 600").strip()
        run.wait_for("an urgent job runs", lambda: cluster.state(urgent) == "RUNNING")
        (preempted,) = (model for model in models if cluster.state(first[model]) != "RUNNING")
        cancelled, killed, overdue = (model for model in models if model != preempted)
        cluster.ask("scancel", urgent, first[cancelled])
        os.kill(process_of(project, killed), signal.SIGKILL)
        cluster.ask("scontrol", "update", f"JobId={first[overdue]}", "TimeLimit=1")
        states = {cancelled: "CANCELLED", killed: "FAILED", overdue: "TIMEOUT", preempted: "PENDING"}
        for model, state in states.items():
            run.wait_for(f"{model} is {state}", lambda j=first[model], s=state: cluster.state(j) == s)
        cluster.ask("scontrol", "update", f"JobId={first[preempted]}", "StartTime=now")
        release(running)
        printed = run.end()
        for model in (cancelled, overdue):
            assert f"SLURM-job '{first[model]}' failed, SLURM status is: '{states[model]}'" in printed
        last = {model: cluster.job_of(model) for model in models}
        assert {job["JobState"] for job in last.values()} == {"COMPLETED"}
        assert {model for model in models if last[model]["JobId"] == first[model]} == {preempted}
        assert last[preempted]["Restarts"] == "1"
        check_results(project, running, Project(tmp_path / "here", cluster, entries(running)))
