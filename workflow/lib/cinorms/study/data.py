"""``python -m cinorms.study.data FILE``: get the published files of a study, or list those that are missing.

A job names only the file that it misses. `make` runs this first, so that one message lists everything that a machine
without internet needs.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cinorms.core.errors import DataError
from cinorms.core.logs import command
from cinorms.study.load import ROOT, load_study, read_layers
from cinorms.study.study import Study
from cinorms.vignettes.source_files import SourceFile, get, local_copy

CACHE = Path(".cache/data")


def mirror() -> str | None:
    """Return the folder with local copies of files, if there is one."""
    return os.environ.get("CINORMS_MIRROR")


def sources(study: Study) -> list[SourceFile]:
    """Return the files with an address that the datasets, published answers and surveys of a study need, each once."""
    files = [file for name in study.datasets() for file in study.dataset(name).sources.values()]
    files += [file for arm in study.arms_from("published") for file in study.published_files(arm)]
    files += [file for arm in study.arms_from("human") for file in study.survey(arm).sources.values()]
    return list(dict.fromkeys(file for file in files if file.path is None))


def obtain(files: Sequence[SourceFile], cache_dir: Path, mirror: str | None) -> None:
    """Fetch what is neither in the mirror nor in the cache.

    Raises ``DataError`` with one list of all that is missing where one of them cannot be fetched: after that, no
    other is tried.
    """
    missing = [file for file in files if local_copy(file, cache_dir, mirror) is None]
    while missing:
        try:
            get(missing[0], cache_dir, mirror)
        except DataError as error:
            n, where = len(missing), f"the mirror {mirror}"
            lines = [
                f"{n} published {'file is' if n == 1 else 'files are'} missing. {str(error).partition('; ')[0]}",
                f"Put them into {where if mirror else 'a folder, and name it with the variable CINORMS_MIRROR'}:",
            ]
            for file in missing:
                name = file.mirror[0] if file.mirror else file.url.rpartition("/")[2]
                lines.append(f"  {name}\n    sha256 {file.sha256}\n    from   {file.url}")
            raise DataError("\n".join(lines)) from None
        missing.pop(0)


@command("The study cannot run.")
def main(arguments: Sequence[str]) -> int:
    """Get the files of each study."""
    for name in arguments:
        study = load_study(read_layers([Path(name)], ROOT), ROOT)
        obtain(sources(study), CACHE, mirror())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
