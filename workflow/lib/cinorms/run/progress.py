"""What the jobs of a run are doing, in words: read from their files, and of those that wait, told by ``squeue``."""

import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cinorms.core.errors import EngineError
from cinorms.inference.job_state import FOLDER, AskingState, JobState, read_state, state_file

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
    """Return the jobs that wait to ask for the ``study`` of ``folder``, by model and shard, joined by ``_``.

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
    waiting = {}
    for line in lines.splitlines():
        number, state, reason, place, comment = (line.split("|", 4) + [""] * 4)[:5]
        rule, _, job = comment.partition(f"_wildcards_{study}_")
        if job and rule.startswith("rule_ask_") and state not in AT_WORK and Path(place) == folder:
            waiting[job] = Queued.of(number, state, reason)
    return waiting


def name_of(model: str, shard: str) -> str:
    """Return the name of a shard's job in ``waiting_jobs``, as Snakemake's plugin writes it."""
    return f"{model}_{shard}".replace("/", "_")


# --- Jobs at work

#: Seconds between two reads of the jobs' files.
PERIOD = 2.0
#: Seconds between two lines about a model, on a terminal and in a file; and between two about a problem or its end.
PAUSES, GAP = (15.0, 60.0), 4.0
#: Seconds between two looks at the queue.
QUEUE_PERIOD = 60.0
#: What the state of a run itself is called.
RUN = "run"
#: Characters of the bar on a terminal.
BAR = 20

#: The shards of each model that is asked.
Shards = Mapping[str, Sequence[str]]


class Follower:
    """Reports progress from its own thread: now and then a line for each model.

    A line comes soon where something goes wrong or is well again, and where a job waits in the ``queue`` for somebody
    to help it. While it follows, ``is_under_way`` holds.
    """

    def __init__(
        self,
        results: Path,
        shards: Shards,
        say: Callable[[str], None] | None = None,
        queue: Callable[[], Mapping[str, Queued]] | None = None,
    ) -> None:
        self._progress, self._shards = results / FOLDER, shards
        self._say = say or (lambda line: print(line, file=sys.stderr, flush=True))
        self._on_terminal = sys.stderr.isatty()
        #: When the last line about a model came, and what was wrong then.
        self._last: dict[str, tuple[float, str]] = {}
        self._queue, self._looked, self._helped = queue, 0.0, set[str]()
        path = state_file(self._progress, RUN, RUN)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
        mine = AskingState("", "", started=time.time(), host=platform.node(), process=os.getpid())
        self._run = JobState(mine, path)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._run.write()
        self._thread.start()

    def stop(self) -> None:
        """Stop reporting."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=PERIOD)
            self._run.end("done")

    def failures(self) -> str:
        """Return in words how many requests of each model failed and were sent again; empty where none did."""
        counts = {
            model: sum(
                state.failures for shard in shards if (state := read_state(self._progress, model, shard))
            )
            for model, shards in self._shards.items()
        }
        failed = [f"{number:,} of {model}" for model, number in counts.items() if number]
        return f"Requests that failed and were sent again: {', '.join(failed)}" if failed else ""

    def look(self, now: float) -> None:
        """Print the lines that are due."""
        for model, shards in self._shards.items():
            states = [read_state(self._progress, model, shard) for shard in shards]
            alive = [state for state in states if state and state.is_alive(now)]
            # A job of an earlier run may still be asking: it is followed too.
            if alive:
                self._say_of(model, alive, len(shards), now)
        if self._queue and now - self._looked >= QUEUE_PERIOD:
            self._looked = now
            with suppress(EngineError):  # SLURM is asked again in a minute
                self._say_who_waits(self._queue())

    def _say_who_waits(self, queue: Mapping[str, Queued]) -> None:
        for model, shards in self._shards.items():
            for job in (queue.get(name_of(model, shard)) for shard in shards):
                if job and job.needs_help and job.note not in self._helped:
                    self._helped.add(job.note)
                    self._say(f"{time.strftime('%H:%M:%S')}  {model}: {job.state}: {job.note}")

    def _say_of(self, model: str, alive: Sequence[AskingState], n_shards: int, now: float) -> None:
        before, wrong_before = self._last.get(model, (min(state.started for state in alive), ""))
        wrong = next((state.trouble for state in alive if state.trouble), "")
        if now - before < (GAP if wrong != wrong_before else PAUSES[not self._on_terminal]):
            return
        self._last[model] = now, wrong
        jobs = f" ({len(alive)} jobs)" if n_shards > 1 else ""
        bar = f"{_bar(alive)} " if self._on_terminal else ""
        self._say(f"{time.strftime('%H:%M:%S')}  {bar}{model}{jobs}: {progress(alive, now)}")

    def _follow(self) -> None:
        while not self._ended.wait(PERIOD):
            self._run.write()
            self.look(time.time())


def _bar(states: Sequence[AskingState]) -> str:
    """Return how much is answered as a bar of `BAR` characters."""
    total, answered = sum(state.total or 0 for state in states), sum(state.answered for state in states)
    filled = BAR * answered // total if total else 0
    return "█" * filled + "░" * (BAR - filled)


def is_under_way(progress: Path, now: float) -> bool:
    """Tell whether a run of the study with this folder of states is at work, as far as files can tell."""
    state = read_state(progress, RUN, RUN)
    return state is not None and state.is_alive(now)


def duration(seconds: float) -> str:
    """Return a time in its two largest units: ``8 s``, ``1 min 32 s``, ``2 h 5 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole < 600 else f"{whole // 60} min"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def progress(states: Sequence[AskingState], now: float) -> str:
    """Return the progress of a model's running jobs: answers, rate, time left, failures, problems."""
    total, answered = sum(state.total or 0 for state in states), sum(state.answered for state in states)
    parts = []
    if total:
        parts.append(f"{answered:,} of {total:,} answered ({100 * answered // total}%)")
    rate = sum(state.rate or 0.0 for state in states)
    if rate:
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
    if rate and all(state.rate for state in states):
        parts.append(f"{duration((total - answered) / rate)} left")
    usd = [state.usd for state in states if state.usd is not None]
    if usd:
        parts.append(dollars(sum(usd)))
    failures = sum(state.failures for state in states)
    if failures:
        parts.append(f"{failures:,} failed attempt{'s'[: failures > 1]}")
    doing = list(dict.fromkeys(state.doing for state in states if state.doing))
    parts += doing or ([] if total else ["starting"])
    wrong = trouble(states, now)
    return ", ".join(parts) + (f"; {wrong}" if wrong else "")


def trouble(states: Sequence[AskingState], now: float) -> str:
    """Return what is wrong with running jobs, and for how long; empty if nothing is."""
    wrong = [state for state in states if state.trouble]
    if not wrong:
        return ""
    first = min(state.since or now for state in wrong)
    return f"{wrong[0].trouble}, for {duration(now - first)}"


def dollars(usd: float) -> str:
    """Return an amount of money; small ones with more digits."""
    if usd == 0:
        return "$0"
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"
