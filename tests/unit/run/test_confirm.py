"""`make confirm` in a terminal: what it shows, what it asks, and what each answer does."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cinorms.prompts.paraphrase.generate import freeze
from cinorms.prompts.prompt_sets import load_prompt_set

from ...studies import PROJECT
from ..prompts.paraphrase.test_generate import GOOD, Scripted, request_for, write_declared
from .test_checks import project


def confirm(folder: Path, answer: str) -> tuple[int, str]:
    """Type ``answer`` in a terminal; the library is the project's own."""
    ours, theirs = pty.openpty()
    code = (
        "import sys; from pathlib import Path; from cinorms.run import confirm; from cinorms.study import load\n"
        "load.ROOT = load.Root(Path.cwd())\n"
        "sys.exit(confirm.main(['--configfile', 's.yaml']))"
    )
    environment = {k: v for k, v in os.environ.items() if k != "CINORMS_YES"}
    job = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(PROJECT / "workflow/lib")},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    printed = job.communicate(timeout=600)[0]
    os.close(ours)
    return job.returncode, printed


@pytest.mark.parametrize(("answer", "confirmed"), [("yes\n", True), ("\n", False)])
def test_only_a_yes_confirms(tmp_path, answer, confirmed):
    entry = {"engine": "vllm", "source": "org/model", "family": "f", "revision": "abc"}
    project(tmp_path, {"a-model": entry})
    declared = write_declared(tmp_path / "resources/prompts")
    frozen = tmp_path / "resources/prompts/frozen/mine.yaml"
    freeze(request_for(declared), Scripted(GOOD), frozen)
    arms = {"main": {"dataset": "iot", "prompts": "mine"}}
    study = {"study": "s", "arms": arms, "analyses": {}, "figures": {}}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(study))

    code, printed = confirm(tmp_path, answer)
    assert code == (0 if confirmed else 1)
    assert str(frozen) in printed
    assert all(f"  {number}  {text}" in printed for number, text in enumerate(GOOD, start=1))
    assert "Ask models with these wordings? [y/N]" in printed
    assert ("Confirmed; commit" in printed) == confirmed
    assert (load_prompt_set(frozen).waits is None) == confirmed
    if confirmed:
        how = yaml.safe_load(frozen.read_text())["provenance"]["confirmed"]["how"]
        assert how == "read"
        assert "no paraphrases wait for you" in confirm(tmp_path, "")[1]
