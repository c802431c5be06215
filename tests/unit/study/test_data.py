"""The published files of a study: one list of what is missing, and nothing is tried twice."""

import hashlib
from pathlib import Path

import pytest

from cinorms.core.errors import DataError
from cinorms.study.data import main, obtain, sources
from cinorms.vignettes import source_files
from cinorms.vignettes.source_files import SourceFile

from ...studies import arm

CONTENTS = {"a.csv": b"a", "b.csv": b"b", "c.csv": b"c"}
#: Files with addresses that nobody answers.
FILES = [
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


def test_all_that_is_missing_is_listed_once_with_its_digest(tried, tmp_path):
    mirror = tmp_path / "mirror"
    (mirror / "there").mkdir(parents=True)
    (mirror / "there/b.csv").write_bytes(CONTENTS["b.csv"])
    with pytest.raises(DataError) as caught:
        obtain(FILES, tmp_path / "cache", str(mirror))
    first, where, *listed = str(caught.value).splitlines()
    assert first == (
        "2 published files are missing. https://nowhere.invalid/a.csv: cannot be fetched (no network)"
    )
    assert where == f"Put them into the mirror {mirror}:"
    assert listed == [
        line
        for file in (FILES[0], FILES[2])
        for line in (f"  {file.mirror[0]}", f"    sha256 {file.sha256}", f"    from   {file.url}")
    ]
    assert tried == [FILES[0].url]
    (mirror / "there/a.csv").write_bytes(b"other")
    with pytest.raises(DataError, match="its SHA-256 is"):
        obtain(FILES, tmp_path / "cache", str(mirror))


def test_every_missing_file_is_fetched_once(tmp_path, monkeypatch):
    asked = []

    def download(file: SourceFile, part: Path, *_: object) -> None:
        asked.append(file.url)
        part.write_bytes(CONTENTS[file.url[-5:]])

    monkeypatch.setattr(source_files, "_download", download)
    for _ in range(2):
        obtain(FILES, tmp_path, None)
        assert asked == [file.url for file in FILES]


def test_an_arm_of_published_answers_needs_one_file_and_the_default_study_none(build_study):
    assert sources(build_study()) == []
    published = arm(source="published", frame="pets2026/regular", models=["tulu-2-7b"])
    (one,) = sources(build_study(published))
    assert "regular_run" in one.url


def test_main_gives_one_message(folder, tried, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("CINORMS_MIRROR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main([str(folder / "config/config.yaml")]) == 0
    assert main([str(folder / "config/replication.yaml")]) == 2
    printed = capsys.readouterr().err
    assert "6 published files are missing" in printed
    assert "Put them into a folder, and name it with the variable CINORMS_MIRROR:" in printed
    assert printed.count("sha256 ") == 6
    assert main([str(tmp_path / "nosuch.yaml")]) == 2
    assert "nosuch.yaml: cannot be read (No such file or directory)" in capsys.readouterr().err
