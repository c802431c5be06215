"""Scripts that run as forks of a process with loaded libraries: as a new Python would run them, and when not."""

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from snakemake.script import PythonScript

from cinorms.run import inside_snakemake
from cinorms.run.inside_snakemake import LIBRARIES, OFF, Forks, fork_scripts


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Return forks of a process that was told to load what it can, what is not there, and what fails."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "broken_module.py").write_text("raise ValueError", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{Path(inside_snakemake.__file__).parents[2]}:{folder}")
        interrupt = signal.getsignal(signal.SIGINT)
        forks = Forks(["broken_module", "json", "no.such.module", "pandas"])
        assert signal.getsignal(signal.SIGINT) == interrupt
        yield forks


def write(folder: Path, text: str, name: str = "script.py") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_script_runs_as_in_a_new_python_of_one_thread_with_the_libraries_loaded(loaded, tmp_path):
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n", encoding="utf-8")
    script = write(
        tmp_path,
        "import os, sys, tempfile\n"
        "before = 'pandas' in sys.modules\n"
        "from beside import NAME\n"
        "found = [__name__, NAME, before, sys.argv == [__file__], os.environ['MARK'], tempfile.gettempdir()]\n"
        "found += [len(os.listdir(f'/proc/{os.getppid()}/task'))]  # of the process that forks\n"
        "print(*found, file=open(os.environ['OUT'], 'w'))\n",
    )
    (tmp_path / "tmp").mkdir()
    out, tmp = tmp_path / "out", str(tmp_path / "tmp")
    loaded.run(script, {"MARK": "here", "OUT": str(out), "TMPDIR": tmp})
    assert out.read_text().split() == ["__main__", "beside", "True", "True", "here", tmp, "1"]
    assert "MARK" not in os.environ


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise ValueError('odd')", 1),
        ("import sys; sys.exit('a message')", 1),
        ("import sys; sys.exit(3)", 3),
        ("raise KeyboardInterrupt", 130),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("def broken(:", 1),
    ],
)
def test_a_script_that_fails_fails_the_job(loaded, tmp_path, text, code):
    with pytest.raises(subprocess.CalledProcessError) as failed:
        loaded.run(write(tmp_path, text), {})
    assert failed.value.returncode == code


def test_many_at_once_each_end_with_their_own_code(loaded, tmp_path):
    scripts = [write(tmp_path, f"import sys; sys.exit({n % 3})", f"{n}.py") for n in range(60)]

    def code_of(script: str) -> int:
        try:
            loaded.run(script, {})
        except subprocess.CalledProcessError as failed:
            return int(failed.returncode)
        return 0

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(code_of, scripts)) == [n % 3 for n in range(60)]


def test_the_libraries_are_those_that_a_study_is_installed_with():
    for name in LIBRARIES:
        assert importlib.util.find_spec(name), name


# --- Which scripts of Snakemake


class Script(SimpleNamespace):
    """What Snakemake knows of a script that it runs."""

    def __init__(self, path: str, **others: Any) -> None:
        facts = {"conda_env": None, "container_img": None, "env_modules": None, "shadow_dir": None}
        here = SimpleNamespace(get_path_or_uri=lambda secret_free: path)
        usual = {"threads": 1, "resources": {}, "bench_record": None}
        super().__init__(path=here, **{**facts, **usual, **others})


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return how each script ran: Snakemake and the forks write down what they are told to run."""
    ways: list[str] = []

    class Noted:
        def __init__(self, modules: Any) -> None:
            assert {"pandas.api.types", "cinorms.run.inside_snakemake"} <= set(modules)

        def run(self, script: str, variables: dict[str, str]) -> None:
            if script == "refused.py":
                raise EOFError
            ways.append(f"fork {script} {variables.get('TMPDIR', '-')}")

    monkeypatch.setattr(inside_snakemake, "Forks", Noted)
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", SimpleNamespace(name="snakemake.__main__"))
    monkeypatch.setattr(
        PythonScript, "execute_script", lambda script, path, edit=False: ways.append(f"new {path}")
    )
    assert fork_scripts(tmp_path, ["pandas.api.types"])
    return ways


def test_scripts_of_the_project_are_forks_and_all_others_start_as_ever(ran, tmp_path):
    own = str(tmp_path / "rules" / ".." / "draw.py")
    scripts = {
        "fork a.py -": Script(own),
        "fork b.py /scratch": Script(own, resources={"tmpdir": "/scratch"}),
        "new c.py": Script(str(tmp_path / "elsewhere" / "draw.py")),
        "new d.py": Script(own, conda_env="env"),
        "new e.py": Script(own, container_img="image"),
        "new f.py": Script(own, threads=4),
        "new g.py": Script(own, bench_record=object()),
        "new refused.py": Script(own),
    }
    for way, script in scripts.items():
        PythonScript.execute_script(script, way.split()[1])
    assert ran == list(scripts)


@pytest.mark.parametrize(
    ("main", "switched_off", "error"),
    [
        # A fork loads the file of the main program: a script without a guard would run its workflow once more.
        ("mine.py", "", AssertionError),
        ("snakemake.__main__", "1", AssertionError),
        ("snakemake.__main__", "", OSError),  # the path of the socket is too long
    ],
)
def test_without_forks_scripts_start_as_ever(main, switched_off, error, monkeypatch):
    monkeypatch.setattr(inside_snakemake, "Forks", Mock(side_effect=error))
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", SimpleNamespace(name=main))
    monkeypatch.setenv(OFF, switched_off)
    before = PythonScript.execute_script
    assert not fork_scripts(Path("scripts"), [])
    assert PythonScript.execute_script is before
