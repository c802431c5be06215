"""`make fetch` writes commits next to the registry: nothing that is there changes, and only a commit is taken."""

import json

import pytest

from cinorms.core.errors import ConfigError, DataError
from cinorms.inference.checkpoints import LOCKS, adapter, main, recorded
from cinorms.inference.model_entry import add_revisions, read_revisions
from cinorms.report.method import _revision

A, B = "a" * 40, "b" * 40


def test_commits_are_added_once_and_those_that_are_there_stay(tmp_path, capsys):
    path = tmp_path / "revisions.lock"
    path.write_text("# Why.\n{}\n")
    add_revisions(path, {"owner/m": A})
    assert read_revisions(path) == {"owner/m": A}
    assert path.read_text().startswith("# Why.\n")
    before = path.read_text()
    add_revisions(path, {"owner/m": B})
    assert path.read_text() == before
    assert f"owner/m stays at {A}; {B} was fetched" in capsys.readouterr().out


@pytest.mark.parametrize("commit", ["main", A[1:], f'"{A}\\n"'])
def test_what_is_no_commit_is_refused(tmp_path, commit):
    path = tmp_path / "revisions.lock"
    path.write_text(f"owner/m: {commit}\n")
    with pytest.raises(ConfigError, match="full commit"):
        read_revisions(path)
    assert read_revisions(tmp_path / "none.yaml") == {}


@pytest.mark.parametrize(
    "change",
    [
        {"revision": "main"},
        {"revision": f"{A}\n"},
        {"source": "owner/m: x\nowner/other"},
        {"lora_revision": "newest"},
        {"source": 3},
    ],
)
def test_a_record_that_was_tampered_with_is_refused(tmp_path, change):
    path = tmp_path / "m.json"
    right = {"model": "m", "source": "owner/m", "revision": A, "lora_revision": "sha256:0"}
    path.write_text(json.dumps(right))
    assert recorded(path) == right
    path.write_text(json.dumps(right | change))
    with pytest.raises(DataError, match="does not state which checkpoint was fetched"):
        recorded(path)


def test_a_folder_is_the_one_that_was_fetched_or_is_refused(tmp_path, monkeypatch):
    logged = []
    monkeypatch.setattr("cinorms.inference.checkpoints.start_logging", lambda *given: logged.append(given))
    monkeypatch.setenv("HF_TOKEN", "hf_planted")
    weights, lora, out = tmp_path / "weights", tmp_path / "lora", tmp_path / "s/checkpoints/m.json"
    for file in (weights / "config.json", weights / "model.safetensors", lora / "adapter_config.json"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("{}")
    given = {"model": "m", "source": weights, "lora": lora, "out": out, "log": "log"}
    arguments = [text for name, value in given.items() for text in (f"--{name}", str(value))]
    with pytest.raises(DataError, match="holds no LoRA adapter"):
        main(arguments)
    (lora / "adapter_model.safetensors").write_text("first")
    main(arguments)
    assert logged[0][0] == "log"
    assert "hf_planted" in logged[0][1], "no log may show the hub's token"
    record = recorded(out)
    assert recorded(tmp_path / "s" / LOCKS / "m.json") == record
    assert adapter(str(lora), record["lora_revision"], "m") == lora
    (lora / "adapter_model.safetensors").write_text("other")
    with pytest.raises(DataError, match="its files have changed"):
        adapter(str(lora), record["lora_revision"], "m")


def test_the_report_says_where_another_commit_was_asked():
    assert _revision(A, None) == _revision(A, A) == _revision(None, A) == A
    assert _revision(A, B) == f"{A} (differs from {B}, which config/ states)"
    assert _revision(None, None) == ""
