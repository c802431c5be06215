"""Files that a dataset or a release names: the user's own, read in place, or one with an address, fetched once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from cinorms.core import fetch
from cinorms.core.errors import ConfigError
from cinorms.core.schema import SHA256, LeftOut, Text, Value


class Origin(Value):
    """Where a dataset, a survey, a prompt set or a release comes from."""

    citation: Text = Field(description="The publication, data set or run to cite.")
    doi: LeftOut[str] = Field(
        None, pattern=r"^10\.\S+/\S+(?!\n)$", description="DOI of that work, without an address before it."
    )
    url: LeftOut[str] = Field(None, pattern=r"^https?://\S+(?!\n)$", description="Address of that work.")
    licence: Text = Field(description='Terms of use; "not stated" where the authors state none.')
    note: LeftOut[str] = Field(None, description="What a reader should know, such as what was corrected.")


class SourceFile(Value):
    """A file to read or fetch.

    A file with an address has a SHA-256; the user's own file, which is read in place, need not have one.
    """

    url: str = Field(
        min_length=1,
        description="Address (http or https), or a path relative to the folder of the file that names it.",
    )
    sha256: LeftOut[str] = Field(
        None,
        pattern=SHA256,
        description="SHA-256 of the file, 64 hexadecimal digits (`sha256sum FILE` prints it). Required with an "
        "address; always checked if given.",
    )
    mirror: str | tuple[str, ...] = Field(
        (), description="Path of the file in the mirror folder, or a list of paths to try."
    )

    @property
    def path(self) -> Path | None:
        """Where the file is, None where it has an address."""
        return None if "://" in self.url else Path(self.url)


def read_source(path: Path, key: str, given: SourceFile) -> SourceFile:
    """Return the file that the YAML file at ``path`` names under ``key``; a local path starts from its folder.

    Raises ``ConfigError`` for another address than http, one without a SHA-256, and a file that is not there.
    """
    url = given.url
    scheme, colon, _ = url.partition("://")
    if not colon:
        url = str(path.parent / url)
        if not os.path.isfile(url):
            raise ConfigError(
                f"{path}: {key}.url: there is no file {given.url!r} in {path.parent}; correct the path "
                "(it starts from the folder of the file that names it)"
            )
    elif scheme.lower() not in ("http", "https"):
        raise ConfigError(
            f"{path}: {key}.url: {url!r} cannot be downloaded; allowed: an http or https address, or a local path"
        )
    elif given.sha256 is None:
        raise ConfigError(
            f"{path}: key '{key}.sha256' is missing; a file with an address needs it (`sha256sum FILE` prints it)"
        )
    mirror = (given.mirror,) if isinstance(given.mirror, str) else given.mirror
    return given.model_copy(update={"url": url, "mirror": mirror})


def own_files(files: Iterable[SourceFile]) -> list[str]:
    """Return the paths of those of ``files`` that are read where they are."""
    return [str(file.path) for file in files if file.path is not None]


def get(file: SourceFile, cache_dir: str | Path, mirror: str | Path | None) -> Path:
    """Return where a file is that can be read, fetched and checked as `fetch` does it.

    Raises ``DataError`` where it cannot be obtained or fails its checksum.
    """
    if file.sha256 is None:  # only a user's own file has none
        return Path(file.url)
    return fetch.fetch(file.url, file.sha256, cache_dir, mirror, file.mirror)


def local_copy(file: SourceFile, cache_dir: str | Path, mirror: str | Path | None) -> Path | None:
    """Return where a file is without fetching it; None where it would have to be fetched."""
    if file.path is not None:
        return file.path
    assert file.sha256 is not None, "a file with an address has one"
    return fetch.local_copy(file.url, file.sha256, cache_dir, mirror, file.mirror)
