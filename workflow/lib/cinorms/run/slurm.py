"""What SLURM says of jobs: where it would refuse them, why they wait in its queue, and how it ended them."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple

from cinorms.core.errors import EngineError
from cinorms.core.logs import failure_in

#: Seconds to wait for an answer of SLURM.
PATIENCE = 15
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
#: What sbatch puts before each of its lines.
PREFIX = re.compile(r"^(sbatch: )?(error: )?(allocation failure: )?")
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


def options_of(needs: Mapping[str, Any], threads: int, qos: Any = None, reservation: Any = None) -> str:
    """Return the options of sbatch for a job, as the plugin for SLURM gives them; no number of tasks, which is one."""
    gpus, model, gres = map(needs.get, ("gpu", "gpu_model", "gres"))
    per_gpu = needs.get("cpus_per_gpu") if gpus or model or "gpu" in str(gres) else None
    cores = needs.get("cpus_per_task") or threads
    stated = {
        "account": needs.get("slurm_account"),
        "partition": needs.get("slurm_partition"),
        "clusters": needs.get("cluster") or needs.get("clusters") or needs.get("slurm_cluster"),
        "time": needs.get("runtime"),
        "mem-per-cpu": needs.get("mem_mb_per_cpu"),
        "mem": None if needs.get("mem_mb_per_cpu") else needs.get("mem_mb"),
        "nodes": needs.get("nodes"),
        "constraint": needs.get("constraint"),
        "qos": qos or needs.get("qos"),
        "reservation": reservation,
        "gres": gres,
        "gpus": f"{model}:{gpus or 1}" if model else gpus,
        "cpus-per-gpu": per_gpu,
        "cpus-per-task": None if per_gpu or cores < 0 else cores,  # less than 0: the site wants none
    }
    words = [f"--{name}={value}" for name, value in stated.items() if value]
    return shlex.join([*words, *shlex.split(str(needs.get("slurm_extra") or ""))])


def refusal(options: str, environment: Mapping[str, str]) -> str:
    """Return why SLURM would refuse a job with these ``options``, in all its own lines; empty where it takes it.

    A site's own rules speak before SLURM's last line, which then names no reason. Nothing is queued. Raises
    ``EngineError`` where SLURM is not here or does not answer.
    """
    done = _call("sbatch", [*shlex.split(options), "--test-only", "--wrap", "true"], environment)
    if done is None:
        raise EngineError(
            "jobs are sent to SLURM, whose command sbatch is not on this machine: start on a login node of the "
            "cluster, or run here without --profile"
        )
    if not done.returncode:
        return ""
    reason = _lines(done.stderr) or f"sbatch ends with {done.returncode} and no message"
    if re.search(ADVICE[0][0], done.stderr):
        raise EngineError(f"SLURM does not answer ({reason.rpartition('; ')[2]}); {ADVICE[0][1]}")
    return reason


def _lines(printed: str) -> str:
    """Return everything that a command of SLURM printed, in one line."""
    lines = (PREFIX.sub("", line).strip() for line in printed.splitlines())
    return "; ".join(dict.fromkeys(filter(None, lines)))


def _call(
    name: str, options: Sequence[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str] | None:
    """Call a command of SLURM; None on a machine without it. Raises ``EngineError`` where it does not answer."""
    if (program := which(name, path=environment.get("PATH"))) is None:
        return None
    try:
        return subprocess.run(
            [program, *options], env=dict(environment), capture_output=True, text=True, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise EngineError(f"{name} does not answer ({failure}); {ADVICE[0][1]}") from failure


class End(NamedTuple):
    """How SLURM ended a job, in words; empty where the job's own log says why it failed."""

    words: str
    #: Whether SLURM could not even start the job's command: another try, or another job, would end like this.
    never_began: bool = False


def how_it_ended(message: str, rule: str, logs: Sequence[str], environment: Mapping[str, str]) -> End:
    """Return how a job ended: what Snakemake's plugin for SLURM reports, and what SLURM's own log of it says.

    The last of ``logs`` is SLURM's. Other plugins only say that there are logs.
    """
    if refused := re.search(r"The error message was '(.*?)'\.\n", message, re.DOTALL):
        reason = _lines(refused[1])
        return End(f"SLURM refused it: {reason}\n{advice(reason, rule)}")
    ended = re.search(r"SLURM-job '(\S+)' failed.*SLURM status is: '(\w+)'", message, re.DOTALL)
    if not ended:
        return End(f"SLURM: {message}" if message.startswith(("SLURM", "Job submission")) else "")
    number, state = ended.groups()
    *own, log = logs or [""]
    said = _said_in(Path(log))
    # Where memory is polled, not held by cgroups, the state does not say so.
    meaning = ENDINGS.get("OUT_OF_MEMORY" if "memory limit" in "".join(said) else state)
    if state not in ENDINGS and not _OF_SLURM.match("\n".join(said)) and any(map(failure_in, own)):
        return End("")
    words = [f"SLURM ended job {number}: {state}{_exit_code(number, environment)}"]
    words += [f": {meaning}"] if meaning else []
    lines = ["".join(words), *said, *([f"(SLURM's log: {os.path.relpath(log)})"] if said else [])]
    never_began = (
        state == "FAILED" and not any(map(failure_in, own)) and bool(_NO_STEP.match("".join(said[:1])))
    )
    if never_began:
        lines.append(
            "srun fails before the job's command begins, as it would in every job: none is tried again"
        )
    return End("\n".join(lines), never_began)


#: A line of SLURM's own programs, or of the shell that calls them. When a job's command fails, srun says so too.
_OF_SLURM = re.compile(r"(?!srun: error: .*: task .*: Exited)(slurmstepd|slurmd|srun|sbatch|/\S*sh|bash)\b.*")
_NO_STEP = re.compile(r"(srun: (error|fatal): (?!.*\btask\b)|.*\bsrun: .*not found)")
#: Most lines that are shown of SLURM's log.
_MOST_LINES = 5


def _said_in(log: Path) -> list[str]:
    """Return the lines in SLURM's log of a job that say why it ended: SLURM's own, else those before Snakemake's."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = [line.rstrip() for line in text.partition("\nError in rule ")[0].splitlines() if line.strip()]
    own = [line for line in lines if _OF_SLURM.match(line)]
    if not own and lines and lines[-1].startswith("["):  # when Snakemake says it
        lines.pop()
    return list(dict.fromkeys(own or lines))[-_MOST_LINES:]


def _exit_code(number: str, environment: Mapping[str, str]) -> str:
    """Return the exit code and the signal of a job, as far as SLURM still knows."""
    try:
        done = _call("scontrol", ["show", "job", number], environment)
    except EngineError:
        return ""
    found = re.search(r"\bExitCode=(\d+):(\d+)", done.stdout) if done else None
    if not found:
        return ""
    code, signal = found.groups()
    return f" (exit code {code}" + (f", signal {signal})" if signal != "0" else ")")


# --- Jobs that wait

#: What is asked of each job: its number, state, reason, folder, and the comment that Snakemake gives it.
FORMAT = "%i|%T|%r|%Z|%k"
#: States in which a job is at work, as far as SLURM knows.
AT_WORK = ("RUNNING", "CONFIGURING", "COMPLETING", "STAGE_OUT", "SIGNALING")
#: A job's state and reason, in SLURM's words; what it is called here; and what to do.
REASONS = (
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


class Waiting(NamedTuple):
    """A job that waits: its ``state`` in one word, and a note with its number, SLURM's reason and what to do."""

    state: str
    note: str

    @property
    def needs_help(self) -> bool:
        """Whether somebody has to do something, or should know."""
        return self.state in ("held", "drained")


def waiting_jobs(study: str, environment: Mapping[str, str], folder: Path) -> dict[str, Waiting]:
    """Return the jobs that wait to ask for the ``study`` of ``folder``, by ``job_name``.

    Empty on a machine without SLURM. Raises ``EngineError`` where SLURM does not answer.
    """
    done = _call("squeue", ["--me", "--noheader", f"--format={FORMAT}"], environment)
    if done and done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise EngineError(f"squeue fails ({why}); what waits in the queue is not shown")
    waiting = {}
    for line in done.stdout.splitlines() if done else ():
        number, state, reason, place, comment = (line.split("|", 4) + [""] * 4)[:5]
        rule, _, job = comment.partition(f"_wildcards_{study}_")
        if job and rule.startswith("rule_ask_") and state not in AT_WORK and Path(place) == folder:
            waiting[job] = explain(number, state, reason)
    return waiting


def explain(number: str, state: str, reason: str) -> Waiting:
    """Return in words why a job waits."""
    said = f"{state} {reason}"
    word, advice = next((word, what) for pattern, word, what in REASONS if re.search(pattern, said))
    return Waiting(word, f"job {number} waits ({reason or state}); {advice.format(number=number)}")


def job_name(*wildcards: str) -> str:
    """Return the name in ``waiting_jobs`` of the job with these ``wildcards``, as Snakemake's plugin writes it."""
    return "_".join(wildcards).replace("/", "_")
