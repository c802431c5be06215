"""``python -m cinorms_snakemake ...``: Snakemake as `make` starts it, so that Ctrl+C ends it with 130 and one line.

Snakemake alone shows a traceback until its first job runs, and ends with 1 afterwards.
"""

import argparse
import atexit
import getpass
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from threading import Event, Thread
from types import FrameType

from cinorms.core.logs import prepare

#: Processes and threads of a run with one core, with those of the libraries.
THREADS = 32


def main() -> None:
    """Run Snakemake with this process's arguments."""
    prepare()
    refuse_what_is_not_ours()
    refuse_too_few_threads()
    have_a_name()
    have_a_cache()
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


def refuse_what_is_not_ours() -> None:
    """End with one message where the folder of results, or what Snakemake keeps there, cannot be written."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--directory", "-d", default=".")
    folder = Path(parser.parse_known_args()[0].directory)
    for path in (folder, folder / ".snakemake"):
        if path.is_dir() and not os.access(path, os.W_OK | os.X_OK):
            sys.exit(
                f'{path.resolve()}: you cannot write here; give another folder: ARGS="--directory FOLDER"'
            )


def refuse_too_few_threads() -> None:
    """End with one message where a user may not start the processes and threads of a small run."""
    end = Event()
    try:
        for _ in range(THREADS):
            Thread(target=end.wait).start()
    except RuntimeError:
        sys.exit(
            f"Fewer than {THREADS} processes and threads can be started here, and a run needs more: end some, or allow "
            "more (ulimit -u)"
        )
    finally:
        end.set()


def have_a_name() -> None:
    """Name a user by its number where the machine has no name for it, as in containers: Snakemake asks for one."""
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["LOGNAME"] = str(os.getuid())


def have_a_cache() -> None:
    """Keep caches for this run alone where the home folder cannot have any: Snakemake cannot do without."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    try:
        if not usual.is_absolute():  # nobody's home
            raise FileNotFoundError
        usual.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=usual):
            pass
    except OSError:
        os.environ.setdefault("HF_HOME", str(usual / "huggingface"))  # checkpoints in it can still be read
        os.environ["XDG_CACHE_HOME"] = made = tempfile.mkdtemp(prefix="cinorms-cache-")
        atexit.register(shutil.rmtree, made, ignore_errors=True)


if __name__ == "__main__":
    main()
