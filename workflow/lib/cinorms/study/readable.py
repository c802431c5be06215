"""``python -m cinorms.study.readable FILE``: one message where a study file cannot be read.

Snakemake reads the file of ``--configfile`` before the workflow does, and may answer with a traceback: `make` runs this
first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from cinorms.core.errors import CinormsError
from cinorms.core.schema import schema_of
from cinorms.core.validation import check, load_yaml
from cinorms.study.settings import StudySettings


def main(arguments: Sequence[str]) -> int:
    """Read each file and check its keys; print the first message and return 1 where there is one."""
    try:
        for name in arguments:
            check(load_yaml(Path(name)), schema_of(StudySettings), name)
    except CinormsError as error:
        print(f"\nThe study cannot run.\n{error}\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
