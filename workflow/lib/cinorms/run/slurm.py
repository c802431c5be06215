"""What SLURM says of jobs: before they are submitted, where it refuses them, and how it ended them."""

import re
import shlex
import subprocess
from collections.abc import Mapping
from shutil import which

from cinorms.core.errors import EngineError
from cinorms.run.progress import SLURM_PATIENCE

#: What SLURM says where it refuses a job, and what to change. `{rule}` is the rule of the job.
ADVICE = (
    (
        r"contact slurm controller|process configuration|configuration source|[Mm]unge",
        "is this machine part of the cluster, and is its controller running?",
    ),
    (
        r"account|policy",
        "set slurm_account in `default-resources` of your profile, or SBATCH_ACCOUNT "
        "(`sacctmgr show assoc user=$USER` lists your accounts and limits)",
    ),
    (
        r"time limit",
        "set runtime (minutes) in `set-resources: {rule}` of your profile, or a slurm_partition that allows more "
        "(`sinfo` shows limits)",
    ),
    (
        r"partition",
        "set slurm_partition in `set-resources: {rule}` of your profile (`sinfo` lists partitions)",
    ),
    (r"feature", "set constraint in `set-resources: {rule}` of your profile"),
    (r"(?i)qos", "set qos in `set-resources: {rule}` of your profile"),
    (
        r"node configuration|processors|memory|gres|TRES",
        "no node of the partition has these GPUs, cores or memory: set slurm_partition, gpu, mem_mb or constraint in "
        "`set-resources: {rule}` of your profile",
    ),
    (r"", "correct `set-resources: {rule}` of your profile"),
)
#: States in which SLURM ends a job, and what that means. Of a job that FAILED its own log says why.
ENDINGS = {
    "OUT_OF_MEMORY": "it needed more memory than it asked for: each attempt asks for more; or set mem_mb",
    "TIMEOUT": "it took longer than it asked for: each attempt asks for more; or set runtime",
    "NODE_FAIL": "its node failed",
    "BOOT_FAIL": "its node did not start",
    "PREEMPTED": "a job of higher priority took its place",
    "CANCELLED": "somebody cancelled it (scancel)",
    "DEADLINE": "it could not end before its deadline",
}


def advice(reason: str, rule: str) -> str:
    """Return what to change where SLURM refuses a job of ``rule`` for this ``reason``."""
    return next(text for pattern, text in ADVICE if re.search(pattern, reason)).format(rule=rule)


def refusal(call: str, environment: Mapping[str, str]) -> str:
    """Return why SLURM would refuse the job of a ``call`` of sbatch, in its own words; empty where it takes it.

    Nothing is queued. Raises ``EngineError`` where SLURM is not here or does not answer.
    """
    words = shlex.split(call)
    if (sbatch := which(words[0], path=environment.get("PATH"))) is None:
        raise EngineError(
            "jobs are sent to SLURM, whose command sbatch is not on this machine: start on a login node of the "
            "cluster, or run here without --profile"
        )
    command = [sbatch, *words[1:], "--test-only", "--wrap", "true"]
    try:
        done = subprocess.run(
            command, env=dict(environment), capture_output=True, text=True, timeout=SLURM_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise EngineError(f"sbatch does not answer ({failure}); {ADVICE[0][1]}") from failure
    if not done.returncode:
        return ""
    said = [line.split(": ", 1)[-1] for line in done.stderr.splitlines() if line.strip()]
    reason = said[-1] if said else f"sbatch ends with {done.returncode} and no message"
    if re.search(ADVICE[0][0], done.stderr):
        raise EngineError(f"SLURM does not answer ({reason}); {ADVICE[0][1]}")
    return reason


def in_words(message: str, rule: str) -> str:
    """Return what Snakemake's plugin reports of a job: SLURM's words, and what they mean.

    Empty where its own log says why it failed.
    """
    if refused := re.search(r"The error message was '(.*?)'\.\n", message, re.DOTALL):
        reason = " ".join(refused[1].split()).removeprefix("sbatch: error: ")
        return f"SLURM refused it: {reason}\n{advice(reason, rule)}"
    if ended := re.search(r"SLURM-job '(\S+)' failed.*SLURM status is: '(\w+)'", message, re.DOTALL):
        number, state = ended.groups()
        return f"SLURM ended job {number}: {state}: {ENDINGS[state]}" if state in ENDINGS else ""
    return f"SLURM: {message}" if message else ""
