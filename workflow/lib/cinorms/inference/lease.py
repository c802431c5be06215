"""Leases: which questions of a store a process is about to ask, so that no other one asks them at the same time.

    {number}.{id}.lease     a line of JSON (who asks), then a line per key; there while the process asks

A lease is written first, then its process lists the folder. If its name is not the last one there, it takes a higher
number and lists again. So of two processes at least one sees the other, and what the leases before its own list
belongs to them until they are gone. This needs no lock and no clock: a file appears whole under a name that nobody else
uses, and a thread renews the time of its last change, which is compared with that of other leases of the same disk.
"""

import json
import os
import platform
import secrets
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from cinorms.core.errors import StoreError
from cinorms.core.files import replacing
from cinorms.inference.job_state import HEARTBEAT, SILENCE, is_gone

#: Seconds between two looks at whether others have ended.
POLL = 2.0


class Holder(NamedTuple):
    """Who holds an earlier lease, and the keys of the questions that it asks."""

    who: Mapping[str, Any]
    keys: frozenset[bytes]

    def __str__(self) -> str:
        who = self.who
        return f"process {who.get('process')} on {who.get('host')}, which asks for study {who.get('study')}"


class Lease:
    """The lease of this process on some questions of the store in ``folder``; ``who`` names the job to others."""

    def __init__(self, folder: Path, who: Mapping[str, Any], keys: Iterable[bytes]) -> None:
        """Take the lease. What others hold by then is not ours: see ``held``."""
        self._folder, self._id = folder, secrets.token_hex(4)
        self._known: dict[str, Holder] = {}
        self._ended, self._lost = threading.Event(), False
        about = {"host": platform.node(), "process": os.getpid(), **who}
        self._path = self._numbered(max(self._names(), default=""))
        with replacing(self._path) as part:
            part.write_bytes(json.dumps(about).encode() + b"\n" + b"\n".join(keys))
        while (last := max(self._names())) > self._path.name:
            self._path = self._path.rename(self._numbered(last))
        threading.Thread(target=self._follow, daemon=True).start()

    def insist(self) -> None:
        """Raise ``StoreError`` where this process was silent for so long that others may ask its questions."""
        if self._lost:
            raise StoreError(
                f"{self._folder}: this job was silent for more than {SILENCE:.0f} s, so another one asks its "
                "questions. Every reply so far is in the store; run again to ask what is missing"
            )

    def held(self) -> list[Holder]:
        """Return the earlier leases whose processes are alive; remove those of others.

        Questions of a lease that was there at the last call, and is not now, are answered or free.
        """
        self._beat()
        self.insist()
        now, held = _changed(self._path), []
        for name in sorted(self._names()):
            if name >= self._path.name:
                break
            path = self._folder / name
            try:
                holder = self._known.get(name) or self._known.setdefault(name, _read(path))
                is_dead = is_gone(holder.who.get("host"), holder.who.get("process"))
                if is_dead or now - _changed(path) > SILENCE:
                    path.unlink()
                else:
                    held.append(holder)
            except FileNotFoundError:  # it has just ended
                continue
            except OSError as error:
                raise StoreError(
                    f"{path}: cannot be read or removed ({error.strerror}); make it accessible, or delete it if no job "
                    "asks, then run again"
                ) from error
        return held

    def release(self) -> None:
        """End it."""
        self._ended.set()
        with suppress(OSError):
            self._path.unlink()

    def _names(self) -> list[str]:
        return [path.name for path in self._folder.glob("*.lease")]

    def _numbered(self, last: str) -> Path:
        number = last.partition(".")[0]
        return self._folder / f"{int(number) + 1 if number.isdecimal() else 1:08d}.{self._id}.lease"

    def _beat(self) -> None:
        try:
            os.utime(self._path)
        except FileNotFoundError:
            self._lost = True
        except OSError:  # a disk that is away for a moment
            return

    def _follow(self) -> None:
        while not self._ended.wait(HEARTBEAT):
            self._beat()


def _read(path: Path) -> Holder:
    """Return what a lease states; one that nobody can read holds nothing, and is removed when it is silent."""
    head, *keys = path.read_bytes().split(b"\n")
    who: Any = None
    with suppress(ValueError, RecursionError):
        who = json.loads(head)
    return Holder(who if isinstance(who, dict) else {}, frozenset(keys))


def _changed(path: Path) -> float:
    """Return when a lease was renewed. Opening it makes a network disk look."""
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_mtime
