"""Digests of library modules: Snakemake does not see that a module was edited, a parameter tells it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_digest(*modules: str) -> str:
    """Return a digest of the source of the named modules.

    ``figures.theme`` is ``figures/theme.py``; ``reading*`` is every module whose name starts so.

    A rule carries it as a parameter, so that an edited module re-runs the rules that use it and no others.
    Name every module whose change can change the rule's output.
    """
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for module in modules:
        pattern = module.replace(".", "/") + ".py"
        files = sorted(folder.glob(pattern))
        if not files:
            raise FileNotFoundError(f"code_digest: no module {module!r} in {folder}")
        for file in files:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
