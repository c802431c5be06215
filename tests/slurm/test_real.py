"""Real vLLM on the cluster: the control model, trained in a job of its own, without GPUs as this vLLM needs none."""

import yaml

from ..snakemake_runs import add_model
from .project import VENV, Project, check_crew


def test_the_control_model_through_vllm_in_jobs(tmp_path, cluster):
    assert (VENV / "done").exists(), "vLLM is not here: make .venv-vllm/done (make test-slurm does)"
    project = Project(tmp_path / "project", cluster, {})
    (project.folder / ".venv-vllm").symlink_to(VENV)
    before = cluster.last_job()
    refused = project.start("--", "control", study="config/control.yaml").end(code=1)
    assert "control: vLLM here is the build for CPUs" in refused
    assert cluster.last_job() == before, "no job holds a GPU that it cannot use"
    registry = yaml.safe_load((project.folder / "config/models.yaml").read_text(encoding="utf-8"))
    add_model(project.folder, control={**registry["control"], "gpus": 0})
    printed = project.run("--", "control", study="config/control.yaml")
    assert (project.folder / "results/control/control.csv").exists(), printed
    jobs = [job for job in cluster.jobs() if int(job["JobId"]) > before]
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    asked = [job for job in jobs if "ask_vllm" in job["Comment"]]
    check_crew(asked)
    assert ["train_control" in job["Comment"] for job in jobs if job not in asked] == [True]
