"""However a job is ended: it goes on where it was, and the results are those of a quiet run."""

import os
import signal

from .cluster import CPUS
from .held import check_results, endpoints, entries, process_of, release, wait_until_held
from .project import Project


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
