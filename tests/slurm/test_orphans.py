"""The workflow itself is killed: its successor meets the jobs that it left, and asks nothing beside them."""

from pathlib import Path

from .held import check_results, endpoints, entries, release, wait_until_held
from .project import Project


def text_of(path: Path) -> str:
    """Return what a file says; nothing where it is not there (yet)."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def test_a_workflow_that_was_killed_and_the_jobs_it_left(tmp_path, cluster):
    models = ["orphaned", "buried"]
    with endpoints(models) as running:
        project = Project(tmp_path / "project", cluster, entries(running))
        run = project.start()
        wait_until_held(run, running)
        first = {model: cluster.job_of(model)["JobId"] for model in models}
        run.kill()
        cluster.ask("scancel", first["buried"])
        project.run("--unlock", local=True)
        again = project.start()
        log = project.folder / "logs/trial/ask_openai/main/orphaned/1-of-1.log"
        waits = "Another job asks the same variants"
        again.wait_for(
            "the successor waits for the orphan",
            lambda: cluster.job_of("orphaned")["JobId"] != first["orphaned"] and waits in text_of(log),
        )
        assert cluster.state(first["orphaned"]) == "RUNNING"
        release(running)
        again.end()
        assert {cluster.state(cluster.job_of(model)["JobId"]) for model in models} == {"COMPLETED"}
        assert cluster.state(first["orphaned"]) == "COMPLETED"
        assert set(running["orphaned"].asked.values()) == {1}, "nothing is asked beside an orphan"
        check_results(project, running, Project(tmp_path / "here", cluster, entries(running)))
