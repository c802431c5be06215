"""`--containerize` knows the environment of every rule, before anything is planned or made."""

import json
import os
from pathlib import Path
from typing import Any

import yaml

from ..snakemake_runs import snakemake
from .conftest import MAIN, SMALL, Project

#: What Snakemake asks conda for before it looks at a workflow: `conda info --json`, and a setting.
INFO = {"conda_version": "25.1.1", "platform": "linux-64", "conda_prefix": "/opt/conda", "channels": []}


def containerize(project: Project, study: dict[str, Any], folder: Path) -> str:
    """Return the recipe of a container for a study, on a machine whose conda says only what it is."""
    conda = folder / "bin/conda"
    conda.parent.mkdir(exist_ok=True)
    answers = f"""
case "$*" in
  "info --json") echo '{json.dumps(INFO)}';;
  *channel_priority*) echo '{{"get": {{"channel_priority": "strict"}}}}';;
  *) echo "conda 25.1.1";;
esac
"""
    conda.write_text(f"#!/bin/sh{answers}", encoding="utf-8")
    conda.chmod(0o755)
    project.write("study.yaml", study)
    environment = {**os.environ, "PATH": f"{conda.parent}:{os.environ['PATH']}"}
    return snakemake(project.folder, "--containerize", "--configfile", "study.yaml", environment=environment)


def test_every_environment_is_in_the_container(project, tmp_path):
    recipe = containerize(project, SMALL, tmp_path)
    for name in ("core", "openai", "vllm"):
        assert f"COPY envs/{name}.yaml" in recipe
    planted = project.folder / "resources/prompts/planted_paraphrases.yaml"
    declared = yaml.safe_load(planted.read_text(encoding="utf-8"))
    declared |= {"paraphraser": "pegasus", "checkpoint": {"source": "somebody/pegasus", "revision": None}}
    project.write("resources/prompts/mine.yaml", declared)
    arm = {**MAIN, "prompts": "mine"}
    recipe = containerize(project, {**SMALL, "arms": {"main": arm}}, tmp_path)
    assert "COPY envs/paraphrase.yaml" in recipe
