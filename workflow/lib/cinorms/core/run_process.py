"""A job that asks ends with its run: when the main process of the run is gone, nothing more is spent.

Between the two are shells, and perhaps conda or a container, which outlive the main process. So the main process names
itself in the environment, and a job looks for it among its ancestors. On SLURM that is the Snakemake inside the job.
"""

import os
import signal
import time
from pathlib import Path
from threading import Thread

#: Environment variable with the main process: its namespace of processes, and its number.
RUN = "CINORMS_RUN"
#: Seconds between two looks for the main process.
PERIOD = 1.0
#: Seconds that a job has to end by itself; SLURM gives as many.
GRACE = 30.0


def name_run() -> None:
    """Name this process as the main process of the jobs that it starts."""
    os.environ[RUN] = f"{_namespace()} {os.getpid()}"


def end_with_run() -> None:
    """Have this process end when the main process of its run is gone; without one, when its parent is."""
    namespace, _, named = os.environ.get(RUN, "").rpartition(" ")
    main = os.getppid()
    # In a namespace of its own, as in some containers, the number means another process.
    if namespace and namespace == _namespace():
        hidden = not _is_ancestor(int(named)) and Path("/proc", named).exists()
        main = main if hidden else int(named)
    Thread(target=_watch, args=(main,), daemon=True).start()


def _watch(main: int) -> None:
    """End this process with SIGTERM, and if that does not help with SIGKILL, once ``main`` is no ancestor of it."""
    while _is_ancestor(main):
        time.sleep(PERIOD)
    print("The run that this job belongs to has ended.", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


def _is_ancestor(process: int) -> bool:
    above = os.getppid()
    try:
        while above not in (process, 0):
            stat = Path(f"/proc/{above}/stat").read_text(encoding="utf-8", errors="replace")
            above = int(stat.rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:  # too many open files, say
        return True
    return above == process


def _namespace() -> str:
    """Return what tells one namespace of processes from another; empty where the system has no /proc."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
