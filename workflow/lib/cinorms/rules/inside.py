"""Everything that this project asks of Snakemake beyond what Snakemake documents, in one place.

Another version may rename any of it: `tests/workflow/test_inside.py` has a test for what each part is for.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cinorms.run.forks import ONE_THREAD, Forks


class Inside:
    """What a run knows of itself: ``workflow``, as rule files see it."""

    def __init__(self, workflow: Any) -> None:
        self._workflow = workflow
        # That of the workflow whose rule file this is; when jobs run it is the main one's.
        self._modifier = workflow.modifier

    # --- How the study is given

    @property
    def is_module(self) -> bool:
        """Whether another workflow uses this one as a module."""
        return not self._modifier.is_main_snakefile()

    @property
    def module(self) -> str:
        """The name under which another workflow uses this one."""
        return str(self._modifier.namespace)

    def placed(self, path: str) -> str:
        """Return ``path`` below a module's `prefix`, for a parameter: Snakemake itself moves files only."""
        return str(self._modifier.path_modifier.replace_prefix(path))

    @property
    def given_config(self) -> dict[str, Any]:
        """What `--config` states."""
        return dict(self._workflow.config_settings.config)

    @property
    def given_files(self) -> list[Path]:
        """The files of `--configfile`."""
        return list(self._workflow.config_settings.configfiles)

    @property
    def config_files(self) -> list[str]:
        """The files of `configfile:` in a Snakefile that includes this one, then those of `--configfile`."""
        if self._workflow.config_settings.replace_workflow_config:
            return list(map(str, self.given_files))
        own = self._workflow.configfiles[len(self.given_files) :]
        return list(map(str, [*own, *self.given_files]))

    @property
    def all_config_files(self) -> list[str]:
        """Every file that the configuration of a module may be from."""
        return list(map(str, self._workflow.configfiles))

    @property
    def snakefile(self) -> str:
        """The file that was started."""
        return str(self._workflow.main_snakefile)

    # --- Where jobs run

    @property
    def is_on_cluster(self) -> bool:
        """Whether jobs run on other machines than this one."""
        return not self._workflow.local_exec

    @property
    def is_on_slurm(self) -> bool:
        """Whether jobs run on SLURM."""
        return self.is_on_cluster and self._workflow.executor_plugin.name == "slurm"

    @property
    def uses_conda(self) -> bool:
        """Whether jobs run in environments of conda."""
        ways = self._workflow.deployment_settings.deployment_method
        return any(way.name == "CONDA" for way in ways)

    # --- Which jobs run

    @property
    def jobs(self) -> list[Any]:
        """The jobs of this run."""
        return list(self._workflow.dag.needrun_jobs())

    @property
    def files(self) -> set[str]:
        """What this run made or found up to date."""
        return {str(file) for job in self._workflow.dag.jobs for file in job.output}


def fork_scripts(scripts: Any, folder: Path, modules: Iterable[str]) -> bool:
    """Have ``scripts``, the class that runs them, run those in ``folder`` as forks of a process with ``modules``.

    Tell whether it can. Scripts that Snakemake measures, and those with an environment of their own or several threads,
    start as ever. ``modules`` may name some that are not installed.
    """
    if sys.platform != "linux" or not hasattr(scripts, "execute_script"):
        return False
    # The kinds of a study's entries are found by searching packages, so no script names their modules.
    kinds = {name for name in sys.modules if name.startswith("cinorms.")}
    try:
        forks = Forks(kinds | set(modules))
    except OSError:
        # A folder for temporary files whose name is too long for a socket, or a machine without room for a process.
        return False
    start, folder = scripts.execute_script, folder.resolve()

    def execute(script: Any, path: str, edit: bool = False) -> None:
        own = script.conda_env or script.container_img or script.env_modules or script.shadow_dir
        place = Path(script.path.get_path_or_uri(secret_free=True)).resolve()
        if own or script.bench_record or script.threads != 1 or place.parent != folder:
            start(script, path, edit=edit)
            return
        variables = {**os.environ, **ONE_THREAD}
        if tmpdir := script.resources.get("tmpdir"):
            variables |= dict.fromkeys(("TMPDIR", "TMP", "TEMPDIR", "TEMP"), tmpdir)
        try:
            forks.run(path, variables)
        except (OSError, EOFError):
            start(script, path, edit=edit)

    scripts.execute_script = execute
    return True


def is_main_program() -> bool:
    """Tell whether Snakemake is what runs. A fork loads the file of the main program, which must then run nothing."""
    main = sys.modules["__main__"]
    if main.__spec__:
        return main.__spec__.name in ("snakemake.__main__", "cinorms_snakemake")
    return Path(getattr(main, "__file__", None) or "").name == "snakemake"
