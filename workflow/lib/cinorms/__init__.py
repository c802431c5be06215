"""cinorms: the privacy norms that language models encode, measured.

``cinorms.open_results("results/demo")`` gives the results of a study as data frames.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cinorms.results import Results

# While a command is looked for (python -m cinorms.run.check), before its libraries are loaded.
if sys.argv[:1] == ["-m"]:
    import_module("cinorms.core.logs").prepare()

__all__ = ["__version__", "open_results"]


def __getattr__(name: str) -> str:
    """Return ``__version__``: git is asked for the commit, so only where somebody wants to know."""
    if name == "__version__":
        return str(import_module("cinorms.core.version").version())
    raise AttributeError(f"module 'cinorms' has no attribute {name!r}")


def open_results(folder: str | Path) -> "Results":
    """Return the results of a study, e.g. those in ``results/demo``, as `cinorms.results.Results`.

    ``norms``, ``answers()``, ``tables[NAME]``, ``figures[NAME]`` and ``dictionary`` are data frames.
    """
    # Named by a text and imported when it is called: to import the package costs nothing, and no rule depends on how
    # results are read.
    results: Results = import_module("cinorms.results").open_results(folder)
    return results
