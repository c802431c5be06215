"""Logs from elsewhere: archives that are larger than they state, and keys and people in what they hold."""

import io
import json
import random
import resource
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from cinorms.exchange import inspect_log

SAMPLE = json.dumps({"id": 1, "text": "neutral"})


def archive(path: Path, **files: bytes | str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one message with which a log is refused, before Inspect is imported."""
    out = path.with_name("received.jsonl")
    assert inspect_log.main(["--out", str(out), str(path)]) == 1
    assert not out.exists()
    printed = capsys.readouterr().err
    assert "Traceback" not in printed
    return printed.strip()


def test_an_archive_with_nothing_odd_is_read(tmp_path):
    noise = random.Random(1).randbytes(3 * inspect_log.PIECE)
    files = {
        "header.json": "{}",
        "samples/1.json": SAMPLE,
        "noise": noise,
        "empty": b"",
        "zeros": bytes(5_000_000),
    }
    assert inspect_log.problem_of(archive(tmp_path / "a.eval", **files)) is None
    with zipfile.ZipFile(tmp_path / "b.eval", "w") as stored:
        stored.writestr("header.json", "{}")
    assert inspect_log.problem_of(tmp_path / "b.eval") is None
    (tmp_path / "c.json").write_text("{}")
    assert inspect_log.problem_of(tmp_path / "c.json") is None


def test_a_file_that_is_a_little_longer_than_a_piece_is_counted_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_log, "PIECE", 1000)
    chance = random.Random(1)
    for size in range(801, 1060):  # zlib may hold the end of the repetition back when it has read all bytes
        path = archive(tmp_path / "a.eval", a=chance.randbytes(size) + b"a" * 200)
        assert inspect_log.problem_of(path) is None, size


@pytest.mark.parametrize("stated", [None, 100])
def test_a_bomb_is_refused_whatever_size_it_states(tmp_path, capsys, monkeypatch, stated):
    monkeypatch.setattr(inspect_log, "MOST_BYTES", 5_000_000)
    path = archive(tmp_path / "bomb.eval", **{"samples/1.json": bytes(6_000_000)})
    if stated is not None:  # in the local header and in the directory
        content, true = path.read_bytes(), (6_000_000).to_bytes(4, "little")
        assert content.count(true) == 2
        path.write_bytes(content.replace(true, stated.to_bytes(4, "little")))
    assert "has more than 5,000,000 bytes, unpacked" in refused(path, capsys)


def test_a_size_that_is_stated_too_small_is_refused(tmp_path, capsys):
    path = archive(tmp_path / "small.eval", **{"samples/1.json": bytes(6_000_000)})
    true = (6_000_000).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(true, (7).to_bytes(4, "little")))
    assert "states 7 bytes for 'samples/1.json', which has 6,000,000" in refused(path, capsys)


def test_a_bomb_that_python_alone_cannot_unpack_is_counted_too(tmp_path, capsys, monkeypatch):
    """Inspect reads Zstandard and unpacks all of it, whatever size the archive states."""
    path = archive(tmp_path / "zstd.eval", **{"samples/1.json": bytes(100)})
    packed = path.read_bytes()
    for signature, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = packed.index(signature) + at
        packed = packed[:place] + inspect_log.ZSTD.to_bytes(2, "little") + packed[place + 2 :]
    path.write_bytes(packed)
    unpacking = SimpleNamespace(stream_reader=lambda packed, read_across_frames: io.BytesIO(bytes(101)))
    monkeypatch.setitem(sys.modules, "zstandard", SimpleNamespace(ZstdDecompressor=lambda: unpacking))
    assert "states 100 bytes for 'samples/1.json', which has 101" in refused(path, capsys)
    monkeypatch.setattr(inspect_log, "ZSTD", 94)
    assert "in a format that Inspect does not read" in refused(path, capsys)


def test_inspect_gets_no_more_memory_than_the_log_can_need(tmp_path, capsys, monkeypatch):
    """An archive may have a second directory, which Inspect's reader finds and Python's does not."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    monkeypatch.setattr(inspect_log, "lines_of", lambda log: [len(bytes(inspect_log.OWN_MEMORY + 2**20))])
    assert "cannot read it (MemoryError" in refused(archive(tmp_path / "a.eval", a=b"{}"), capsys)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../b", "..\\b"])
def test_a_file_outside_the_archive_is_refused(tmp_path, capsys, name):
    assert "outside it" in refused(archive(tmp_path / "out.eval", **{name: "x"}), capsys)


def test_a_link_and_half_an_archive_are_refused(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "link.eval", "w") as made:
        link = zipfile.ZipInfo("samples")
        link.external_attr = 0o120777 << 16
        made.writestr(link, "/etc")
    assert "has a link" in refused(tmp_path / "link.eval", capsys)
    content = archive(tmp_path / "whole.eval", **{"header.json": "{}" * 500}).read_bytes()
    (tmp_path / "half.eval").write_bytes(b"x" * 40 + content[40:])
    assert "half.eval: " in refused(tmp_path / "half.eval", capsys)
