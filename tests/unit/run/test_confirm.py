"""`make confirm` in a terminal: what it shows, what it asks, and what each answer does."""

import os
import pty

import pytest
import yaml

from cinorms.prompts.paraphrase.generate import freeze
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.run import confirm
from cinorms.run.check import look_at_paraphrases
from cinorms.study import load

from ..prompts.paraphrase.test_generate import GOOD, Scripted, request_for, write_declared
from .test_checks import planned, project, study_of, told


@pytest.fixture
def confirmed(tmp_path, monkeypatch, capsys):
    """Return a function that types an answer in a terminal, in this project; it returns the exit code and the text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CINORMS_YES", raising=False)
    monkeypatch.setattr(load, "ROOT", load.Root(tmp_path))
    monkeypatch.setattr("cinorms.study.study._prompt_set", load_prompt_set)  # the file changes

    def answer(typed: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        os.write(ours, typed.encode())
        with os.fdopen(theirs) as terminal, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", terminal)
            code = confirm.main(["--configfile", "s.yaml"])
        os.close(ours)
        return code, capsys.readouterr().out

    return answer


def test_only_a_yes_confirms(tmp_path, confirmed, monkeypatch):
    entry = {"engine": "vllm", "source": "org/model", "family": "f", "revision": "abc"}
    root = project(tmp_path, {"a-model": entry})
    declared = write_declared(tmp_path / "resources/prompts")
    frozen = tmp_path / "resources/prompts/frozen/mine.yaml"
    arms = {"main": {"dataset": "iot", "prompts": "mine"}}
    study = {"study": "s", "models": ["planted-gpt-4o-mini"], "arms": arms, "analyses": {}, "figures": {}}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(study))
    assert confirmed("")[1].startswith("mine: there are no paraphrases yet; ")
    freeze(request_for(declared), Scripted(GOOD), frozen)

    def check() -> list[tuple[str, str]]:
        return told(look_at_paraphrases(planned(study_of(root, ["planted-gpt-4o-mini"], prompts="mine"))))

    ((severity, notice),) = check()
    assert severity == "error"
    assert str(frozen) in notice
    with monkeypatch.context() as patch:
        patch.setenv("CINORMS_YES", "1")
        assert check() == []
    for answer, agrees in (("\n", False), ("yes\n", True)):
        code, printed = confirmed(answer)
        assert code == (0 if agrees else 1)
        assert str(frozen) in printed
        assert all(f"  {number}  {text}" in printed for number, text in enumerate(GOOD, start=1))
        assert "Ask models with these wordings? [y/N]" in printed
        assert ("Confirmed; commit" in printed) == agrees
        assert (load_prompt_set(frozen).waits is None) == agrees
    assert yaml.safe_load(frozen.read_text())["provenance"]["confirmed"]["how"] == "read"
    assert check() == []
    assert confirmed("") == (0, "Study s: no paraphrases wait for you.\n")
    frozen.unlink()
    freeze(request_for(declared), Scripted(GOOD), frozen)
    monkeypatch.setenv("CINORMS_YES", "1")
    assert confirmed("")[0] == 0
    assert yaml.safe_load(frozen.read_text())["provenance"]["confirmed"]["how"] == "unread"
