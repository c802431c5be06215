"""One call on a machine with one GPU: does the path run, how fast, how soon? A JSON and a paragraph.

    python benchmarks/inference/gpu.py --out gpu.json                                 # an 8B shape, at most ten minutes
    .venv-vllm/bin/python benchmarks/inference/gpu.py --dry-run --out dry-run.json    # a tiny shape, no GPU needed

Every step is a process of its own with a time limit, and the JSON is written again after each number. What is left out
when the time is up says so. See README.md next to this file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workload import PLANNED

HERE = Path(__file__).resolve().parent
#: The goals of the project: how many times as fast as the published settings, and minutes for all planned prompts.
TIMES_PUBLISHED, MINUTES = 5.0, 6.0
#: Seconds that are kept for writing down what was found.
SPARE = 4.0


@dataclass(frozen=True)
class Step:
    """A process: the kind of work, its longest time, the least that is worth starting it, and what it is for."""

    name: str
    limit: float
    least: float
    variables: dict[str, str]
    what: str


#: In the order in which they matter: what is left when the time is up is left out.
STEPS = (
    Step("peak", 60, 15, {}, "the best of 20 products of large matrices"),
    Step("cold", 240, 60, {}, "cinorms' settings, nothing compiled yet"),
    Step("published", 130, 50, {"CUDA_LAUNCH_BLOCKING": "1"}, "the published code's settings"),
    Step("warm", 120, 40, {}, "cinorms' settings again, compiled before"),
    Step("invariant", 130, 40, {"VLLM_BATCH_INVARIANT": "1"}, "vLLM's batch-invariant mode"),
    Step("awq", 130, 40, {}, "the same shape in 4-bit weights (AWQ)"),
)


def main() -> None:
    given = arguments()
    started = given.since or time.time()
    table = begin(given)
    with tempfile.TemporaryDirectory() as folder:
        for step in STEPS:
            found = table["steps"][step.name]
            left = started + 60 * given.minutes - time.time() - SPARE
            if given.steps and step.name not in given.steps:
                found["status"] = "skipped: not among --steps"
            elif left < step.least:
                found["status"] = f"skipped: {max(left, 0):.0f} s were left, {step.least:.0f} s are needed"
            else:
                print(f"{step.name}: {step.what} ...", file=sys.stderr, flush=True)
                run(step, left if given.dry_run else min(step.limit, left), given, Path(folder), table)
            save(table, given.out, started)
    print(table["paragraph"])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the JSON")
    parser.add_argument("--shape", default="llama-3.1-8b", help="of the random weights; see workload.py")
    parser.add_argument("--dtype", default="bfloat16", help="of the weights")
    parser.add_argument("--prompts", type=int, default=65_536, help="most prompts of the sample")
    parser.add_argument("--seconds", type=float, default=40.0, help="for measuring each rate")
    parser.add_argument("--minutes", type=float, default=9.5, help="for everything")
    parser.add_argument("--since", type=float, help="when the call began, in seconds since 1970: `date +%%s`")
    parser.add_argument("--steps", nargs="+", choices=[step.name for step in STEPS], help="only these")
    parser.add_argument("--dry-run", action="store_true", help="a tiny shape and few prompts: no GPU needed")
    given = parser.parse_args()
    if given.dry_run:
        given.shape, given.dtype = "tiny", "float32"
        given.prompts, given.seconds = min(given.prompts, 220), min(given.seconds, 3.0)
    return given


def begin(given: argparse.Namespace) -> dict[str, Any]:
    """Return the table before anything is measured: every step is in it from the start."""
    return {
        "kit": 1,
        "dry_run": given.dry_run,
        "shape": given.shape,
        "dtype": given.dtype,
        "planned_prompts": PLANNED,
        "sample": f"at most {given.prompts:,} of {PLANNED:,} planned prompts: of each template the first, in "
        f"the order of asking; each rate is measured for about {given.seconds:.0f} s; answers of 8 tokens",
        "steps": {step.name: {"what": step.what, "status": "not run"} for step in STEPS},
    }


def run(step: Step, limit: float, given: argparse.Namespace, folder: Path, table: dict[str, Any]) -> None:
    """Run a step; what it has found when its time is up counts."""
    found = table["steps"][step.name]
    job = {"step": step.name, "shape": given.shape, "dtype": given.dtype, "prompts": given.prompts}
    job |= {"seconds": given.seconds, "folder": str(folder), "dry_run": given.dry_run}
    variables = {
        **os.environ,
        # vLLM keeps what it compiles there: empty at first, and nothing of an earlier call.
        "VLLM_CACHE_ROOT": str(folder / "cache"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache/inductor"),
        "TRITON_CACHE_DIR": str(folder / "cache/triton"),
        "PYTHONUNBUFFERED": "1",
        # FlashInfer is not sent, and greedy answers do not need its sampler.
        "VLLM_USE_FLASHINFER_SAMPLER": "0",
        **step.variables,
    }
    started = time.monotonic()
    errors = folder / f"{step.name}.txt"
    with errors.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(HERE / "gpu_steps.py"), json.dumps(job)],
            stdout=subprocess.PIPE,
            stderr=log,
            env=variables,
            text=True,
            start_new_session=True,
        )
        timer = threading.Timer(limit, _end, [process])
        timer.start()
        done = False
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("RESULT "):
                    found |= json.loads(line.removeprefix("RESULT "))
                    # vLLM may take long to end after its last number.
                    if done := found.pop("done", False):
                        break
                    save(table, given.out)
            code = 0 if done else process.wait()
        finally:
            timer.cancel()
            _end(process)
    seconds = time.monotonic() - started
    found["seconds"] = round(seconds, 1)
    if code == 0:
        found["status"] = "ok"
    elif seconds >= limit:
        found["status"] = f"stopped after {limit:.0f} s; the numbers here were found before"
    else:
        found["status"] = f"failed: {_reason(errors)}"
        print(errors.read_text(errors="replace")[-3000:], file=sys.stderr)


def _end(process: subprocess.Popen[str]) -> None:
    """End a step and every process that it started: an engine would keep the GPU's memory."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _reason(errors: Path) -> str:
    """Return the last line that names an error."""
    lines = [line.strip() for line in errors.read_text(errors="replace").splitlines() if line.strip()]
    # Pydantic writes the reason above a summary and a link.
    noise = ("Traceback", "validation error for", "For further information")
    named = [line for line in lines if "rror" in line and not any(word in line for word in noise)]
    return (named or lines or ["it wrote nothing"])[-1][:300]


def save(table: dict[str, Any], path: Path, started: float | None = None) -> None:
    """Write the JSON, with what follows from the numbers so far."""
    table["summary"] = summary(table)
    table["paragraph"] = paragraph(table)
    if started:
        table["minutes_in_all"] = round((time.time() - started) / 60, 2)
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(table, indent=1) + "\n")
    part.replace(path)


def summary(table: dict[str, Any]) -> dict[str, Any]:
    """Return what the kit is for, each None where it was not measured."""
    steps = table["steps"]
    rate = _of(steps, "cold", "rate", "prompts_per_second")
    short = _of(steps, "published", "rate", "prompts_per_second")
    long = _of(steps, "published", "rate_100_tokens", "prompts_per_second")
    peak = _of(steps, "peak", "tflops")
    flop = _of(steps, "cold", "rate", "flop_per_prompt")
    roofline = 1e12 * peak / flop if peak and flop else None
    minutes = PLANNED / rate / 60 if rate else None
    on_gpu = steps["peak"].get("device_kind") == "cuda" and not table["dry_run"]
    times = rate / long if rate and long else None
    return {
        "path_runs": _of(steps, "cold", "path", "complete"),
        "prompts_per_second": _short(rate),
        "minutes_for_planned": _short(minutes),
        "prompts_per_second_published": _short(long),
        "prompts_per_second_published_8_tokens": _short(short),
        "times_published": _short(times),
        "times_published_8_tokens": _short(rate / short if rate and short else None),
        "roofline_prompts_per_second": _short(roofline),
        "share_of_roofline": _short(rate / roofline if rate and roofline else None),
        "prompts_per_second_options": _short(_of(steps, "cold", "options", "prompts_per_second")),
        "requests_per_prompt_options": _of(steps, "cold", "options", "requests_per_prompt"),
        "startup_seconds_nothing_compiled": _of(steps, "cold", "startup_seconds"),
        "startup_seconds_compiled": _of(steps, "warm", "startup_seconds"),
        "prompts_per_second_batch_invariant": _short(_of(steps, "invariant", "rate", "prompts_per_second")),
        "prompts_per_second_awq": _short(_of(steps, "awq", "rate", "prompts_per_second")),
        # A dry run meets or misses nothing.
        "goals": {
            "times_published": {
                "at_least": TIMES_PUBLISHED,
                "met": times >= TIMES_PUBLISHED if on_gpu and times else None,
            },
            "minutes_for_planned": {
                "at_most": MINUTES,
                "met": minutes <= MINUTES if on_gpu and minutes else None,
            },
        },
    }


def paragraph(table: dict[str, Any]) -> str:
    """Return the numbers in sentences."""
    found, steps = table["summary"], table["steps"]
    device = steps["peak"].get("device") or steps["cold"].get("device") or "an unknown device"
    version = steps["cold"].get("vllm", "?")
    dry = "A dry run, which says nothing about speed: " if table["dry_run"] else ""

    def say(name: str, text: str, called: str) -> str:
        return text.format(found[name]) if found[name] is not None else f"{called} was not measured"

    roofline = found["roofline_prompts_per_second"]
    sentences = [
        [f"{dry}{device}, vLLM {version}, random weights of the shape {table['shape']} ({table['dtype']})"],
        ["the path from prompts to the file of responses " + _PATH[found["path_runs"]]],
        [
            say(
                "prompts_per_second", "{} prompts/s with cinorms' settings", "the rate with cinorms' settings"
            ),
            say(
                "minutes_for_planned",
                f"{{}} minutes for {PLANNED:,} prompts",
                f"the time for {PLANNED:,} prompts",
            ),
        ],
        [
            say(
                "times_published", "{} times the published settings with answers of 100 tokens", "their ratio"
            ),
            say(
                "times_published_8_tokens", "{} times with answers of 8", "the ratio with answers of 8 tokens"
            ),
        ],
        [
            say("share_of_roofline", "{} of the upper bound", "the share of the upper bound")
            + (f" ({roofline} prompts/s, computed)" if roofline else "")
        ],
        [
            say(
                "startup_seconds_nothing_compiled",
                "start-up {} s with nothing compiled",
                "the first start-up",
            ),
            say("startup_seconds_compiled", "{} s with the compile cache", "the second start-up"),
        ],
        [
            say(
                "prompts_per_second_batch_invariant",
                "batch-invariant mode: {} prompts/s",
                "the rate in batch-invariant mode",
            ),
        ],
        [
            say("prompts_per_second_options", "{} prompts/s with the probability of every option", "options"),
            say("requests_per_prompt_options", "{} requests a prompt", "their number of requests"),
        ],
        [say("prompts_per_second_awq", "AWQ: {} prompts/s", "the rate with AWQ")],
    ]
    texts = [", ".join(parts) for parts in sentences]
    return ". ".join(text[0].upper() + text[1:] for text in texts) + "."


#: What is written about the run through the whole path.
_PATH = {True: "runs", False: "left prompts without an answer", None: "was not tried"}


def _of(steps: dict[str, Any], *keys: str) -> Any:
    found: Any = steps
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


if __name__ == "__main__":
    main()
