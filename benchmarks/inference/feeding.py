"""Feeding vLLM continuously against calls that wait for their last prompt, in turn, on one loaded checkpoint.

``.venv-vllm/bin/python benchmarks/inference/feeding.py FOLDER`` with a checkpoint of the control model (`make control`
makes results/control/model). Prints prompts per second of each, and the ratio pair by pair.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from workload import Model, make_spec, prompts_of

from cinorms.inference.engines.vllm.conversations import IN_FLIGHT, TextTalk, talk
from cinorms.inference.engines.vllm.offline import VllmEngine


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a checkpoint")
    parser.add_argument("--prompts", type=int, default=2048, help="prompts per run")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each")
    given = parser.parse_args()
    spec = make_spec(
        "vllm", model="control", source=str(given.folder), wrap="chat_template", dtype="float32", max_tokens=8
    )
    engine = VllmEngine(spec, {"gpus": 1, "max_model_len": 256})
    llm = engine._load(given.folder)
    prompts = prompts_of(Model(given.folder, spec, 1, 256, random=False), given.prompts)
    run(llm, spec, prompts[:64], by_calls), run(llm, spec, prompts[:64], continuously)
    ratios = []
    for _ in range(given.pairs):
        speeds = [run(llm, spec, prompts, way) for way in (by_calls, continuously)]
        ratios.append(speeds[1] / speeds[0])
        print(f"calls {speeds[0]:,.0f}/s, continuously {speeds[1]:,.0f}/s, ratio {ratios[-1]:.2f}")
    print(f"median ratio {statistics.median(ratios):.2f} (of {given.pairs})")


def run(llm: Any, spec: Any, prompts: list[np.ndarray], way: Any) -> float:
    """Return the prompts answered per second; the cache is emptied before."""
    llm.reset_prefix_cache()
    started = time.perf_counter()
    assert way(llm, spec, prompts) == len(prompts)
    return len(prompts) / (time.perf_counter() - started)


def by_calls(llm: Any, spec: Any, prompts: list[np.ndarray]) -> int:
    """Ask in one call, as this project did in calls of 8,192."""
    requests = [TextTalk(at, ids, spec, None).first() for at, ids in enumerate(prompts)]
    inputs = [{"prompt_token_ids": request.ids.tolist()} for request in requests]
    return len(llm.generate(inputs, [request.sampling for request in requests], use_tqdm=False))


def continuously(llm: Any, spec: Any, prompts: list[np.ndarray]) -> int:
    """Ask as the engine does."""
    talks = (TextTalk(at, ids, spec, None) for at, ids in enumerate(prompts))
    return sum(1 for _ in talk(llm, talks, IN_FLIGHT, lambda n_read: None))


if __name__ == "__main__":
    main()
