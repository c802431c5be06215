"""``python -m cinorms.study.readable FILE``: one message where a study file cannot be read.

Snakemake reads the file of ``--configfile`` before the workflow does, and may answer with a traceback: `make` runs this
first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cinorms.core.logs import command
from cinorms.core.validation import check, load_yaml
from cinorms.study.settings import StudySettings


@command("The study cannot run.")
def main(arguments: Sequence[str]) -> int:
    """Read each file and check its keys."""
    for name in arguments:
        check(load_yaml(name), StudySettings, name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
