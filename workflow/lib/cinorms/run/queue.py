"""The jobs that wait in SLURM's queue: which, why, and what to do, told by one call of ``squeue``."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cinorms.core.errors import EngineError

#: Seconds to wait for an answer of SLURM.
SLURM_PATIENCE = 15
#: What is asked of each job: its number, state, reason, folder, and the comment that Snakemake gives it.
FORMAT = "%i|%T|%r|%Z|%k"
#: States in which a job is at work, as far as SLURM knows.
AT_WORK = ("RUNNING", "CONFIGURING", "COMPLETING", "STAGE_OUT", "SIGNALING")
#: A job's state and reason, in SLURM's words; what it is called here; and what to do.
WORDS = (
    (r"JobHeldAdmin", "held", "an administrator holds it: ask yours"),
    (r"Held|held|REQUEUE_HOLD|SPECIAL_EXIT", "held", "release it with `scontrol release {number}`"),
    (
        r"DOWN|DRAIN|Drain|NotAvail|NodeDown|Partition(Down|Inactive)|Reservation",
        "drained",
        "its nodes are down, drained or reserved (`sinfo -R` says why): it begins when they are back, or name another "
        "partition in the profile",
    ),
    (
        r"BeginTime|REQUEUED",
        "requeued",
        "it was ended for another job, or its node failed: it begins again by itself",
    ),
    (
        r"BadConstraints|Partition\w*Limit|InvalidAccount|InvalidQOS|AccountNotAllowed|QOSNotAllowed",
        "held",
        "it can never begin like this: correct partition, account, constraint or time in the profile, and cancel it "
        "with `scancel {number}`",
    ),
    (r"SUSPENDED", "pending", "it is suspended, and goes on by itself"),
    (
        r"Limit|^PENDING Max|Grp",
        "pending",
        "a limit of your account: it begins when others of your jobs have ended",
    ),
    (r"", "pending", "it begins by itself"),
)


@dataclass(frozen=True)
class Queued:
    """A job that waits: its ``state`` in one word, and a note with its number, SLURM's reason and what to do."""

    state: str
    note: str

    @classmethod
    def of(cls, number: str, state: str, reason: str) -> "Queued":
        """Return the job in words."""
        said = f"{state} {reason}"
        word, advice = next((word, what) for pattern, word, what in WORDS if re.search(pattern, said))
        return cls(word, f"job {number} waits ({reason or state}); {advice.format(number=number)}")

    @property
    def needs_help(self) -> bool:
        """Whether somebody has to do something, or should know."""
        return self.state in ("held", "drained")


def waiting_jobs(study: str, environment: Mapping[str, str], folder: Path) -> dict[str, Queued]:
    """Return the jobs that wait to ask for the ``study`` of ``folder``, by arm, model and shard, joined by ``_``.

    Empty on a machine without SLURM. Raises ``EngineError`` where SLURM does not answer.
    """
    options = ["--me", "--noheader", f"--format={FORMAT}"]
    lines = ask_slurm("squeue", options, environment, "what waits in the queue is not shown")
    return {} if lines is None else read_queue(lines, study, folder)


def ask_slurm(name: str, options: list[str], environment: Mapping[str, str], so: str) -> str | None:
    """Return what a command of SLURM prints; None on a machine without it.

    Raises ``EngineError`` where it does not answer, or fails: ``so`` says what that means.
    """
    program = shutil.which(name, path=environment.get("PATH"))
    if program is None:
        return None
    try:
        done = subprocess.run([program, *options], capture_output=True, text=True, timeout=SLURM_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise EngineError(f"{name} does not answer ({failure}); is SLURM's controller running?") from failure
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise EngineError(f"{name} fails ({why}); {so}")
    return done.stdout


def read_queue(lines: str, study: str, folder: Path) -> dict[str, Queued]:
    """Return the waiting jobs of ``waiting_jobs`` from the lines that squeue prints."""
    found = {}
    for line in lines.splitlines():
        number, state, reason, place, comment = (line.split("|", 4) + [""] * 4)[:5]
        rule, _, job = comment.partition(f"_wildcards_{study}_")
        if job and rule.startswith("rule_ask_") and state not in AT_WORK and Path(place) == folder:
            found[job] = Queued.of(number, state, reason)
    return found


def name_of(arm: str, model: str, shard: str) -> str:
    """Return the name of a shard's job in ``waiting_jobs``, as Snakemake's plugin writes it."""
    return f"{arm}_{model}_{shard}".replace("/", "_")
