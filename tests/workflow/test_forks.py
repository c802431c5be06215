"""Scripts as forks of one process, in a real run: the same files and the same failures, and one look at git."""

import json
import shutil
import subprocess
from pathlib import Path

from cinorms.core import tables

from .conftest import Project

#: Appended to a script: which program its parent process runs.
PARENT = '\n    import os\n    print("parent:", open(f"/proc/{os.getppid()}/cmdline").read().replace("\\0", " "))\n'
SCRIPT = "workflow/scripts/describe_study.py"
LOG = "logs/tiny/describe_study.log"


def append(file: Path, text: str) -> None:
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")


def files_of(project: Project) -> dict[str, bytes]:
    """Return the results, without what says when a job ran."""
    results = project.folder / "results/tiny"
    files = (path for path in results.rglob("*") if path.is_file() and ".progress" not in path.parts)
    return {str(path.relative_to(results)): path.read_bytes() for path in files}


def test_a_run_writes_the_same_bytes_with_forks_and_without(project, finished):
    append(project.folder / SCRIPT, PARENT)
    project.run("--configfile", "tiny.yaml", "--no-hooks")
    assert "forkserver" not in (project.folder / LOG).read_text()
    ours, theirs = files_of(project), files_of(finished)
    assert len(ours) > 30
    assert {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)} == set()


def test_a_failure_is_told_as_ever(project):
    append(project.folder / SCRIPT, PARENT + '    raise RuntimeError("an odd study")\n')
    printed = project.run("--configfile", "tiny.yaml", "--keep-going", ok=False)
    assert "RuntimeError: an odd study" in printed
    log = (project.folder / LOG).read_text()
    (parent,) = (line for line in log.splitlines() if line.startswith("parent:"))
    assert "forkserver" in parent
    assert len(parent) < 2000, "it fills the screen of ps"
    assert log.count("RuntimeError: an odd study") == 1
    assert "Traceback" in log
    assert (project.folder / "results/tiny/report/index.html").is_file()


def test_one_process_of_a_run_asks_git_for_the_version(project, tmp_path, monkeypatch):
    git, asked = shutil.which("git"), tmp_path / "asked"
    assert git

    def call(*arguments: str) -> str:
        return subprocess.check_output([git, "-C", project.folder, *arguments], text=True).strip()

    call("init", "--quiet")
    call("add", "workflow")
    call("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "a")
    shim = tmp_path / "programs" / "git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho "$PPID $*" >>{asked}\nexec {git} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(shim.parent), prepend=":")
    project.run("--configfile", "tiny.yaml")
    processes = {line.split()[0] for line in asked.read_text(encoding="utf-8").splitlines()}
    assert len(processes) == 1
    results = project.folder / "results/tiny"
    stated = [
        json.loads((results / name).read_text())["cinorms"] for name in ("study.json", "provenance.json")
    ]
    stated += [
        tables.metadata(file)["cinorms"] for file in sorted((results / "responses").rglob("*.parquet"))
    ]
    commit = call("rev-parse", "--short=8", "HEAD")
    assert len(stated) == 4
    assert {each.partition("+g")[2] for each in stated} == {f"{commit}.dirty"}, "resources/ is not committed"
