"""Real Snakemake in a test: on a copy of the project, with what it printed and the exit code that is expected."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

import yaml

ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "snakemake", "--cores", "2")


#: Loads Snakemake, which takes half of a dry run, and runs `python -m snakemake` in a fork for each line that it reads.
FORKING = """
import gc, json, os, runpy, sys
import snakemake.cli
gc.freeze()
for line in sys.stdin:
    arguments, folder, environment, printed = json.loads(line)
    if (child := os.fork()) == 0:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        for number, file in enumerate((os.devnull, printed, printed)):
            os.dup2(os.open(file, os.O_RDWR | os.O_APPEND), number)
        sys.argv, sys.path[0] = ["snakemake", *arguments], folder
        runpy.run_module("snakemake", run_name="__main__", alter_sys=True)
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def of_python(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Python reads when it starts, so that a fork does not notice them."""
    return {name: value for name, value in variables.items() if name.startswith("PYTHON")}


@cache
def forking() -> "tuple[subprocess.Popen[str], dict[str, str]]":
    """Return the process that forks, which ends with this one, and the variables of Python that it started with."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", FORKING], stdin=pipe, stdout=pipe, text=True)
    return process, of_python(os.environ)


def snakemake(
    folder: Path, *arguments: str, code: int = 0, environment: Mapping[str, str] | None = None
) -> str:
    """Run Snakemake in ``folder`` and return what it printed; ``environment`` is this process's unless it is given."""
    known = dict(os.environ if environment is None else environment)
    process, started_with = forking()
    if of_python(known) != started_with:  # it may also be another Snakemake
        return run([*COMMAND, *arguments], folder, code, known)
    assert process.stdin
    assert process.stdout
    with NamedTemporaryFile(mode="r", encoding="utf-8") as printed:
        request = [[*COMMAND[3:], *arguments], str(folder), known, printed.name]
        try:
            print(json.dumps(request), file=process.stdin, flush=True)
            answer = process.stdout.readline()
        except BaseException:  # its answer would be taken for that to the next call
            process.kill()
            forking.cache_clear()
            raise
        assert answer, f"the process that forks Snakemake ended with {process.wait()}"
        ended, text = int(answer), printed.read()
    assert ended == code, text
    return text


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
