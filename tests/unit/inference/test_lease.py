"""Leases: of the processes that want to ask a question at the same time, one asks it; a dead one holds up nobody."""

import json
import os
import platform
import subprocess
import time
from pathlib import Path

import pytest

from cinorms.core.errors import StoreError
from cinorms.inference import lease as module
from cinorms.inference.lease import Lease

KEYS = [b"%032x" % number for number in range(3)]
WHO = {"study": "s", "model": "m", "shard": "1-of-1"}


def take(folder: Path, *keys: bytes) -> Lease:
    return Lease(folder, WHO, keys or KEYS)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.lease"))


def test_an_earlier_lease_holds_until_it_is_released(tmp_path):
    first = take(tmp_path)
    second, third = take(tmp_path, KEYS[0]), take(tmp_path)
    assert [holder.keys for holder in third.held()] == [frozenset(KEYS), {KEYS[0]}]
    assert str(second.held()[0]) == f"process {os.getpid()} on {platform.node()}, which asks for study s"
    assert first.held() == []
    first.release()
    assert (second.held(), len(third.held())) == ([], 1)
    second.release()
    third.release()
    assert files(tmp_path) == []


@pytest.mark.parametrize("late", ["aaaaaaaa", "cccccccc"])
def test_a_lease_that_is_written_late_comes_after_one_that_holds(tmp_path, monkeypatch, late):
    """A process looks for leases and finds none; before it writes its own, another one takes and begins to ask."""
    names, others = Lease._names, []
    ids = iter([late, "bbbbbbbb"])
    monkeypatch.setattr(module.secrets, "token_hex", lambda n: next(ids, "dddddddd"))

    def slow_names(lease):
        listed = names(lease)
        if not others:
            others.append(None)
            others[0] = take(tmp_path)
            assert others[0].held() == []
        return listed

    monkeypatch.setattr(Lease, "_names", slow_names)
    lease = take(tmp_path)
    assert (len(lease.held()), others[0].held()) == (1, [])
    others[0].release()
    assert lease.held() == []


def forged(folder: Path, age: float = 0, **who: object) -> Path:
    path = folder / "00000001.aaaaaaaa.lease"
    path.write_bytes(b"\n".join([json.dumps({**WHO, **who}).encode(), *KEYS]))
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_a_dead_process_holds_nothing_and_its_lease_goes(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    here, elsewhere = platform.node(), "another-machine"
    for who, age, holds in (
        ({"host": here, "process": ended.pid}, 0, False),
        ({"host": here, "process": os.getpid()}, 0, True),
        ({"host": here, "process": os.getpid()}, module.SILENCE + 5, False),
        ({"host": elsewhere, "process": ended.pid}, 0, True),
        ({"host": elsewhere, "process": 1}, module.SILENCE - 30, True),
        ({"host": elsewhere, "process": 1}, module.SILENCE + 5, False),
        ({"host": None, "process": "x"}, 0, True),
    ):
        path, lease = forged(tmp_path, age, **who), take(tmp_path)
        assert (bool(lease.held()), path.exists()) == (holds, holds), (who, age)
        lease.release()
    for content in (b"", b"null\n" + KEYS[0], b"[" * 100_000, b"\xff\n\xfe"):
        path.write_bytes(content)
        lease = take(tmp_path)
        assert KEYS[1] not in lease.held()[0].keys
        lease.release()


def test_a_lease_that_cannot_be_read_is_one_message(tmp_path):
    (tmp_path / "00000001.aaaaaaaa.lease").mkdir()
    lease = take(tmp_path)
    with pytest.raises(
        StoreError, match=r"aaaaaaaa.lease: cannot be read or removed \(Is a directory\); make it"
    ):
        lease.held()


def test_a_process_renews_its_lease_and_learns_that_it_has_lost_it(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT", 0.01)
    first = take(tmp_path)
    (path,) = files(tmp_path)
    os.utime(path, (0, 0))
    while path.stat().st_mtime == 0:
        time.sleep(0.01)
    first.insist()
    first._ended.set()  # as if it were stopped
    os.utime(path, (0, 0))
    second = take(tmp_path)
    assert second.held() == []
    with pytest.raises(StoreError, match=r"silent for more than 90 s, so another one asks its questions"):
        first.held()
