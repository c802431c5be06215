"""Scripts as forks of one process that has loaded the libraries, instead of a new Python for every job.

A study has many small jobs, and half of their CPU time went into loading the same libraries in each of them.
"""

import gc
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.forkserver import ensure_running
from multiprocessing.util import get_temp_dir
from pathlib import Path
from subprocess import CalledProcessError
from threading import Lock

from cinorms.run import loaded

#: Fewer scripts than this load their libraries in less time than a process that loads those of all.
LEAST_SCRIPTS = 6
#: Libraries to load once. What only jobs need that ask models is not among them.
LIBRARIES = frozenset(
    {
        "cinorms",
        "cumulink",
        "jinja2",
        "matplotlib",
        "pandas",
        "plotnine",
        "pyarrow",
        "pydantic",
        "rapidfuzz",
        "scipy",
        "statsmodels",
        "yaml",
    }
)
#: Libraries of a script start no threads, as in the jobs of Snakemake with one core.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "GOTO_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)
#: No library may start a thread: a fork has only the one that forks.
_NO_OTHER_THREAD = {**ONE_THREAD, "JE_ARROW_MALLOC_CONF": "background_thread:false"}


class Forks:
    """A process that has loaded ``modules`` (those that there are), and a fork of it for each script.

    It starts when this is made. Each fork is a process of its own, with its own log, that can be killed.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self._context = get_context("forkserver")
        # Starting a process asks after all others, and of two threads that see one end only one learns how it ended.
        self._lock = Lock()
        self._context.set_forkserver_preload([loaded.__name__])
        resource_tracker.ensure_running()  # it changes which signals are blocked
        told = {loaded.MODULES: " ".join(sorted(modules)), loaded.SOCKET_FOLDER: get_temp_dir()}
        with _variables({**_NO_OTHER_THREAD, **told}):
            # Python itself would show a traceback for a Ctrl+C while it starts: it waits until `loaded` ignores it.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            try:
                ensure_running()
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])

    def run(self, script: str, variables: dict[str, str]) -> None:
        """Run ``script`` with environment ``variables``; CalledProcessError if it fails.

        Raises OSError or EOFError where no process can be forked; then nothing of the script has run.
        """
        with self._lock:
            process = self._context.Process(target=_run_script, args=(script, variables))
            process.start()
        wait([process.sentinel])
        with self._lock:
            process.join()
        if process.exitcode:
            raise CalledProcessError(process.exitcode, [sys.executable, script])


def _run_script(script: str, variables: dict[str, str]) -> None:
    """Run ``script`` as a new Python would."""
    os.environ.update(variables)
    tempfile.tempdir = None
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).parent))
    # What was loaded stays: looking through it for garbage would take time, and copy it from the other process.
    gc.freeze()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        runpy.run_path(script, run_name="__main__")
    except Exception:
        # The log of a job sets this hook, and a forked process would not call it.
        sys.excepthook(*sys.exc_info())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        sys.exit(130)


@contextmanager
def _variables(changed: dict[str, str]) -> Iterator[None]:
    """Set environment variables for what is started inside."""
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
