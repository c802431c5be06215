"""The log of a job: replies that have arrived and are no part of the journal yet, appended to a file one by one.

A part is written when there are many replies, or when the oldest has waited (``engine_kind.Handover``). A job that is
killed before that keeps its log, and the next job makes a part of it. A line is the length of a reply, its checksum
and the reply as JSON; what a kill has torn, the end of the last line, is left out.

The part has the log's moment and mark in its name. A log next to its part has nothing of its own: its job was killed
between the two. As long as a job lives, it holds a lock on its log.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.inference.journal_files import digest_of, own_files, parts_in
from cinorms.inference.questions import KEY_BYTES, Keys

#: Seconds between two times that the disk is waited for: a machine that loses power loses no more.
SYNC = 0.5
_LOG = re.compile(r"\d+\.[^.]+\.log")


class ReplyLog:
    """The log of the job ``mark`` in the journal in ``folder``; its file is there while it has something."""

    def __init__(self, folder: Path, mark: str) -> None:
        self._folder, self._mark = folder / "arriving", mark
        self.path: Path | None = None
        self._handle, self._length, self._synced_at, self._synced = -1, 0, 0.0, 0
        self._is_off = False

    @property
    def name(self) -> str | None:
        """The beginning of the name of the part that these replies become; None where there are none."""
        return self.path.stem if self.path else None

    def add(self, keys: Iterable[bytes], rows: Sequence[Mapping[str, Any]]) -> None:
        """Append replies; where the disk refuses, they wait for their part in memory alone."""
        lines = b"".join(map(_line, keys, rows))
        if self._is_off or (not lines and self.path is None):
            return
        try:
            if self.path is None:
                self._open()
            if lines and os.write(self._handle, lines) < len(lines):
                raise OSError("the disk is full")
            self._length += len(lines)
            now = time.monotonic()
            if self._synced < self._length and now - self._synced_at >= SYNC:
                os.fdatasync(self._handle)
                self._synced, self._synced_at = self._length, now
        except OSError as error:
            self._is_off = True
            print(f"{self._folder}: replies are kept in parts alone: {error}")
            with suppress(OSError):
                os.ftruncate(self._handle, self._length)

    def end(self) -> None:
        """Remove the file: its replies are a part now."""
        if self.path:  # before its lock is free: another job would make a second part of it
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Leave the file as it is; what comes goes into another."""
        if self._handle >= 0:
            os.close(self._handle)
        self.path, self._handle, self._length, self._synced, self._is_off = None, -1, 0, 0, False

    def _open(self) -> None:
        path = self._folder / f"{time.time_ns():020d}.{self._mark}.log"
        # It has its name once it is locked: a log that nobody holds is made a part of, and removed.
        unlocked = path.with_name(f".{path.name}.{self._mark}.tmp")
        self._handle = os.open(unlocked, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        with suppress(OSError):  # a file system without locks
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = unlocked.rename(path)


def logs_in(folder: Path) -> list[Path]:
    """Return the logs of the journal in ``folder`` that are no part yet, oldest first."""
    paths = own_files(folder / "arriving", _LOG)
    parts = {part.name.rsplit(".", 3)[0] for part in parts_in(folder / "parts")} if paths else set()
    return [path for path in paths if path.stem not in parts]


def read_log(path: Path) -> tuple[pd.DataFrame, Keys]:
    """Return the replies in a log as a chunk, and the keys of their prompts."""
    rows: list[dict[str, Any]] = []
    keys = b""
    for key, row in _replies(path):
        keys += key
        rows.append(row)
    return pd.DataFrame(rows, dtype=object), np.frombuffer(keys, dtype=f"V{KEY_BYTES}")


def _line(key: bytes, row: Mapping[str, Any]) -> bytes:
    plain = {name: value for name, value in row.items() if name != "at"}
    content = json.dumps([key.hex(), plain], default=_plain, separators=(",", ":")).encode()
    return b"%d %s %s\n" % (len(content), digest_of(content).encode(), content)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def _replies(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:  # it has become a part
        return
    n_damaged = 0
    for line in lines[:-1]:
        length, _, rest = line.partition(b" ")
        digest, _, content = rest.partition(b" ")
        if length != b"%d" % len(content) or digest != digest_of(content).encode():
            n_damaged += 1
            continue
        key, row = json.loads(content)
        yield bytes.fromhex(key), row
    if n_damaged:
        print(f"Journal: {n_damaged} replies in {path.name} are damaged and are asked again.")
