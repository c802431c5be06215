"""Files that appear whole or not at all: written under another name in the same folder, then renamed."""

import errno
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a place to write to, which becomes ``path`` if all goes well and is removed if not."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _renamed(path) as part:
        yield part


def write_whole(path: Path, data: bytes) -> None:
    """Write ``data`` so that ``path`` is the old or the new file, whole and on the disk, whatever happens.

    A killed process may leave a file ``.*.tmp``.
    """
    with _renamed(path) as part, part.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that has no fsync for folders
            raise
    finally:
        os.close(folder)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of the file at ``path`` as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _renamed(path: Path) -> Iterator[Path]:
    # Each writer uses its own name: two jobs, even on two machines, may write the same file.
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
