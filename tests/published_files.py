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
#: A frame that no study reads.
WITH_NA = SourceFile(
    url="https://raw.githubusercontent.com/yansh/privacy-bias/c9802831d60b80da576c859b14fbbd4341372080/plots/dataframes/"
    "pivot_prompt_df_with_NA_regular_run.pkl.lzma",
    sha256="27022c0690426daa5edfdd1f730e3f7e9238d50a9834833db5fd24cf941e2132",
    mirror=("responses/pivot_prompt_df_with_NA_regular_run.pkl.lzma",),
)


def declared() -> Iterator[SourceFile]:
    """Yield every file with an address that the datasets and releases of the project declare, and `WITH_NA`."""
    for path in sorted((ROOT / "resources/published").glob("*.yaml")):
        yield from load_release(path).files.values()
    for path in sorted((ROOT / "resources/vignettes").glob("*.yaml")):
        yield from (load_dataset(path).files or {}).values()
    yield WITH_NA


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
