"""Claims: jobs that share a journal say what they are about to ask, so that no two ask the same at the same time.

A claim is a file with the keys of the prompts that one job is asking, which it holds a lock on. The lock is the
operating system's and ends with the process, however that ends: a claim whose lock is free counts for nothing. Where a
file system has no locks there are no claims, and at worst two jobs ask the same.

Nobody waits in a circle: a job gives up its claim before it waits for another's.
"""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cinorms.inference.prompt_keys import KEY_BYTES, Keys, as_column

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class Claims:
    """The claims in ``folder``; ``own`` names the file of this job."""

    def __init__(self, folder: Path, own: str) -> None:
        self._folder, self._path = folder, folder / f"{own}.keys"

    @contextmanager
    def claim(self, keys: Keys) -> Iterator[npt.NDArray[np.bool_]]:
        """Claim what nobody else has claimed of ``keys``, and yield which that is."""
        with (self._folder / "lock").open("ab") as door:
            try:
                fcntl.lockf(door, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
                yield np.ones(len(keys), dtype=bool)
                return
            free = ~self.taken(keys)
            handle = self._path.open("wb")
            fcntl.lockf(handle, fcntl.LOCK_EX)
            handle.write(keys[free].tobytes())
            handle.flush()
        with handle:
            try:
                yield free
            finally:
                with suppress(OSError):
                    self._path.unlink(missing_ok=True)

    def taken(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return which of ``keys`` a job that is alive has claimed."""
        column, found = as_column(keys), np.zeros(len(keys), dtype=bool)
        for path in self._folder.glob("*.keys"):
            if path != self._path and (claimed := _read_live(path)):
                values = np.frombuffer(claimed, dtype=f"V{KEY_BYTES}")
                is_in: pa.BooleanArray = pc.is_in(column, value_set=as_column(values))
                found |= is_in.to_numpy(zero_copy_only=False)
        return found


def _read_live(path: Path) -> bytes:
    """Return the content of a claim; nothing if its job has ended."""
    try:
        with path.open("r+b") as handle:
            found = b"" if _is_free(handle) else handle.read()
            return found[: len(found) // KEY_BYTES * KEY_BYTES]  # its job may be writing it
    except OSError:
        return b""


def _is_free(handle: IO[bytes]) -> bool:
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True
