"""The Makefile: what targets hand to Snakemake, set-ups that were killed or that meet, what `make clean` keeps."""

import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from snakemake.cli import get_argument_parser

import cinorms
from cinorms.study import load

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = dict(re.findall(r"^([a-z-]+):.*## (.*)", MAKEFILE, flags=re.MULTILINE))
SNAKEFILES = [ROOT / "workflow/Snakefile", *(ROOT / "workflow/rules").glob("*.smk")]
RULES = re.findall(r"^\s*rule (\w+):", "".join(map(Path.read_text, SNAKEFILES)), flags=re.MULTILINE)
#: What make looks for to see whether an environment is ready.
READY = [".venv/run.done", ".venv/dev.done", *sorted(set(re.findall(r"\.venv-[a-z-]+/done", MAKEFILE)))]
KEPT = (
    "results/s/responses/main/m.parquet",
    "results/s/asked/m/1-of-1.json",
    "results/.replies/m.key/1.jsonl",
    "results/.replies/m.key/settings.json",
    "results/s/.checkpoints/m.json",
)
REMOVED = ("results/s/norms.csv", "results/s/tables/t.csv", "results/s/report/index.html", "logs/s/a.log")

#: Python, venv and pip in one. Each step of a set-up is noted in $NOTES, and a set-up is killed in step $KILL_AT.
PRETENDED = """\
#!/bin/sh
packages="${0%/bin/python}/packages"
begin() {
  echo "$*" >>"$NOTES"
  if [ "$(wc -l <"$NOTES")" -eq "${KILL_AT:-0}" ]; then kill -"${KILL_WITH:-9}" $PPID; exit 1; fi
}
case "$*" in
  --version) echo Python 3.11.2 ;;
  -c*) ;;
  "-m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; begin venv; echo pip >"$3/packages" ;;
  *" --version") grep -qs pip "$packages" ;;
  *" install "*)
    grep -qs pip "$packages" || { echo "No module named pip"; exit 1; }
    echo "half of $*" >>"$packages"; begin install
    while [ -n "$GO" ] && [ ! -e "$GO" ]; do sleep 0.05; done
    sed -i "s/^half/all/" "$packages" ;;
esac
"""


def make(*arguments: str, cwd: Path = ROOT, **variables: str) -> subprocess.Popen[str]:
    """Start make as from a terminal, whatever make these tests run in."""
    named = os.environ.items()
    environment = {name: value for name, value in named if not name.startswith(("MAKE", "MFLAGS"))}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(
        ["make", *arguments],
        cwd=cwd,
        env=environment | variables,
        # What a shell starts in the background ignores SIGINT, and so do the tests then and all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **streams,
    )


def made(*arguments: str, cwd: Path = ROOT, **variables: str) -> tuple[int, str]:
    """Return how make ended, and what it printed."""
    process = make(*arguments, cwd=cwd, **variables)
    said, _ = process.communicate()
    return process.returncode, said


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_hands_over_the_study_and_nothing_after_it(target):
    code, said = made("-n", target, "CONFIG=my.yaml", "ARGS=--dry-run")
    assert code == 0
    called = r"(?:-m |\.venv/bin/)(snakemake|cinorms\.run\.\w+) ([^;&|]*--configfile[^;&|]*)"
    found = re.findall(called, said.replace("\\\n", ""))
    assert bool(found) >= ("my.yaml" in said or "CONFIG" in TARGETS[target])
    for program, line in found:
        parser = get_argument_parser() if program == "snakemake" else load.parser("", "")
        given, _ = parser.parse_known_args(shlex.split(line))
        assert len(given.configfile) == 1, line
        assert {*getattr(given, "targets", [])} <= {*RULES, "export_prompts_plain"}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the Makefile, locked files, and a Python that installs nothing."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    python = tmp_path / "python"
    python.write_text(PRETENDED, encoding="utf-8")
    python.chmod(0o755)
    for name, value in {"NOTES": tmp_path / "notes", "PYTHON": python}.items():
        monkeypatch.setenv(name, str(value))
    return tmp_path


def is_whole(clone: Path, ready: str) -> bool:
    """Return whether an environment is marked as ready, and everything in it is installed."""
    folder = (clone / ready).parent
    has = {path.name for path in folder.iterdir()}
    known = {"bin", "packages", "done", "run.done", Path(ready).name}
    return Path(ready).name in has <= known and "half" not in (folder / "packages").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("ready", READY)
def test_a_set_up_killed_at_any_moment_is_begun_again(clone, ready):
    for moment in range(1, 9):
        shutil.rmtree(clone / Path(ready).parent, ignore_errors=True)
        (clone / "notes").unlink(missing_ok=True)
        code, _ = made(ready, cwd=clone, KILL_AT=str(moment))
        if code == 0:
            break
        assert not (clone / ready).exists()
        code, said = made(ready, cwd=clone)
        assert code == 0, said
        assert is_whole(clone, ready)
        assert made("-q", ready, cwd=clone)[0] == 0
    assert moment > 3  # venv, uv, and what is installed


@pytest.mark.parametrize(("number", "shell"), [("9", "sh"), ("2", "bash")])
def test_an_update_killed_half_way_leaves_no_environment_that_counts_as_ready(clone, number, shell):
    assert made(".venv/run.done", cwd=clone)[0] == 0
    assert made(".venv/dev.done", f"SHELL={shell}", cwd=clone, KILL_AT="5", KILL_WITH=number)[0] != 0
    code, said = made(".venv/run.done", cwd=clone)
    assert (code, "Making .venv" in said) == (0, True)
    assert is_whole(clone, ".venv/run.done")


def test_a_changed_lock_is_installed_and_a_set_up_that_has_just_ended_is_no_mistake(clone):
    assert made(".venv/run.done", cwd=clone)[0] == 0
    os.utime(clone / ".venv/run.done", (1, 1))
    assert "Installing" in made(".venv/run.done", cwd=clone)[1]
    # What was unfinished when make began is gone when it looks again.
    assert made(".venv/run.done", "UNFINISHED=.venv/unfinished", cwd=clone) == (0, "")


def test_the_environment_has_cinorms_itself_and_its_command(tmp_path):
    code = "import cinorms; print(cinorms.__file__)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    streams = {"cwd": tmp_path, "env": environment, "text": True, "stdout": subprocess.PIPE}
    done = subprocess.run([sys.executable, "-c", code], **streams)
    assert done.stdout.strip() == str(ROOT / "workflow/lib/cinorms/__init__.py")
    (tmp_path / "command").symlink_to(Path(sys.executable).with_name("cinorms"))
    done = subprocess.run([tmp_path / "command", "--version"], **streams)
    assert done.stdout == f"cinorms {cinorms.__version__}\n"


@pytest.mark.parametrize("linked", [False, True], ids=["one clone", "two clones that share .venv by a link"])
def test_one_of_two_set_ups_waits_for_the_other(clone, linked, tmp_path_factory):
    places = [clone, clone]
    if linked:
        places[1] = tmp_path_factory.mktemp("other")
        shutil.copytree(clone, places[1], dirs_exist_ok=True)
        (clone / ".venv").mkdir()
        (places[1] / ".venv").symlink_to(clone / ".venv")
    both = [make(".venv/run.done", cwd=place, GO=str(clone / "go")) for place in places]
    unread, lines = [process.stdout.fileno() for process in both], ""
    while "Waiting for another set-up" not in lines:
        ready, _, _ = select.select(unread, [], [], 300)
        assert ready, lines
        lines += "".join(os.read(number, 4096).decode() for number in ready)
        unread = [number for number in unread if number not in ready]
    (clone / "go").touch()
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert (clone / "notes").read_text().split() == ["venv", "install", "install"]
    assert is_whole(clone, ".venv/run.done")


def test_responses_and_the_store_stay(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in (*KEPT, *REMOVED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    assert made("clean", cwd=tmp_path)[0] == 0
    assert [name for name in KEPT if not (tmp_path / name).exists()] == []
    assert [name for name in REMOVED if (tmp_path / name).exists()] == []
    asking = (ROOT / "docs/method/inference/asking.md").read_text(encoding="utf-8")
    assert "`make clean` keeps responses, the store" in asking
