"""A file is the old or the new one, whole, and nothing else is left in its folder."""

from pathlib import Path

import pytest

from cinorms.core.files import replacing, write_whole


def test_a_file_is_replaced_and_its_folder_made(tmp_path):
    path = tmp_path / "new" / "a.txt"
    for text in ("first", "second"):
        with replacing(path) as part:
            part.write_text(text)
            assert not path.exists() or path.read_text() == "first"
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def stopped(part: Path) -> None:
        part.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), replacing(path) as part:
        stopped(part)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_are_written_whole_and_under_another_name_until_then(tmp_path, monkeypatch):
    path = tmp_path / "a.bin"
    write_whole(path, b"data")
    assert path.read_bytes() == b"data"
    seen = []
    monkeypatch.setattr("os.fsync", lambda _: seen.extend(tmp_path.glob(".*.tmp")))
    write_whole(path, b"more")
    assert len(seen) == 1  # while it is written; renamed when the folder is synchronised
    assert list(tmp_path.iterdir()) == [path]
