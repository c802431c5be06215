"""The published files of a study: one list of what is missing, and nothing is tried twice."""

import hashlib

import pytest

from cinorms.core.errors import DataError
from cinorms.study.data import main, obtain, sources
from cinorms.vignettes import source_files
from cinorms.vignettes.source_files import SourceFile

CONTENTS = {"a.csv": b"a", "b.csv": b"b", "c.csv": b"c"}


@pytest.fixture
def files() -> list[SourceFile]:
    """Return three files with addresses that nobody answers."""
    return [
        SourceFile(
            url=f"https://nowhere.invalid/{name}",
            sha256=hashlib.sha256(data).hexdigest(),
            mirror=(f"there/{name}",),
        )
        for name, data in CONTENTS.items()
    ]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the addresses that were tried; none of them answers."""
    asked: list[str] = []

    def refuse(file: SourceFile, *_: object) -> None:
        asked.append(file.url)
        raise DataError(f"{file.url}: cannot be fetched (no network); put it somewhere")

    monkeypatch.setattr(source_files, "_download", refuse)
    return asked


def test_all_that_is_missing_is_listed_once_with_its_digest(files, tried, tmp_path):
    mirror = tmp_path / "mirror"
    (mirror / "there").mkdir(parents=True)
    (mirror / "there/b.csv").write_bytes(CONTENTS["b.csv"])
    with pytest.raises(DataError) as caught:
        obtain(files, tmp_path / "cache", str(mirror))
    message = str(caught.value)
    assert message.startswith(
        "2 published files are missing. https://nowhere.invalid/a.csv: cannot be fetched"
    )
    for file in (files[0], files[2]):
        assert f"sha256 {file.sha256}" in message
        assert file.mirror[0] in message
        assert file.url in message
    assert "b.csv" not in message
    assert "put it somewhere" not in message
    assert tried == [files[0].url]


def test_what_is_here_is_not_fetched(files, tried, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    for file, (name, data) in zip(files, CONTENTS.items(), strict=True):
        (cache / f"{str(file.sha256)[:12]}-{name}").write_bytes(data)
    obtain(files, cache, None)
    assert tried == []


def test_a_wrong_file_in_the_mirror_is_named(files, tried, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there/a.csv").write_bytes(b"other")
    with pytest.raises(DataError, match="its SHA-256 is"):
        obtain(files, tmp_path / "cache", str(tmp_path))


def test_the_replication_needs_six_files_and_the_default_study_none(build_study, folder):
    assert sources(build_study()) == []
    arms = {
        "main": {"dataset": "iot", "prompts": "chatgpt", "source": "published", "frame": "pets2026/regular"}
    }
    (one,) = sources(build_study({"arms": arms, "models": ["tulu-2-7b"]}))
    assert "regular_run" in one.url


def test_main_gives_one_message(folder, tried, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("CINORMS_MIRROR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main([str(folder / "config/config.yaml")]) == 0
    assert main([str(folder / "config/replication.yaml")]) == 2
    printed = capsys.readouterr().err
    assert "6 published files are missing" in printed
    assert printed.count("sha256 ") == 6
    assert main([str(tmp_path / "nosuch.yaml")]) == 2
    assert "nosuch.yaml: cannot be read (No such file or directory)" in capsys.readouterr().err
