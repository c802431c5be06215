"""What the log of replies that arrive costs a job: the share of its time in ``ReplyLog.add``, with waits for the disk.

    PYTHONPATH=workflow/lib python benchmarks/inference/reply_log.py [--rate 500] [--seconds 10] [--folder FOLDER]

Replies come one by one, evenly, as those of a live endpoint do; the rest of the time the job would send and receive.
The log is on the disk of ``--folder``: a temporary folder may be in memory, where nothing is waited for.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from cinorms.inference.journal_files import ReplyLog

REPLY = {"at": 0, "text": "somewhat acceptable", "finish_reason": "stop", "n_prompt_tokens": 180, "usd": 1e-5}
REPLY |= {"reply_id": "chatcmpl-0123456789ab", "created": 1_800_000_000, "answered_by": "a-model-2024-07-18"}


def share_of_time(folder: Path, rate: float, seconds: float) -> tuple[float, float]:
    """Return the share of wall time in the log, and its CPU time per reply in microseconds."""
    (folder / "arriving").mkdir()
    log, in_log, cpu, n = ReplyLog(folder, "job-1-of-1"), 0.0, 0.0, round(rate * seconds)
    started = time.perf_counter()
    for number in range(n):
        time.sleep(max(0.0, started + number / rate - time.perf_counter()))
        began, cpu_began = time.perf_counter(), time.process_time()
        log.add([number.to_bytes(16)], [REPLY])
        in_log, cpu = in_log + time.perf_counter() - began, cpu + time.process_time() - cpu_began
    share = in_log / (time.perf_counter() - started)
    log.end()
    return share, 1e6 * cpu / n


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--folder", type=Path, default=Path.cwd())
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        share, cpu = share_of_time(Path(name), given.rate, given.seconds)
    print(f"{share:.1%} of the time, {cpu:.0f} µs of CPU time per reply; load {os.getloadavg()[0]:.1f}")
