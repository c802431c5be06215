"""The control model on the cluster: trained in a job, asked by real vLLM in jobs with a GPU, and compared."""

from __future__ import annotations

from pathlib import Path

from .cluster import ROOT, Cluster
from .project import Project

VENV = ROOT / ".venv-vllm"


def test_the_control_model_through_vllm_in_gpu_jobs(tmp_path: Path, cluster: Cluster) -> None:
    assert (VENV / "done").exists(), "vLLM is not here: make .venv-vllm/done (make test-slurm does)"
    project = Project(tmp_path / "project", cluster, {})
    (project.folder / ".venv-vllm").symlink_to(VENV)
    before = cluster.last_job()
    printed = project.run("--", "control", study="config/control.yaml")
    assert (project.folder / "results/control/control.csv").exists(), printed
    jobs = [job for job in cluster.jobs() if int(job["JobId"]) > before]
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    asked = [job for job in jobs if "ask_vllm" in job["Comment"]]
    assert len(asked) == 2
    assert {job["TresPerJob"] for job in asked} == {"gres:gpu:1"}
    assert ["train_control" in job["Comment"] for job in jobs if job not in asked] == [True]
