"""Real vLLM on the cluster, in jobs with a GPU: a model from a wheel, and the control model, trained in a job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from ..snakemake_runs import ROOT
from .cluster import Cluster
from .project import ARM, VENV, Project, check_crew

#: Nine flows.
FEW = {
    "sender": ["a fitness tracker"],
    "recipient": ["its manufacturer"],
    "transmission_principle": ["if owner has given consent"],
}


def with_vllm(folder: Path, cluster: Cluster, **study: Any) -> Project:
    """Return a copy of the project with vLLM."""
    assert (VENV / "done").exists(), "vLLM is not here: make .venv-vllm/done (make test-slurm does)"
    project = Project(folder / "project", cluster, {}, **study)
    (project.folder / ".venv-vllm").symlink_to(VENV)
    return project


def test_a_real_model_from_a_wheel_in_gpu_jobs(tmp_path: Path, cluster: Cluster) -> None:
    """SmolLM2 is fetched where Snakemake runs, and asked as text and by option probabilities in jobs."""
    study = {
        "arms": {
            "main": {**ARM, "select": FEW, "templates": 4, "max_tokens": 24},
            "options": {**ARM, "select": FEW, "templates": 1, "readout": "options"},
        },
    }
    project = with_vllm(tmp_path, cluster, **study, models=["smollm2-135m-instruct"])
    (ROOT / ".cache/checkpoints").mkdir(parents=True, exist_ok=True)
    (project.folder / ".cache").mkdir(exist_ok=True)
    (project.folder / ".cache/checkpoints").symlink_to(ROOT / ".cache/checkpoints")
    before = cluster.last_job()
    project.run()
    results = project.folder / "results/trial"
    jobs = [job for job in cluster.jobs() if int(job["JobId"]) > before and "ask_vllm" in job["Comment"]]
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    check_crew(jobs)
    record = json.loads((results / "checkpoints/smollm2-135m-instruct.json").read_bytes())
    assert record["revision"].startswith("sha256:b179c952")
    answers = pd.read_csv(results / "tables/answers.csv").groupby("status")["count"].sum()
    assert answers.sum() == 9 * 4
    assert answers.get("ok", 0) < answers.sum(), "so small a model never answers every time"
    assert "smollm2-135m-instruct" in (results / "report/index.html").read_text(encoding="utf-8")


def test_the_control_model_through_vllm_in_gpu_jobs(tmp_path: Path, cluster: Cluster) -> None:
    project = with_vllm(tmp_path, cluster)
    before = cluster.last_job()
    printed = project.run("--", "control", study="config/control.yaml")
    assert (project.folder / "results/control/control.csv").exists(), printed
    jobs = [job for job in cluster.jobs() if int(job["JobId"]) > before]
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    asked = [job for job in jobs if "ask_vllm" in job["Comment"]]
    check_crew(asked)
    assert ["train_control" in job["Comment"] for job in jobs if job not in asked] == [True]
