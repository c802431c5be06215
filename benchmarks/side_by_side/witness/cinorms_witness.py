"""A plugin of vLLM that writes down every prompt which the engine receives, and every one that it has answered.

vLLM loads it in each of its processes, whatever tool starts them, where this folder is on PYTHONPATH. The file that
``CINORMS_WITNESS`` names gets a line per event: ``asked`` or ``answered``, a hash of the prompt's token ids, the time.
"""

from __future__ import annotations

import functools
import hashlib
import os
import time
from array import array
from typing import Any


def register() -> None:
    """Watch the scheduler: every request passes it, and only there is an answer complete."""
    if "CINORMS_WITNESS" not in os.environ:
        return
    from vllm.v1.core.sched.scheduler import Scheduler

    if hasattr(Scheduler, "cinorms_names"):
        return
    names: dict[str, str] = {}
    Scheduler.cinorms_names = names
    file = open(os.environ["CINORMS_WITNESS"], "a")  # noqa: SIM115  as long as the process lives
    add, update = Scheduler.add_request, Scheduler.update_from_output

    @functools.wraps(add)
    def add_request(self: Any, request: Any) -> None:
        ids = array("q", request.prompt_token_ids or [])
        names[request.request_id] = hashlib.sha256(ids.tobytes()).hexdigest()[:24]
        file.write(f"asked {names[request.request_id]} {time.time():.3f}\n")
        if len(names) == 1:
            file.flush()
        add(self, request)

    @functools.wraps(update)
    def update_from_output(self: Any, *given: Any, **named: Any) -> Any:
        found = update(self, *given, **named)
        now = f"{time.time():.3f}"
        outputs = [output for of in found.values() for output in of.outputs]
        file.writelines(
            f"answered {names[o.request_id]} {now}\n" for o in outputs if o.finish_reason is not None
        )
        file.flush()
        return found

    Scheduler.add_request, Scheduler.update_from_output = add_request, update_from_output
