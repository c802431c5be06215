"""Real vLLM on the cluster: a tiny model, without GPUs as this vLLM needs none."""

import os

from ..snakemake_runs import ROOT, add_model, run
from .project import ARM, VENV, Project


def test_a_tiny_model_through_vllm_in_jobs(tmp_path, cluster):
    assert (VENV / "done").exists(), "vLLM is not here: make .venv-vllm/done (make test-slurm does)"
    model = tmp_path / "tiny"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow/lib")}
    run([VENV / "bin/python", "-m", "tests.tiny_model", model], ROOT, environment=environment)
    entry = {"engine": "vllm", "family": "tiny", "source": str(model), "dtype": "float32"}
    entry |= {"gpus": 1, "max_model_len": 256, "wrap": "chat_template"}
    arm = {**ARM, "max_tokens": 8}
    arms = {"main": arm, "options": {**arm, "templates": 1, "readout": "options"}}
    project = Project(tmp_path / "project", cluster, {"tiny": entry}, arms=arms)
    (project.folder / ".venv-vllm").symlink_to(VENV)
    before = cluster.last_job()
    refused = project.start().end(code=1)
    assert "tiny: vLLM here is the build for CPUs" in refused
    assert cluster.last_job() == before, "no job holds a GPU that it cannot use"
    add_model(project.folder, tiny={**entry, "gpus": 0})
    project.run()
    (job,) = [job for job in cluster.jobs() if int(job["JobId"]) > before]
    assert job["JobState"] == "COMPLETED", "one start for both arms"
    assert "ask_vllm" in job["Comment"]
