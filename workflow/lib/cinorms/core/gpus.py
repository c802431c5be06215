"""Whether a job has GPUs, and vLLM can use them."""

import os
from collections.abc import Mapping

from cinorms.core.errors import ConfigError

#: Where SLURM tells a job which GPUs it has.
_OF_SLURM = ("SLURM_JOB_GPUS", "SLURM_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_STEP_GPUS")

#: What is wrong with vLLM's build for CPUs in a job with GPUs, and what to do.
CPU_BUILD = (
    "vLLM here is the build for CPUs: a job would hold its GPU and compute on the CPU; install vLLM for GPUs "
    "(docs/cluster.md), or set `gpus: 0` in its entry"
)


def job_has_gpus(environment: Mapping[str, str]) -> bool:
    """Tell whether a process with this ``environment`` is in a job of SLURM that has GPUs."""
    return any(map(environment.get, _OF_SLURM))


def refuse_cpu_build(who: str, gpus: int) -> None:
    """Raise ``ConfigError`` where a job with GPUs, for a model that needs ``gpus``, would compute on the CPU."""
    if gpus and job_has_gpus(os.environ):
        from vllm.platforms import current_platform

        if current_platform.is_cpu():
            raise ConfigError(f"{who}: {CPU_BUILD}")
