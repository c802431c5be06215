"""Files that a dataset or a release names: the user's own, read in place, or one with an address, fetched once.

A file with an address comes from a mirror folder, from the cache, or over the network, and its SHA-256 is checked.
"""

import http.client
import os
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import Field
from tqdm import tqdm

from cinorms.core.errors import ConfigError, DataError
from cinorms.core.files import replacing, sha256_of
from cinorms.core.schema import SHA256, NotRequired, Text, Value

TIMEOUT_SECONDS = 30


class Origin(Value):
    """Where a dataset, a survey, a prompt set or a release comes from."""

    citation: Text = Field(description="The publication, data set or run to cite.")
    doi: NotRequired[str] = Field(None, pattern=r"^10\.\S+/\S+(?!\n)$")
    """DOI of that work, without an address before it."""
    url: NotRequired[str] = Field(None, pattern=r"^https?://\S+(?!\n)$", description="Address of that work.")
    licence: Text = Field(description='Terms of use; "not stated" where the authors state none.')
    note: NotRequired[str] = Field(None, description="What a reader should know, such as what was corrected.")


class Declared(Value):
    """What the file at ``path`` declares."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the file that declares it, without ``.yaml``."""
        return self.path.stem


class SourceFile(Value):
    """A file to read or fetch.

    A file with an address has a SHA-256; the user's own file, which is read in place, need not have one.
    """

    url: str = Field(min_length=1)
    """Address (http or https), or a path relative to the folder of the file that names it."""
    sha256: NotRequired[str] = Field(None, pattern=SHA256)
    """SHA-256 of the file, 64 hexadecimal digits (`sha256sum FILE` prints it). Required with an address; always checked
    if stated."""
    mirror: str | tuple[str, ...] = ()
    """Path of the file in the mirror folder, or a list of paths to try."""

    @property
    def path(self) -> Path | None:
        """Where the file is, None where it has an address."""
        return None if "://" in self.url else Path(self.url)


Source = TypeVar("Source", bound=SourceFile)


def read_source(path: Path, key: str, stated: Source) -> Source:
    """Return the file that the YAML file at ``path`` names under ``key``; a local path starts from its folder.

    Raises ``ConfigError`` for another address than http, one without a SHA-256, and a file that is not there.
    """
    url = stated.url
    scheme, colon, _ = url.partition("://")
    if not colon:
        url = str(path.parent / url)
        if not os.path.isfile(url):
            raise ConfigError(
                f"{path}: {key}.url: there is no file {stated.url!r} in {path.parent}; correct the path "
                "(it starts from the folder of the file that names it)"
            )
    elif scheme.lower() not in ("http", "https"):
        raise ConfigError(
            f"{path}: {key}.url: {url!r} cannot be downloaded; allowed: an http or https address, or a local path"
        )
    elif stated.sha256 is None:
        raise ConfigError(
            f"{path}: key '{key}.sha256' is missing; a file with an address needs it (`sha256sum FILE` prints it)"
        )
    mirror = (stated.mirror,) if isinstance(stated.mirror, str) else stated.mirror
    return stated.model_copy(update={"url": url, "mirror": mirror})


def own_files(files: Iterable[SourceFile]) -> list[str]:
    """Return the paths of those of ``files`` that are read where they are."""
    return [str(file.path) for file in files if file.path is not None]


def get(file: SourceFile, cache_dir: str | Path, mirror: str | Path | None) -> Path:
    """Return where a file is that can be read: its `local_copy`, or else downloaded into ``cache_dir``.

    A download shows a progress bar on stderr. The cache holds complete, checked files only.

    Raises ``DataError`` where the file cannot be obtained or fails its checksum.
    """
    copy = local_copy(file, cache_dir, mirror)
    if copy is None:
        copy = _cached(file, cache_dir)
        with replacing(copy) as part:
            _download(file, part, mirror)
            if (received := sha256_of(part)) != file.sha256:
                raise DataError(
                    f"{file.url}: the SHA-256 of the downloaded file is {received}, expected {file.sha256}; nothing is "
                    "kept. If the file changed on purpose, correct the sha256 in the dataset's file"
                )
    return copy


def local_copy(file: SourceFile, cache_dir: str | Path, mirror: str | Path | None) -> Path | None:
    """Return where a file is without fetching it: in place, in the folder ``mirror``, or in ``cache_dir``.

    None where it would have to be downloaded. Raises ``DataError`` where there is another file under its name.
    """
    if file.path is not None:
        if not file.path.is_file():
            raise DataError(f"{file.url}: there is no such file")
        return _checked(file.path, file, "correct the path or the sha256 in the dataset's file")
    for candidate in (Path(mirror) / path for path in file.mirror) if mirror is not None else ():
        if os.path.isfile(candidate):  # Path.is_file raises where a path is too long
            return _checked(candidate, file, f"replace it in the mirror with the file from {file.url}")
    cached = _cached(file, cache_dir)
    return cached if cached.is_file() and sha256_of(cached) == file.sha256 else None


def _checked(path: Path, file: SourceFile, remedy: str) -> Path:
    # Only a user's own file has no SHA-256.
    if file.sha256 is not None and (digest := sha256_of(path)) != file.sha256:
        raise DataError(f"{path}: its SHA-256 is {digest}, expected {file.sha256}; {remedy}")
    return path


def _cached(file: SourceFile, cache_dir: str | Path) -> Path:
    # The digest in the name: a changed declaration never finds the file of the old one.
    return Path(cache_dir) / f"{str(file.sha256)[:12]}-{file.url.rstrip('/').rpartition('/')[2]}"


def _download(file: SourceFile, part: Path, mirror: str | Path | None) -> None:
    url = file.url
    places = " or ".join(file.mirror) or "(the dataset's file names none: add the key 'mirror' to it)"
    how_to_mirror = (
        f"on a machine without internet, put the file into a folder as {places} "
        "and set the variable CINORMS_MIRROR to that folder"
        if mirror is None
        else f"the mirror {mirror} does not have it either; put it there as {places}"
    )
    request = urllib.request.Request(url, headers={"User-Agent": "cinorms"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply, part.open("wb") as target:
            length = reply.headers.get("Content-Length")
            total = int(length) if length and length.isdigit() else None
            name = url.rstrip("/").rpartition("/")[2]
            with tqdm.wrapattr(reply, "read", total, desc=name, file=sys.stderr) as watched:
                shutil.copyfileobj(watched, target)
            received = target.tell()
    except urllib.error.HTTPError as error:
        raise DataError(f"{url}: the server answers {error.code} {error.reason}; {how_to_mirror}") from None
    except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"{url}: cannot be fetched ({reason}); {how_to_mirror}") from None
    if total is not None and received != total:
        raise DataError(
            f"{url}: the download ended after {received} of {total} bytes; run again, or {how_to_mirror}"
        )
