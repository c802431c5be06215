"""Real Snakemake in a test: on a copy of the project, with what it printed and the exit code that is expected."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "snakemake", "--cores", "2")


def snakemake(
    folder: Path, *arguments: str, code: int = 0, environment: Mapping[str, str] | None = None
) -> str:
    """Run Snakemake in ``folder`` and return what it printed; ``environment`` is this process's unless it is given."""
    return run([*COMMAND, *arguments], folder, code, environment)


def run(
    command: Sequence[str | Path], folder: Path, code: int = 0, environment: Mapping[str, str] | None = None
) -> str:
    """Run a command, which must end with ``code``, and return what it printed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=dict(os.environ if environment is None else environment),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def copy_project(folder: Path, *more: str) -> Path:
    """Copy what a run needs, and ``more`` folders of the project, into ``folder``; return that."""
    for name in ("workflow", "config", "resources", "envs", "profiles", *more):
        # What is compiled comes along, unless another process is just writing it.
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*", "*.tmp"))
    shutil.copy(ROOT / "Snakefile", folder)
    return folder


def write_yaml(path: Path, content: object) -> None:
    """Write a YAML file into a folder, which is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def add_model(folder: Path, **entries: object) -> None:
    """Add models to the registry of a copy of the project."""
    path = folder / "config/models.yaml"
    write_yaml(path, {**yaml.safe_load(path.read_text(encoding="utf-8")), **entries})
