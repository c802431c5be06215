"""Get a data file once: from a mirror folder, from the cache, or over the network, and check its SHA-256."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from cinorms.core.errors import DataError
from cinorms.core.files import replacing

TIMEOUT_SECONDS = 30
CHUNK_BYTES = 1 << 16


def fetch(
    url: str, sha256: str, cache_dir: str | Path, mirror: str | Path | None, mirror_paths: Sequence[str]
) -> Path:
    """Return the path of a file whose SHA-256 is ``sha256``.

    A ``url`` that is a local path is used where it is. Otherwise the first of ``mirror_paths`` that exists in
    the folder ``mirror`` is used, then the copy in ``cache_dir``, and only then is the file downloaded into
    ``cache_dir``, with a progress bar on stderr. The cache holds complete, checked files only.

    Raises ``DataError`` where the file cannot be obtained or fails its checksum.
    """
    if "://" not in url:
        if not Path(url).is_file():
            raise DataError(f"{url}: there is no such file")
        return _checked(Path(url), sha256, "correct the path or the sha256 in the dataset's file")
    copy = local_copy(url, sha256, cache_dir, mirror, mirror_paths)
    if copy is not None:
        return copy
    cached = _cached(url, sha256, cache_dir)
    with replacing(cached) as part:
        _stream(url, part, _how_to_mirror(mirror, mirror_paths))
        if (found := digest(part)) != sha256:
            raise DataError(
                f"{url}: the SHA-256 of the downloaded file is {found}, expected {sha256}; nothing is kept. "
                "If the file changed on purpose, correct the sha256 in the dataset's file"
            )
    return cached


def local_copy(
    url: str, sha256: str, cache_dir: str | Path, mirror: str | Path | None, mirror_paths: Sequence[str]
) -> Path | None:
    """Return the copy of a file that the mirror or the cache has; None where it would have to be downloaded.

    Raises ``DataError`` where the mirror has another file under its name.
    """
    if mirror is not None:
        for candidate in (Path(mirror) / path for path in mirror_paths):
            if os.path.isfile(candidate):  # Path.is_file raises where a path is too long
                return _checked(candidate, sha256, f"replace it in the mirror with the file from {url}")
    cached = _cached(url, sha256, cache_dir)
    return cached if cached.is_file() and digest(cached) == sha256 else None


def _cached(url: str, sha256: str, cache_dir: str | Path) -> Path:
    # The digest in the name: a changed declaration never finds the file of the old one.
    return Path(cache_dir) / f"{sha256[:12]}-{url.rstrip('/').rpartition('/')[2]}"


def digest(path: Path) -> str:
    """Return the SHA-256 of the file at ``path`` as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(path: Path, sha256: str, remedy: str) -> Path:
    found = digest(path)
    if found != sha256:
        raise DataError(f"{path}: its SHA-256 is {found}, expected {sha256}; {remedy}")
    return path


def _how_to_mirror(mirror: str | Path | None, mirror_paths: Sequence[str]) -> str:
    places = " or ".join(mirror_paths) or "(the dataset's file names none: add the key 'mirror' to it)"
    if mirror is not None:
        return f"the mirror {mirror} does not have it either; put it there as {places}"
    return (
        f"on a machine without internet, put the file into a folder as {places} "
        "and set 'mirror:' or the variable CINORMS_MIRROR to that folder"
    )


def _stream(url: str, part: Path, how_to_mirror: str) -> None:
    from tqdm import tqdm

    request = urllib.request.Request(url, headers={"User-Agent": "cinorms"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply, part.open("wb") as file:
            length = reply.headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
            name = url.rstrip("/").rpartition("/")[2]
            with tqdm(total=total, desc=name, unit="B", unit_scale=True, file=sys.stderr) as bar:
                while chunk := reply.read(CHUNK_BYTES):
                    file.write(chunk)
                    bar.update(len(chunk))
            received = file.tell()
    except urllib.error.HTTPError as error:
        raise DataError(f"{url}: the server answers {error.code} {error.reason}; {how_to_mirror}") from None
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"{url}: cannot be fetched ({reason}); {how_to_mirror}") from None
    if total is not None and received != total:
        raise DataError(
            f"{url}: the download ended after {received} of {total} bytes; run again, or {how_to_mirror}"
        )
