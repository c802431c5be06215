"""Jobs with GPUs: what they ask for, what reaches them, that two run at once, and that each starts one engine."""

import json
import math
import sys
from pathlib import Path
from typing import Any

from cinorms.inference.engines.vllm.engine import BASE_MINUTES, VllmSettings
from cinorms.inference.engines.vllm.engine import memory_mb as memory_asked
from cinorms.inference.engines.vllm.engine import minutes as minutes_asked

from .cluster import Cluster
from .project import ARM, Project

PRETEND = Path(__file__).with_name("pretend_vllm.py")
ENTRY = {"engine": "vllm", "family": "pretended", "capacity": 8, "gpus": 1, "wrap": "none"}
SHARDS = {"lucky": 2, "unlucky": 1}
ARMS: dict[str, Any] = {
    "main": ARM,
    "again": {**ARM, "sample": 2},
    "warm": {**ARM, "temperature": 0.7},
    "long": {**ARM, "max_tokens": 200},
    "few": {**ARM, "templates": 5},
    "brief": {**ARM, "system": "Be brief."},
}


def pretend(folder: Path, cluster: Cluster) -> tuple[Project, dict[str, Any]]:
    """Return a study of two models whose checkpoints are empty and whose vLLM is pretended."""
    entries = {
        name: {**ENTRY, "source": f"checkpoints/{name}", "shards": shards} for name, shards in SHARDS.items()
    }
    project = Project(folder / "project", cluster, entries, arms=ARMS)
    for entry in entries.values():
        checkpoint = project.folder / entry["source"]
        checkpoint.mkdir(parents=True)
        (checkpoint / "config.json").write_text("{}")
        (checkpoint / "model.safetensors").write_bytes(b"no weights")
    python = project.folder / ".venv-vllm" / "bin" / "python"
    python.parent.mkdir(parents=True)
    # On a compute node there is no network at all.
    on_node = '[ -z "$SLURM_JOB_ID" ] || net="unshare --net"'
    python.write_text(f'#!/bin/sh\n{on_node}\nexec $net {sys.executable} {PRETEND} "$@"\n')
    python.chmod(0o755)
    return project, entries


def memory_mb(job: dict[str, str]) -> int:
    """Return the memory that a job was given."""
    given = job["MinMemoryNode"]
    return round(float(given[:-1]) * {"M": 1, "G": 1024}[given[-1]])


def minutes(job: dict[str, str]) -> int:
    """Return the time limit of a job."""
    days, _, clock = job["TimeLimit"].rpartition("-")
    hours, of_hour, _ = (int(part) for part in clock.split(":"))
    return 60 * (24 * int(days or 0) + hours) + of_hour


def test_two_models_in_six_arms_on_two_gpus(tmp_path, cluster):
    noted = tmp_path / "noted"
    noted.mkdir()
    project, entries = pretend(tmp_path, cluster)
    fetched = project.run("--", "fetch", local=True)
    assert "fetch_checkpoint" in fetched
    before = cluster.last_job()
    project.environment |= {"PRETEND_FOLDER": str(noted), "PRETEND_JOBS": "2"}
    printed = project.run()
    assert "rule fetch_checkpoint" not in printed, "checkpoints are fetched once, by make fetch"

    tried = {job["JobId"]: job for job in cluster.jobs() if int(job["JobId"]) > before}
    jobs = [json.loads(path.read_bytes()) for path in noted.glob("*.json")]
    # One job for a model and a shard, which asks all arms, and one more try of the model without luck.
    assert len(tried) == len(jobs) == 4
    assert len(list(noted.glob("*.started"))) == 3, "an engine is started once per model and shard"
    assert {job["HF_HUB_OFFLINE"] for job in jobs} == {"1"}
    # Neither ends before both run: they have a GPU each.
    ran = [job for job in jobs if (noted / f"{job['SLURM_JOB_ID']}.ready").exists()]
    assert {job["CUDA_VISIBLE_DEVICES"] for job in ran} == {"0", "1"}
    start = round(BASE_MINUTES)
    for model, shard in {(job["model"], job["shard"]) for job in jobs}:
        settings = VllmSettings.model_validate(entries[model])
        asking = len(ARMS) * (minutes_asked(settings, 1) - start)
        numbers = sorted(int(j["SLURM_JOB_ID"]) for j in jobs if (j["model"], j["shard"]) == (model, shard))
        for attempt, number in enumerate(numbers, start=1):
            job = tried[str(number)]
            assert job["TresPerJob"] == "gres:gpu:1"
            assert minutes(job) == attempt * (start + math.ceil(asking / SHARDS[model]))
            assert memory_mb(job) == memory_asked(settings, attempt)
    assert {job["JobState"] for job in tried.values()} == {"COMPLETED", "FAILED"}
