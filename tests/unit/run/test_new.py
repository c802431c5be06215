"""A new study: it can be checked as it is written."""

import re
from pathlib import Path

import pytest

from cinorms.core.root import Root
from cinorms.run.new import main
from cinorms.study.load import load_study, read_layers

from ...studies import PROJECT


@pytest.mark.parametrize(
    ("options", "model", "engine"),
    [
        (["--endpoint", "http://127.0.0.1:8000/v1", "--model", "org/Qwen2.5 0.5B"], "qwen2.5-0.5b", "openai"),
        (["--checkpoint", "org/Model-7B"], "model-7b", "vllm"),
    ],
)
def test_what_is_written_is_a_study(tmp_path, monkeypatch, capsys, options, model, engine):
    monkeypatch.chdir(tmp_path)
    assert main(["hiring", "--context", "an employer's office", *options]) == 0
    root = Root(PROJECT)
    study = load_study(read_layers([Path("hiring/study.yaml")], root), root)
    assert study.name == "hiring"
    assert study.all_models() == [model]
    assert study.registry_entry(model).engine == engine
    factors = study.dataset("hiring").levels
    assert sum(len(levels) > 1 for levels in factors.values()) == 2
    assert list(factors["sender"]) == ["an employer's office"]
    assert "make check CONFIG=hiring/study.yaml" in capsys.readouterr().out
    for file, keys in {"study.yaml": "warm", "models.yaml": "key_variable|limits"}.items():
        path = Path("hiring", file)
        path.write_text(re.sub(rf"# (?=(?:{keys}): )", "", path.read_text()))
    study = load_study(read_layers([Path("hiring/study.yaml")], root), root)
    assert list(study.arms) == ["main", "warm"]
    assert study.registry_entry(model).key_variable == ("MY_KEY" if engine == "openai" else None)
    assert main(["hiring", "--context", "x", *options]) == 2
    assert "hiring exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["My Study"], "'My Study' is not allowed"),
        (["mine"], "--context is missing"),
        (["mine", "--context", "x"], "--endpoint or --checkpoint is missing"),
        (["mine", "--context", "x", "--endpoint", "http://x/v1"], "--model is missing"),
        (["mine", "--endpoint", "http://x/v1", "--checkpoint", "a/b"], "both are stated"),
    ],
)
def test_what_is_missing_is_named_and_nothing_written(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    assert main(arguments) == 2
    assert words in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_in_a_terminal_it_asks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    answers = iter(["a library", "http://127.0.0.1:1/v1", "qwen"])
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    assert main(["mine"]) == 0
    assert "base_url: http://127.0.0.1:1/v1" in Path("mine/models.yaml").read_text()
