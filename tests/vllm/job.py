"""Jobs to be killed whose load costs nothing: one process loads the checkpoint, children of it ask.

``python job.py JSON`` writes ``loaded``, then for each line it reads starts a job and writes its process id, and when
the job has ended its exit code (negative: the signal that ended it).
"""

import hashlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from cinorms.ask import _stop, write_shard
from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.inference import checkpoints
from cinorms.inference.engines.vllm.offline import VllmEngine
from cinorms.inference.journal import Journal
from cinorms.inference.spec import Spec

TUNING = {"max_model_len": 256, "gpus": 0}
#: Prompts that are handed over at once: few, so that a kill falls between many of them.
CHUNK = 4


class Witness:
    """vLLM, every request that it has answered written down, with the time."""

    def __init__(self, llm: Any, asked: Path) -> None:
        self.llm_engine = self
        self._engine = llm.llm_engine
        self._asked = asked
        self._names: dict[str, str] = {}

    def add_request(self, key: str, prompt: dict[str, Any], sampling: Any, priority: int) -> None:
        self._names[key] = hashlib.sha256(str(prompt["prompt_token_ids"]).encode()).hexdigest()
        self._engine.add_request(key, prompt, sampling, priority=priority)

    def step(self) -> list[Any]:
        outputs: list[Any] = self._engine.step()
        with self._asked.open("a") as file:
            now = time.time()
            file.write("".join(f"{self._names[o.request_id]} {now}\n" for o in outputs if o.finished))
        return outputs


def run(given: dict[str, Any], out: Path, llm: Any) -> None:
    """Ask the shard, as ``cinorms.ask`` does."""
    start_logging(given["log"])
    signal.signal(signal.SIGTERM, _stop)
    spec = Spec.from_plain(given["spec"])
    engine = VllmEngine(spec, TUNING, given["chunk"])
    engine._load = lambda folder: llm  # type: ignore[method-assign]
    vignettes = tables.read(given["vignettes"], tables.VIGNETTES)
    variants = tables.read(given["variants"], tables.PROMPTS)
    journal = Journal.at(out.parent / ".journal", spec).begin()
    write_shard(spec, vignettes, variants, out, engine, journal)


def main() -> None:
    """Load the checkpoint, then run a job for each line."""
    given = json.loads(sys.argv[1])
    spec = Spec.from_plain(given["spec"])
    folder = checkpoints.find(spec.identity["source"], None, spec.model)
    llm = VllmEngine(spec, TUNING)._load(folder)
    print("loaded", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            code = 1
            try:
                run(given, Path(line.strip()), Witness(llm, Path(given["asked"])))
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
