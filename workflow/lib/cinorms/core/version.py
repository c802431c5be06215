"""Which code this is, and the software that a result was made with."""

import hashlib
import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

#: The release, or the one that this code is on its way to. pyproject.toml takes the version of the package from here.
RELEASE = "1.0.0.dev0"

LIBRARY = Path(__file__).parents[1]
#: The library, and those beside it.
LIBRARIES = (LIBRARY.name, "cumulink", "optionreader", "rewordings")
#: The repository, where this is a clone.
PROJECT = LIBRARY.parents[2]
#: What of the repository can change a result.
CODE = ("workflow", "resources", "envs", "requirements")

#: Packages that the numbers of a study come from.
PACKAGES = ("numpy", "pandas", "pyarrow", "scipy", "statsmodels", "matplotlib", "plotnine")


@cache
def version() -> str:
    """Return the release with what names this code: `+g` and the commit, `.dirty` where the code was edited since.

    Without git it is a digest of the library's files. The tagged commit of a release is the release alone.
    """
    if (PROJECT / ".git").exists():
        # Fails without git, and in a repository of another user.
        with suppress(OSError, subprocess.CalledProcessError):
            dirty = _git("status", "--porcelain", "--", *CODE) != ""
            if not dirty and f"v{RELEASE}" in _git("tag", "--points-at", "HEAD").splitlines():
                return RELEASE
            return f"{RELEASE}+g{_git('rev-parse', '--short=8', 'HEAD')}{'.dirty' if dirty else ''}"
    digest = hashlib.sha256()
    for path in sorted(path for name in LIBRARIES for path in LIBRARY.with_name(name).rglob("*.py")):
        digest.update(f"{path.relative_to(LIBRARY.parent).as_posix()}\0".encode() + path.read_bytes())
    return f"{RELEASE}+files.{digest.hexdigest()[:8]}"


def _git(*arguments: str) -> str:
    """Return what git prints; it waits for nobody and writes nothing."""
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    done = subprocess.run(
        ["git", "-C", PROJECT, *arguments], env=environment, text=True, capture_output=True, check=True
    )
    return done.stdout.strip()


def software() -> list[tuple[str, str]]:
    """Return the versions of what made the numbers and the page that shows them."""
    versions = [("cinorms", version()), ("Python", platform.python_version())]
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions.append((package, metadata.version(package)))
    return versions
