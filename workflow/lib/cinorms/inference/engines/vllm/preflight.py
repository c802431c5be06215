"""Whether vLLM and the GPUs that a model needs are here: looked up in files, without starting anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from cinorms.inference.preflight import Asked, Finding, ModelCheck, Surroundings, error, warning

#: Where vLLM is without conda.
VIRTUAL_ENVIRONMENT = ".venv-vllm"
#: Why a model is refused that is to be asked in batch-invariant mode by vLLM's build for CPUs.
NOT_ON_CPU = (
    "`batch_invariant: true` needs a GPU (vLLM's build for CPUs has no such mode); set it to false, or run on a "
    "machine with a GPU"
)
#: Variables that hide GPUs from a program.
HIDING = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def look_at_machine(entries: Sequence[Asked], surroundings: Surroundings) -> Iterator[Finding]:
    """Look for vLLM and, where jobs run on this machine, for as many GPUs as a model needs."""
    names = ", ".join(entry.name for entry in entries)
    vllm = _Vllm(True, False) if surroundings.conda else _find_vllm(surroundings.folder)
    if not vllm.installed:
        text = (
            f"{names}: vLLM is not installed; without GPU `make {VIRTUAL_ENVIRONMENT}/done`, with one see "
            "config/README.md (On a cluster), or run with --sdm conda"
        )
        yield warning(f"{text}, or load it as a module") if surroundings.cluster else error(text)
        return
    if vllm.on_cpu and not surroundings.cluster:
        for entry in entries:
            if entry.settings.batch_invariant:
                yield error(f"{entry.name}: {NOT_ON_CPU}")
    if surroundings.cluster or vllm.on_cpu:
        return
    here = count_gpus(surroundings.environment)
    for entry in entries:
        needed = max(1, entry.gpus)
        if needed > here:
            yield error(
                f"{entry.name}: needs {needed} GPU{'s'[: needed > 1]}, this machine shows {here or 'none'}; run on a "
                "cluster (PROFILE=profiles/slurm), or a small model with vLLM's build for CPUs"
            )


def count_gpus(environment: Mapping[str, str], devices: Path = Path("/dev")) -> int:
    """Return how many GPUs a program started here would see."""
    found = len(list(devices.glob("nvidia[0-9]*")))
    if not found and (devices / "kfd").exists():  # AMD
        found = len(list((devices / "dri").glob("render*")))
    for name in HIDING:
        if name in environment:
            shown = [
                part for part in environment[name].split(",") if part.strip() not in ("", "-1", "NoDevFiles")
            ]
            found = min(found, len(shown))
    return found


class _Vllm(NamedTuple):
    """Whether vLLM is installed where jobs look for it, and whether it is the build for CPUs."""

    installed: bool
    on_cpu: bool


def _find_vllm(folder: Path) -> _Vllm:
    """Look for vLLM as the rule that asks does: in the virtual environment, else in this Python."""
    own = folder / VIRTUAL_ENVIRONMENT
    if (own / "bin" / "python").exists():
        places = [str(place) for place in own.glob("lib/python*/site-packages")]
        installed = any(Path(place, "vllm").is_dir() for place in places)
    else:
        places, installed = sys.path, find_spec("vllm") is not None
    torch = [each.version for each in metadata.distributions(name="torch", path=places)]
    return _Vllm(installed, any("cpu" in version for version in torch))


CHECKS = (ModelCheck("vllm", "vLLM is installed, and GPUs are there where it needs them", look_at_machine),)
