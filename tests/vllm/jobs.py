"""Starts the jobs of ``job.py``, which a test then kills."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

from cinorms.core import tables
from cinorms.inference.request import Request
from cinorms.prompts.variants import list_variants

from .conftest import ROOT


class Jobs:
    """A process that has loaded the checkpoint, and starts jobs which use it."""

    def __init__(
        self, folder: Path, request: Request, flows: pd.DataFrame, templates: tuple[str, ...]
    ) -> None:
        self.request = request
        self.asked = folder / "asked.txt"
        self.log = folder / "log.txt"
        given = {"request": request.plain(), "asked": str(self.asked), "log": str(self.log)}
        given |= {name: str(folder / f"{name}.parquet") for name in ("vignettes", "variants")}
        tables.write(flows, given["vignettes"], tables.VIGNETTES)
        tables.write(list_variants("chatgpt", templates, 2, 2), given["variants"], tables.PROMPTS)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("job.py")), json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "errors.txt").open("w"),
            text=True,
            # One thread: a pool of threads does not live on in a child.
            env=os.environ
            | {
                "PYTHONPATH": str(ROOT / "workflow/lib"),
                "OMP_NUM_THREADS": "1",
                "TOKENIZERS_PARALLELISM": "false",
            }
            | {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_LOGGING_STREAM": "ext://sys.stderr"},
        )
        while self._read() != "loaded":
            pass

    def start(self, store: Path) -> int:
        """Start a job that adds to ``store``, and return its process id."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{store}\n")
        self._process.stdin.flush()
        return int(self._read())

    def end(self) -> int:
        """Return the exit code of the job that was started last, when it has ended."""
        return int(self._read())

    def wait_for(self, n: int) -> None:
        """Wait until vLLM has answered ``n`` requests in all."""
        limit = time.monotonic() + 1200
        while self.n_asked() < n:
            assert time.monotonic() < limit, self.log.read_text()
            time.sleep(0.002)

    def n_asked(self) -> int:
        """Return how many requests vLLM has answered so far."""
        return len(self.answered())

    def answered(self) -> list[tuple[str, float]]:
        """Return every request that vLLM has answered so far, by name and time."""
        lines = self.asked.read_text().splitlines(keepends=True) if self.asked.exists() else []
        return [(line.split()[0], float(line.split()[1])) for line in lines if line.endswith("\n")]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process that loads the checkpoint ended"
        return line.strip()
