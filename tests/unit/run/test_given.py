"""The command that rebuilds a file names what this run was started with, as somebody would type it."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cinorms.run.given import rebuild_command


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({}, "snakemake --cores all --force --"),
        ({"given_files": ["project/config/config.yaml"]}, "snakemake --cores all --force --"),
        ({"given_files": ["my study.yaml"]}, "snakemake --cores all --configfile 'my study.yaml' --force --"),
        ({"given_config": {"seed": 3}}, "snakemake --cores all --config seed=3 --force --"),
        ({"snakefile": "own/Snakefile"}, "snakemake --cores all --snakefile own/Snakefile --force --"),
    ],
)
def test_the_command_has_what_was_given(tmp_path, monkeypatch, given, command):
    monkeypatch.chdir(tmp_path)
    run: Any = SimpleNamespace(
        **{"given_files": [], "given_config": {}, "snakefile": "workflow/Snakefile"} | given
    )
    assert rebuild_command(run, Path("project")) == command


def test_a_snakemake_of_the_project_is_called_by_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    run: Any = SimpleNamespace(given_files=[], given_config={}, snakefile=tmp_path / "Snakefile")
    assert rebuild_command(run, tmp_path).startswith(".venv/bin/snakemake --cores all")
