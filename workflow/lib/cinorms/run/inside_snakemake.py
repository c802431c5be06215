"""Everything that this project asks of Snakemake beyond what its documentation promises, in one place.

Another version may rename any of it: `tests/workflow/test_inside.py` has a test for what each part is for.
"""

import gc
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Iterable
from importlib import import_module
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from subprocess import CalledProcessError
from threading import Lock
from typing import Any

from snakemake.script import PythonScript

from cinorms.core.version import version


class Run:
    """What a run knows of itself; ``workflow`` is what rule files see."""

    def __init__(self, workflow: Any) -> None:
        self._workflow = workflow
        # That of the workflow whose rule file this is; when jobs run it is the main one's.
        self._modifier = workflow.modifier
        settings = workflow.config_settings
        self.is_module = not self._modifier.is_main_snakefile()
        self.module = str(self._modifier.namespace)
        #: What `--config` states, and the files of `--configfile`.
        self.given_config: dict[str, Any] = dict(settings.config)
        self.given_files: list[Path] = list(settings.configfiles)
        #: Every file that the configuration may be from, those of `configfile:` in a Snakefile last.
        self.all_files: list[str] = list(map(str, workflow.configfiles))
        stated = [] if settings.replace_workflow_config else self.all_files[len(self.given_files) :]
        #: Those that count, the later before the earlier.
        self.config_files: list[str] = [*stated, *map(str, self.given_files)]
        self.snakefile = str(workflow.main_snakefile)

    @property
    def is_on_cluster(self) -> bool:
        """Whether jobs run on other machines than this one; known once Snakemake has called `onstart`."""
        return not self._workflow.local_exec

    @property
    def is_on_slurm(self) -> bool:
        """Whether jobs run on SLURM; known once Snakemake has called `onstart`."""
        return self.is_on_cluster and self._workflow.executor_plugin.name == "slurm"

    @property
    def uses_conda(self) -> bool:
        """Whether jobs run in environments of conda."""
        return any(way.name == "CONDA" for way in self._workflow.deployment_settings.deployment_method)

    def results(self) -> Path:
        """Return the folder of all studies' results, below the `prefix` of a module."""
        return Path(self._modifier.path_modifier.replace_prefix("results/study")).parent

    def jobs(self) -> list[Any]:
        """Return the jobs that will run; known once Snakemake has called `onstart`."""
        return list(self._workflow.dag.needrun_jobs())

    def slurm_setting(self, name: str) -> Any:
        """Return what Snakemake was given as ``--slurm-NAME``; known once it has called `onstart`."""
        return getattr(self._workflow.executor_settings, name, None)

    def stop_retries(self) -> None:
        """Have no job tried again."""
        for rule in self._workflow.rules:
            rule.restart_times = 0

    def files(self) -> set[str]:
        """Return what this run made or found up to date."""
        return {str(file) for job in self._workflow.dag.jobs for file in job.output}


# --- Scripts as forks of one process that has loaded the libraries (docs/decisions/0010-scripts-are-forks.md)

#: Environment variable that switches forks off: every script then starts a Python of its own, as Snakemake does it.
OFF = "CINORMS_NO_FORKS"
#: Environment variable with the modules to load, with spaces between, for the process that is forked.
_MODULES = "CINORMS_MODULES"
#: Fewer scripts than this load their libraries in less time than a process that loads those of all.
LEAST_SCRIPTS = 6
#: What scripts import. What a script is given is made of Snakemake's own classes.
LIBRARIES = (
    "jinja2",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "pandas",
    "plotnine",
    "pyarrow.parquet",
    "pydantic",
    "rapidfuzz",
    "scipy.optimize",
    "scipy.stats",
    "snakemake.cli",
    "statsmodels.miscmodels.ordinal_model",
    "yaml",
)
#: Libraries of a script start no threads, as in the jobs of Snakemake with one core.
_ONE_THREAD = dict.fromkeys(
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


class Forks:
    """A process that has loaded ``modules`` (those that there are), and a fork of it for each script.

    It starts when this is made. Each fork is a process of its own, with its own log, that can be killed.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self._context = get_context("forkserver")
        # Starting a process asks after all others, and of two threads that see one end only one learns how it ended.
        self._lock = Lock()
        self._context.set_forkserver_preload([__name__])
        resource_tracker.ensure_running()
        # No library may start a thread: a fork has only the one that forks. Ctrl+C is for Snakemake.
        changed = {
            **_ONE_THREAD,
            "JE_ARROW_MALLOC_CONF": "background_thread:false",
            _MODULES: " ".join(modules),
        }
        before, interrupt = dict(os.environ), signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.environ.update(changed)
        try:
            ensure_running()
        finally:
            signal.signal(signal.SIGINT, interrupt)
            for name in changed:
                os.environ.pop(name)
                os.environ.update({name: before[name]} if name in before else {})

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
    except (Exception, KeyboardInterrupt) as error:
        # The log of a job sets this hook, and a forked process would not call it.
        sys.excepthook(*sys.exc_info())
        sys.exit(130 if isinstance(error, KeyboardInterrupt) else 1)


def fork_scripts(folder: Path, modules: Iterable[str] = LIBRARIES) -> bool:
    """Have Snakemake run the scripts in ``folder`` as forks of a process with ``modules``.

    Tell whether it can. Scripts that Snakemake measures, and those with an environment of their own or several threads,
    start as ever.
    """
    # A fork loads the file of the main program, which must then run nothing.
    main = sys.modules["__main__"]
    name = main.__spec__.name if main.__spec__ else Path(getattr(main, "__file__", None) or "").name
    is_snakemake = name in ("snakemake", "snakemake.__main__")
    if (
        os.environ.get(OFF)
        or sys.platform != "linux"
        or not is_snakemake
        or not hasattr(PythonScript, "execute_script")
    ):
        return False
    try:
        # The kinds of a study's entries are found by searching packages: this process has loaded them.
        forks = Forks([*modules, *(module for module in sys.modules if module.startswith("cinorms."))])
    except (OSError, ValueError):
        # A folder for temporary files whose name is too long for a socket, no room for a process, or another thread.
        return False
    start, folder = PythonScript.execute_script, folder.resolve()

    def execute(script: Any, path: str, edit: bool = False) -> None:
        own = script.conda_env or script.container_img or script.env_modules or script.shadow_dir
        place = Path(script.path.get_path_or_uri(secret_free=True)).resolve()
        if own or script.bench_record or script.threads != 1 or place.parent != folder:
            start(script, path, edit=edit)
            return
        tmpdir = script.resources.get("tmpdir")
        variables = dict.fromkeys(("TMPDIR", "TMP", "TEMPDIR", "TEMP"), tmpdir) if tmpdir else {}
        try:
            forks.run(path, {**os.environ, **_ONE_THREAD, **variables})
        except (OSError, EOFError):
            start(script, path, edit=edit)

    PythonScript.execute_script = execute
    return True


# In the process that is forked. A module that cannot be loaded is left to the script that needs it.
for _name in os.environ.get(_MODULES, "").split():
    try:
        import_module(_name)
    except Exception:
        continue
if _MODULES in os.environ:
    version()  # of the code that was just loaded: no fork asks git again
