"""Checkpoints without the hub: folders, their digests, the records of fetches and the commits beside the registry."""

import hashlib
import json
import sys
from types import SimpleNamespace

import pytest

from cinorms.core.errors import ConfigError, DataError
from cinorms.inference import checkpoints
from cinorms.inference.checkpoints import LOCKS, find, folder_digest, has_weights, main, recorded
from cinorms.inference.model_entry import add_revisions, read_revisions
from cinorms.report.method import _revision

A, B = "a" * 40, "b" * 40


@pytest.fixture
def folder(tmp_path):
    """Return a checkpoint in one file, and a file that is none of it."""
    path = tmp_path / "weights"
    path.mkdir()
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_bytes(b"0123456789")
    (path / ".hidden.index.json").write_text("")
    return path


def test_hub_names_and_folders_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sources = ["allenai/tulu-2-7b", "gpt2", "results/a/model", "./model", "/data/model"]
    assert [checkpoints.is_folder(source) for source in sources] == [False, False, True, True, True]
    (tmp_path / sources[0]).mkdir(parents=True)
    assert checkpoints.is_folder(sources[0])


def test_a_checkpoint_has_every_file_of_its_weights(folder):
    assert has_weights(folder)
    assert [checkpoints.in_wheels(source) for source in ("wheels:x", "x")] == ["x", None]
    index = folder / "model.safetensors.index.json"
    for content, whole in (
        ({"weight_map": {"a": "model.safetensors"}}, True),
        ({"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}, False),
        ({}, True),
        ([], False),
    ):
        index.write_text(json.dumps(content))
        assert has_weights(folder) == whole
    index.unlink()
    for name, whole in (("model.bin", True), ("model.gguf", False), (".model.bin", False)):
        next(folder.glob("*model*")).rename(folder / name)
        assert has_weights(folder) == whole
    (folder / ".model.bin").rename(folder / "model.bin")
    (folder / "config.json").unlink()
    assert not has_weights(folder)


def test_a_folder_is_known_by_its_files_and_a_large_one_by_its_ends(folder, monkeypatch):
    monkeypatch.setattr(checkpoints, "_END_BYTES", 4)
    counted = (("config.json", 2, b"{}"), ("model.safetensors", 10, b"01236789"))
    lines = [f"{name}\0{size}\0{hashlib.sha256(content).hexdigest()}\n" for name, size, content in counted]
    expected = f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"

    def digest(content: bytes) -> str:
        (folder / "model.safetensors").write_bytes(content)
        return folder_digest(folder)

    assert digest(b"0123456789") == digest(b"0123xx6789") == expected
    assert len({expected, digest(b"012x456789"), digest(b"012345x789"), digest(b"01234567890")}) == 4
    assert digest(b"0123456701") != digest(b"01234567")
    assert digest(b"01234567") != digest(b"0123x567"), "nothing of a small file is left out"


def test_a_folder_that_is_no_checkpoint_or_another_one_is_refused(folder, tmp_path):
    assert find(str(folder), None, "m") == find(str(folder), folder_digest(folder), "m") == folder
    with pytest.raises(
        DataError, match=r"'m': the checkpoint in .*weights is sha256:.*, sha256:0 was fetched; its"
    ):
        find(str(folder), "sha256:0", "m")
    with pytest.raises(DataError, match="'m': there is no folder /nowhere; correct `source`"):
        find("/nowhere", None, "m")
    with pytest.raises(DataError, match=r"'m': the folder .* holds no complete checkpoint; correct `source`"):
        find(str(tmp_path), None, "m")


def test_without_the_hubs_client_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert checkpoints.identify("ours/tiny", A, "mine") == A
    for ask in (find, checkpoints.identify):
        with pytest.raises(
            ConfigError, match="'mine': the package huggingface_hub is not installed here; run"
        ):
            ask("ours/tiny", "main", "mine")


@pytest.mark.parametrize(
    ("files", "old"),
    [(["model.safetensors"], []), (["a.bin", "original/model.safetensors"], ["*.bin"])],
)
def test_a_repository_is_downloaded_where_it_is_not_here_in_the_old_format_if_there_is_no_other(
    folder, tmp_path, monkeypatch, files, old
):
    here, asked = [tmp_path, folder], []

    def download(source, allow_patterns, revision, ignore_patterns, local_files_only=False):
        assert (source, revision, "original/*" in ignore_patterns) == ("ours/tiny", A, True)
        asked.append([*allow_patterns, local_files_only])
        return here.pop(0)

    api = SimpleNamespace(list_repo_files=lambda source, revision: files)
    hub = SimpleNamespace(snapshot_download=download, HfApi=lambda: api)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    assert find("ours/tiny", A, "m") == folder
    assert asked == [[*checkpoints.WANTED, True], [*checkpoints.WANTED, *old, False]]
    here.append(folder)
    assert find("ours/tiny", A, "m") == folder
    assert len(asked) == 3, "what is here is not looked up"


def test_what_the_hub_keeps_is_found_without_asking_it(folder, tmp_path):
    cache = tmp_path / "home/hub/models--ours--tiny"
    (cache / "refs").mkdir(parents=True)
    (cache / "snapshots").mkdir()
    folder.rename(cache / "snapshots" / A)
    environment = {"HF_HOME": str(tmp_path / "home")}
    assert checkpoints.cached("ours/tiny", None, environment) is None
    (cache / "refs/main").write_text(f"{A}\n")
    for revision in (None, "main", A):
        assert checkpoints.cached("ours/tiny", revision, environment) == cache / "snapshots" / A
    assert checkpoints.cached("ours/tiny", B, environment) is None
    assert checkpoints.cached("ours/tiny", A, {"HF_HUB_CACHE": str(cache.parent)}) is not None


def test_every_token_of_the_hub_is_known(tmp_path, monkeypatch):
    (tmp_path / "token").write_text("hf_saved\n")
    for name, value in {
        "HF_HOME": str(tmp_path),
        "HF_TOKEN": "hf_a",
        "HUGGING_FACE_HUB_TOKEN": "hf_b",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HF_TOKEN_PATH", raising=False)
    assert checkpoints.tokens() == ["hf_a", "hf_b", "hf_saved"]
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("A_KEY", "sk-a")
    assert checkpoints.secrets_in(["A_KEY", "B_KEY"]) == ["sk-a", "hf_a", "hf_b"]


# --- Records


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
    assert checkpoints.fetched_revisions(path) == {"revision": A, "lora_revision": "sha256:0"}
    assert [checkpoints.locked(path, source) for source in ("owner/m", "owner/x", "./m")] == [A, None, None]
    path.write_text(json.dumps(right | change))
    with pytest.raises(DataError, match="does not state which checkpoint was fetched"):
        recorded(path)


def test_a_folder_is_the_one_that_was_fetched_or_is_refused(tmp_path, folder, monkeypatch):
    logged = []
    monkeypatch.setattr(checkpoints, "start_logging", lambda *given: logged.append(given))
    monkeypatch.setenv("HF_TOKEN", "hf_planted")
    lora, out = tmp_path / "lora", tmp_path / "s/checkpoints/m.json"
    lora.mkdir()
    (lora / "adapter_config.json").write_text("{}")
    given = {"model": "m", "source": folder, "lora": lora, "out": out, "log": "log"}
    arguments = [text for name, value in given.items() for text in (f"--{name}", str(value))]
    with pytest.raises(
        DataError, match=r"holds no LoRA adapter \(adapter_config\.json and .*; correct `lora`"
    ):
        main(arguments)
    (lora / "adapter_model.safetensors").write_text("first")
    main(arguments)
    assert logged[0][0] == "log"
    assert "hf_planted" in logged[0][1], "no log may show the hub's token"
    record = recorded(out)
    assert record == recorded(tmp_path / "s" / LOCKS / "m.json")
    assert record["revision"] == folder_digest(folder)
    assert checkpoints.adapter(str(lora), record["lora_revision"], "m") == lora
    (lora / "adapter_model.safetensors").write_text("other")
    with pytest.raises(DataError, match=r"the adapter in .* its files have changed"):
        checkpoints.adapter(str(lora), record["lora_revision"], "m")


def test_a_study_stays_with_the_commit_it_found_unless_it_states_another(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(checkpoints, "start_logging", lambda *given: None)
    monkeypatch.setattr(checkpoints, "find", lambda source, revision, model: folder)
    out, lock = tmp_path / "s/checkpoints/m.json", tmp_path / "s" / LOCKS / "m.json"
    arguments = ["--model=m", "--source=owner/m", f"--out={out}", "--log=log"]
    for stated, kept in (([f"--revision={A}"], A), ([], A), ([f"--revision={B}"], B)):
        main([*arguments, *stated])
        assert recorded(out) == recorded(lock) == {"model": "m", "source": "owner/m", "revision": kept}
        out.unlink()


def test_commits_are_added_once_and_those_that_are_there_stay(tmp_path, capsys):
    path = tmp_path / "revisions.lock"
    assert read_revisions(path) == {}
    path.write_text("# Why.\n{}\n")
    add_revisions(path, {"owner/m": A})
    assert read_revisions(path) == {"owner/m": A}
    assert path.read_text().startswith("# Why.\n")
    assert f"{path}: owner/m added; commit the file" in capsys.readouterr().out
    before = path.read_text()
    add_revisions(path, {"owner/m": B})
    assert path.read_text() == before
    assert capsys.readouterr().out == f"{path}: owner/m stays at {A}; {B} was fetched\n"


@pytest.mark.parametrize("commit", ["main", A[1:], f'"{A}\\n"'])
def test_what_is_no_commit_is_refused(tmp_path, commit):
    path = tmp_path / "revisions.lock"
    path.write_text(f"owner/m: {commit}\n")
    with pytest.raises(ConfigError, match="full commit"):
        read_revisions(path)


def test_the_report_says_where_another_commit_was_asked():
    assert _revision(A, None) == _revision(A, A) == _revision(None, A) == A
    assert _revision(A, B) == f"{A} (differs from {B}, which config/ states)"
    assert _revision(None, None) == ""
