"""One way to run Snakemake in a test: with what it printed, and the exit code that is expected."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

COMMAND = (sys.executable, "-m", "snakemake", "--cores", "2")


def snakemake(
    folder: Path, *arguments: str, code: int = 0, environment: Mapping[str, str] | None = None
) -> str:
    """Run Snakemake in ``folder`` and return what it printed; ``environment`` is this process's unless it is given."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=dict(os.environ if environment is None else environment),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == code, done.stdout
    return done.stdout
