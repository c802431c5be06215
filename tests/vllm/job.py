"""Jobs to be killed whose load costs nothing: one process loads the checkpoint, children of it ask.

``python job.py JSON`` writes ``loaded``, then for each line it reads starts a job and writes its process id, and when
the job has ended its exit code (negative: the signal that ended it).
"""

import hashlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from cinorms.core.logs import start_logging
from cinorms.inference import checkpoints
from cinorms.inference.ask import Job, _stop, read_askings
from cinorms.inference.engines.vllm import conversations
from cinorms.inference.engines.vllm.offline import VllmEngine
from cinorms.inference.request import Request

RUNTIME = {"study": "s", "model": "tiny", "shard": "1-of-1", "max_model_len": 256, "gpus": 0}
#: Requests that vLLM has at once: few, so that a kill falls between many of them.
AT_ONCE = 4


class Witness:
    """vLLM, every request that it has answered written down."""

    def __init__(self, llm: Any, asked: Path) -> None:
        self.llm_engine = self
        self._engine = llm.llm_engine
        self._asked = asked
        self._names: dict[str, str] = {}

    def add_request(self, key: str, prompt: dict[str, Any], sampling: Any, priority: int) -> None:
        self._names[key] = hashlib.sha256(str(prompt["prompt_token_ids"]).encode()).hexdigest()
        self._engine.add_request(key, prompt, sampling, priority=priority)

    def abort_request(self, keys: list[str]) -> None:
        self._engine.abort_request(keys)

    def step(self) -> list[Any]:
        outputs: list[Any] = self._engine.step()
        with self._asked.open("a") as file:
            file.write("".join(f"{self._names[o.request_id]}\n" for o in outputs if o.finished))
        return outputs


def run(given: dict[str, Any], store: str, llm: Any) -> None:
    """Ask what has no reply in ``store``, as ``cinorms.inference.ask`` does."""
    start_logging(given["log"])
    signal.signal(signal.SIGTERM, _stop)
    runtime = {**RUNTIME, "store": store}
    engine = VllmEngine(runtime)
    engine._llm = llm
    requests = [("main", Request.from_plain(given["request"]))]
    Job(runtime, None, engine).ask(read_askings(requests, [(given["vignettes"], given["variants"])], runtime))


def main() -> None:
    """Load the checkpoint, then run a job for each line."""
    given = json.loads(sys.argv[1])
    conversations.IN_FLIGHT = AT_ONCE
    request = Request.from_plain(given["request"])
    folder = checkpoints.find(request.settings["source"], None, request.model)
    llm = VllmEngine(RUNTIME)._load(request, folder)
    print("loaded", flush=True)
    for line in sys.stdin:
        if not (pid := os.fork()):
            code = 1
            try:
                run(given, line.strip(), Witness(llm, Path(given["asked"])))
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
