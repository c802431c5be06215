"""A copy of the project with one study, run here or on the cluster."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..snakemake_runs import ROOT, add_model, write_yaml
from .cluster import Cluster, end_with_parent

VENV = ROOT / ".venv-vllm"
#: Seconds after which a run that should have come somewhere is given up; a loaded machine is slow.
PATIENCE = 2400.0

#: 2 x 9 x 12 flows in 11 variants.
ARM = {
    "dataset": "iot",
    "prompts": "chatgpt",
    "select": {"sender": ["a fitness tracker"], "recipient": ["its manufacturer", "the local police"]},
    "orders": {"count": 1},
}
N_PROMPTS = 216 * 11


class Project:
    """The copy. ``entries`` are what a test adds to the registry."""

    def __init__(self, folder: Path, cluster: Cluster, entries: Mapping[str, Any], **study: Any) -> None:
        self.folder = folder
        self.environment = {k: v for k, v in cluster.environment.items() if k != "CINORMS_MIRROR"}
        shutil.copytree(cluster.source, folder)
        add_model(folder, **entries)
        self.study = {
            "study": "trial",
            "models": list(entries),
            "arms": {"main": ARM},
            "norms": {"t_val": 3, "grid": {"t_val": [3]}},
            "analyses": {
                "answers": {"kind": "answer_counts", "arms": ["main"]},
                "norms": {"kind": "norm_counts", "arms": ["main"]},
            },
            "figures": {"distribution": {"kind": "distribution", "arms": ["main"]}},
            **study,
        }
        write_yaml(folder / "trial.yaml", self.study)
        self.user = cluster.user
        if self.user != "root":
            self.environment["HOME"] = str(folder)
            subprocess.run(["chown", "-R", self.user, folder], check=True)

    def start(self, *arguments: str, local: bool = False, study: str = "trial.yaml") -> Run:
        """Start Snakemake: on the cluster by the profile as it is shipped, or on this machine."""
        where = ["--cores", "2"]
        if not local:
            # Users can wait longer for news of a job than tests can.
            where = ["--profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "2"]
        words = [sys.executable, "-m", "snakemake", *where, "--configfile", study, *arguments]
        return Run(words, self)

    def run(self, *arguments: str, local: bool = False, study: str = "trial.yaml") -> str:
        """Run Snakemake to its end and return what it printed."""
        return self.start(*arguments, local=local, study=study).end()

    def call(self, module: str, *arguments: str) -> str:
        """Run a module of the library, as ``make`` does, and return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=self.folder,
            env={**self.environment, "PYTHONPATH": str(self.folder / "workflow/lib")},
            user=self.user,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def content(self, *folders: str) -> dict[str, bytes]:
        """Return the files below ``folders`` of the results, without hidden ones and records of when each job ran."""
        results = self.folder / "results" / "trial"
        return {
            str(path.relative_to(results)): path.read_bytes()
            for folder in folders
            for path in sorted((results / folder).rglob("*"))
            if path.is_file()
            and path.suffix != ".json"
            and not any(part.startswith(".") for part in path.relative_to(results).parts)
        }


class Run:
    """A Snakemake that runs; what it prints goes into a file, so that nobody has to read while it does."""

    number = 0

    def __init__(self, words: list[str], project: Project) -> None:
        Run.number += 1
        self.printed = project.folder / f"run-{Run.number}.txt"
        with self.printed.open("wb") as file:
            self.process = subprocess.Popen(
                words,
                cwd=project.folder,
                env=project.environment,
                user=project.user,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                preexec_fn=end_with_parent,
            )

    def wait_for(self, what: str, holds: Callable[[], Any]) -> Any:
        """Wait until ``holds`` says something true and return it; fail where the run ends before."""
        end = time.monotonic() + PATIENCE
        while not (found := holds()):
            assert self.process.poll() is None, f"it ended before {what}:\n{self.printed.read_text()}"
            assert time.monotonic() < end, f"no {what} in {PATIENCE:.0f} s:\n{self.printed.read_text()}"
            time.sleep(0.2)
        return found

    def end(self, code: int = 0) -> str:
        """Wait until the run ends and return what it printed."""
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        printed = self.printed.read_text()
        assert self.process.returncode == code, printed
        return printed
