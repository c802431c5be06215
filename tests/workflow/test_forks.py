"""Scripts as forks of one process, in a real run: the same files and the same failures."""

from pathlib import Path

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
