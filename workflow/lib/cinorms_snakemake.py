"""``python -m cinorms_snakemake ...``: Snakemake as `make` starts it, so that Ctrl+C ends it with 130 and one line.

Snakemake alone shows a traceback until its first job runs, and ends with 1 afterwards.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

from cinorms.core.logs import prepare


def main() -> None:
    """Run Snakemake with this process's arguments."""
    prepare()
    stopped = []

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:  # in the background it is ignored
        signal.signal(signal.SIGINT, stop)
    from snakemake.cli import main as run

    sys.argv[0] = "snakemake"
    try:
        run()
    except SystemExit as end:
        sys.exit(128 + stopped[0] if stopped else end.code)


if __name__ == "__main__":
    main()
