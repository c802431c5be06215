"""`make lock-models`: commits that were fetched are for every study; nothing that is in the lock changes."""

import json
from pathlib import Path

import pytest

from cinorms.core.errors import ConfigError
from cinorms.inference.model_entry import read_revisions
from cinorms.report.method import _revision
from cinorms.run.lock_models import main

A, B = "a" * 40, "b" * 40


def fetched(folder: Path, study: str, model: str, source: str, revision: str) -> None:
    path = folder / f"results/{study}/.checkpoints/{model}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"model": model, "source": source, "revision": revision}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/revisions.lock").write_text("# Why.\n{}\n")
    fetched(tmp_path, "s", "m", "owner/m", A)
    fetched(tmp_path, "t", "m", "owner/m", A)
    fetched(tmp_path, "s", "own", "/a/folder", "sha256:1")
    return tmp_path


def test_commits_of_the_hub_are_added_once(folder, capsys):
    path = folder / "config/revisions.lock"
    assert main([], folder) == 0
    assert read_revisions(path) == {"owner/m": A}
    assert path.read_text().startswith("# Why.\n")
    before = path.read_text()
    for study in ("s", "t"):
        fetched(folder, study, "m", "owner/m", B)
    assert main([], folder) == 0
    assert path.read_text() == before
    assert f"owner/m stays at {A}; {B} was fetched" in capsys.readouterr().out


def test_two_studies_with_other_commits_are_an_error(folder, capsys):
    fetched(folder, "t", "m", "owner/m", B)
    assert main([], folder) != 0
    assert "owner/m was fetched at" in "".join(capsys.readouterr())
    assert read_revisions(folder / "config/revisions.lock") == {}


def test_what_is_no_commit_is_refused(tmp_path):
    path = tmp_path / "revisions.lock"
    path.write_text("owner/m: main\n")
    with pytest.raises(ConfigError, match="full commit"):
        read_revisions(path)
    assert read_revisions(tmp_path / "none.yaml") == {}


def test_the_report_says_where_another_commit_was_asked():
    assert _revision(A, None) == _revision(A, A) == _revision(None, A) == A
    assert _revision(A, B) == f"{A} (differs from {B}, which config/ states)"
    assert _revision(None, None) == ""
