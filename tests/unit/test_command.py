"""The command `cinorms`: what it starts, as `make` does, and what it answers to mistakes."""

import os
import re
import sys
from pathlib import Path

import pytest
from snakemake.cli import get_argument_parser

from cinorms import __main__ as face

ROOT = Path(__file__).parents[2]
SNAKEFILES = [ROOT / "workflow/Snakefile", *(ROOT / "workflow").glob("**/*.smk")]
RULES = re.findall(r"^\s*rule (\w+):", "".join(map(Path.read_text, SNAKEFILES)), re.MULTILINE)


def started(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str]:
    """Return the program that takes the command's place."""
    found: list[str] = []
    monkeypatch.setattr(os, "execv", lambda _, program: found.extend(program))
    monkeypatch.setenv("PYTHONPATH", "mine")
    assert face.main(arguments) == 0
    assert os.environ["PYTHONPATH"] == f"{ROOT / 'workflow/lib'}:mine"
    return found


@pytest.mark.parametrize("name", face.STAGES)
def test_a_part_of_the_workflow_starts_snakemake_as_make_does(name, monkeypatch):
    study = str(ROOT / "config/demo-small.yaml")
    program = started(monkeypatch, name, "--configfile", study, "--cores", "3", "--dry-run")
    assert program[:3] == [sys.executable, "-m", "snakemake"]
    given = get_argument_parser().parse_args(program[3:])
    assert (list(map(str, given.configfile)), given.cores, given.dryrun) == ([study], 3, True)
    assert Path(given.snakefile) == ROOT / "Snakefile"
    assert {*given.targets} <= {*RULES}
    assert bool(given.targets) is (name != "run")
    assert "--cores" not in started(monkeypatch, name, "--profile", "profiles/slurm")


def test_a_study_that_is_no_yaml_starts_nothing(tmp_path, monkeypatch, capsys):
    (tmp_path / "s.yaml").write_text("models: [a", encoding="utf-8")
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("started"))
    with pytest.raises(SystemExit, match="2"):
        face.main(["run", "--configfile", str(tmp_path / "s.yaml")])
    assert "s.yaml: not valid YAML at line 1" in capsys.readouterr().err


@pytest.mark.parametrize("name", [*face.AROUND, *face.READING])
def test_a_module_is_run_with_its_arguments_and_its_exit_code(name, monkeypatch, capsys):
    module, _ = (face.AROUND | face.READING)[name]
    monkeypatch.setattr(f"{module}.main", lambda arguments: 3 if arguments == ["--x", "1"] else 0)
    assert face.main([name, "--x", "1"]) == 3
    assert face.main([]) == 0
    assert f"  {name} " in capsys.readouterr().out


def test_mistakes_have_a_message_and_code_2(tmp_path, monkeypatch, capsys):
    assert face.main(["staus"]) == 2
    assert "did you mean 'status'" in capsys.readouterr().err
    monkeypatch.setattr(face, "PROJECT", tmp_path)
    for name in (*face.STAGES, *face.AROUND):
        assert face.main([name]) == 2
        assert f"cinorms {name} needs the workflow" in capsys.readouterr().err
