"""Commands that Ctrl+C stops, and commands whose reader leaves: no traceback, and the exit code of each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def start(*arguments: str, **streams: int) -> subprocess.Popen[str]:
    """Start Python at the project's folder, with Ctrl+C as at a terminal."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "workflow/lib")},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **streams,
    )


@pytest.mark.parametrize(
    ("command", "loaded"),
    [
        ("cinorms.run.check", "cinorms.core.version"),
        ("cinorms.run.status", "cinorms.core.version"),
        ("cinorms.gate", "cinorms.core.version"),
        ("cinorms_snakemake", "snakemake"),
    ],
)
def test_ctrl_c_while_libraries_are_loaded_is_one_line(command: str, loaded: str) -> None:
    running = start("-X", "importtime", "-m", command)
    assert running.stderr is not None
    # Python shows each module as soon as it is loaded; before the first of these, Ctrl+C is Python's own.
    assert any(line.split()[-1].startswith(loaded) for line in running.stderr)
    running.send_signal(signal.SIGINT)
    left = [line for line in running.stderr if line.strip() and not line.startswith("import time:")]
    assert left == ["Stopped by Ctrl+C.\n"]
    assert running.wait() == -signal.SIGINT  # a shell calls it 130


@pytest.mark.parametrize(("verdict", "code"), [("0", 0), ("3", 3)])
def test_a_reader_who_leaves_changes_no_exit_code(verdict: str, code: int) -> None:
    lines = "[print(n, flush=True) for n in range(9)]; print('end', file=sys.stderr)"
    program = f"import sys; sys.argv[0] = '-m'; import cinorms; {lines}; sys.exit({verdict})"
    reading, writing = os.pipe()
    os.close(reading)
    running = start("-c", program, stdout=writing)
    os.close(writing)
    assert running.communicate()[1] == "end\n"
    assert running.returncode == code
