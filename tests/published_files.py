"""The files that the papers' authors published, for the tests: from a mirror, or fetched once and kept."""

import os
from collections.abc import Iterator
from pathlib import Path

from cinorms.published.releases import load_release
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.source_files import SourceFile, get

ROOT = Path(__file__).parents[1]
#: The folder of what studies fetch: `make replicate` and the tests download a file once between them.
CACHE = ROOT / ".cache/data"


def declared() -> Iterator[SourceFile]:
    """Yield every file with an address that the datasets and releases of the project declare."""
    for path in sorted((ROOT / "resources/published").glob("*.yaml")):
        yield from load_release(path).files.values()
    for path in sorted((ROOT / "resources/vignettes").glob("*.yaml")):
        yield from load_dataset(path).sources.values()


def mirror_in(folder: Path) -> Path:
    """Return a folder laid out as a mirror: that of ``CINORMS_MIRROR``, else ``folder`` with links to what is fetched.

    Raises ``DataError`` for the first file that cannot be obtained.
    """
    named = os.environ.get("CINORMS_MIRROR")
    if named:
        return Path(named).absolute()
    for file in declared():
        link = folder / file.mirror[0]
        if file.path is None and not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(get(file, CACHE, None))
    return folder
