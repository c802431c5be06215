"""The version of the project, which pyproject.toml takes from here, and the software that a result was made with."""

import platform
from contextlib import suppress
from importlib import metadata

__version__ = "1.0.0"


#: Packages that the numbers of a study come from.
PACKAGES = ("numpy", "pandas", "pyarrow", "scipy", "statsmodels", "matplotlib", "plotnine")


def software() -> list[tuple[str, str]]:
    """Return the versions of what made the numbers and the page that shows them."""
    versions = [("cinorms", __version__), ("Python", platform.python_version())]
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions.append((package, metadata.version(package)))
    return versions
