"""The command that rebuilds a file names what this run was started with, as somebody would type it."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cinorms.run.given import rebuild_command

FROM_PATH = "snakemake --cores all"


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({}, FROM_PATH),
        ({"given_files": ["project/config/config.yaml"]}, FROM_PATH),
        ({"given_files": ["my study.yaml"]}, f"{FROM_PATH} --configfile 'my study.yaml'"),
        ({"given_config": {"seed": 3}}, f"{FROM_PATH} --config seed=3"),
        ({"snakefile": "own/Snakefile"}, f"{FROM_PATH} --snakefile own/Snakefile"),
        ({"python": ".venv/bin/python"}, f".venv/bin/{FROM_PATH}"),
    ],
)
def test_the_command_has_what_was_given(tmp_path, monkeypatch, given, command):
    monkeypatch.chdir(tmp_path)
    if "python" in given:  # the environment of a project
        monkeypatch.setattr(sys, "executable", str(tmp_path / given["python"]))
    usual = {"given_files": [], "given_config": {}, "snakefile": "workflow/Snakefile"}
    run: Any = SimpleNamespace(**usual | given)
    assert rebuild_command(run, Path("project")) == f"{command} --force --"
