"""How fast vLLM answers under cinorms' settings, under the published code's, and at best: one run, as ratios.

    .venv-vllm/bin/python benchmarks/inference/run.py --model control
    python benchmarks/inference/run.py --shape llama-3.1-8b --prompts 65536 --out h100-8b.json

``--shape`` takes random weights of a model's shape and downloads nothing. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workload import SHAPES, Model, flop_per_token, prompts_of, random_model, registry_model

from cinorms.core.errors import CinormsError
from cinorms.inference.engines.vllm.offline import CHUNK, device_name, import_vllm, llm_settings, read_config

#: What the published code runs: eager mode, no prefix caching, answers of up to 100 tokens, blocking launches.
PUBLISHED = {"enforce_eager": True, "enable_prefix_caching": False}
PUBLISHED_TOKENS = 100
PUBLISHED_VARIABLES = {"CUDA_LAUNCH_BLOCKING": "1"}
#: Times that the matrices are multiplied, and their size, to see what the machine can do at best.
MATMULS, SIZE_GPU, SIZE_CPU = 20, 8192, 1536


def main() -> None:
    """Run each setting in a process of its own and print what came out."""
    given = arguments()
    if given.worker:
        print("RESULT " + json.dumps(work(json.loads(given.worker))), flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            model = (
                registry_model(given.model)
                if given.model
                else random_model(given.shape, given.dtype, given.gpus, Path(folder))
            )
        except CinormsError as error:
            sys.exit(str(error))
        runs = {
            "cinorms": {"settings": {}, "max_tokens": given.max_tokens},
            "published, answers as short": {"settings": PUBLISHED, "max_tokens": given.max_tokens},
            "published": {"settings": PUBLISHED, "max_tokens": PUBLISHED_TOKENS},
        }
        results = {}
        for name, run in runs.items():
            print(f"{name}: loading and asking ...", file=sys.stderr, flush=True)
            results[name] = in_process(model, run, given)
        table = summary(model, results)
    text = json.dumps(table, indent=1)
    if given.out:
        Path(given.out).write_text(text + "\n")
    show(table)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--model", help="a model of config/models.yaml with engine vllm")
    which.add_argument("--shape", choices=SHAPES, help="random weights of this shape")
    which.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--prompts", type=int, default=4096, help="prompts asked under each setting")
    parser.add_argument("--repeat", type=int, default=2, help="times that they are asked; the fastest counts")
    parser.add_argument("--max-tokens", type=int, default=8, help="longest answer under cinorms' settings")
    parser.add_argument("--dtype", default="bfloat16", help="of a shape's weights")
    parser.add_argument("--gpus", type=int, default=1, help="for a shape: tensor parallel")
    parser.add_argument(
        "--tflops", type=float, help="what the device can do at best; measured where left out"
    )
    parser.add_argument("--out", help="write the numbers to this file as JSON")
    return parser.parse_args()


def in_process(model: Model, run: dict[str, Any], given: argparse.Namespace) -> dict[str, Any]:
    """Run one setting in a process of its own: an engine leaves nothing behind for the next."""
    job = {"model": {**asdict(model), "folder": str(model.folder)}, "n": given.prompts, **run}
    job |= {"tflops": given.tflops, "repeat": given.repeat}
    variables = PUBLISHED_VARIABLES if run["settings"] else {}
    command = [sys.executable, __file__, "--worker", json.dumps(job)]
    done = subprocess.run(command, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode or not lines:
        sys.exit(f"a run failed (status {done.returncode}); what it said stands above")
    result: dict[str, Any] = json.loads(lines[-1].removeprefix("RESULT "))
    return result


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Load the model and ask the prompts; return the counts and the seconds."""
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    given = job["model"]
    model = Model(**{**given, "folder": Path(given["folder"])})
    LLM, version, on_cpu = import_vllm(model.spec.model)
    if on_cpu:
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    from vllm import SamplingParams

    settings = (
        llm_settings(model.spec, model.folder, model.max_model_len, model.gpus, on_cpu) | job["settings"]
    )
    if model.random:
        settings["load_format"] = "dummy"
    prompts = [{"prompt_token_ids": ids.tolist()} for ids in prompts_of(model, job["n"])]
    peak = job["tflops"] or measure_peak(on_cpu, model.spec.identity.get("dtype", "bfloat16")) * max(
        model.gpus, 1
    )
    llm = LLM(model=str(model.folder), **settings)
    sampling = SamplingParams(
        temperature=0, max_tokens=job["max_tokens"], detokenize=False, ignore_eos=model.random
    )
    # Untimed: the first calls compile and fill allocators.
    llm.generate(prompts[:64], sampling, use_tqdm=False)
    seconds, replies = min(
        (timed(llm, prompts, sampling) for _ in range(job["repeat"])), key=lambda found: found[0]
    )
    return {
        "device": device_name(on_cpu),
        "vllm": version,
        "eager": bool(settings.get("enforce_eager", False)),
        "prefix_caching": bool(settings["enable_prefix_caching"]),
        "max_tokens": job["max_tokens"],
        "tflops_at_best": round(peak, 3),
        "prompts": len(prompts),
        "seconds": round(seconds, 2),
        "prompt_tokens": sum(len(prompt["prompt_token_ids"]) for prompt in prompts),
        "reused_tokens": sum(reply.num_cached_tokens or 0 for reply in replies),
        "output_tokens": sum(len(reply.outputs[0].token_ids) for reply in replies),
    }


def timed(llm: Any, prompts: list[dict[str, Any]], sampling: Any) -> tuple[float, list[Any]]:
    """Return the seconds that all prompts take, none of them known to the prefix cache, and the replies."""
    llm.reset_prefix_cache()
    started = time.perf_counter()
    replies = []
    for first in range(0, len(prompts), CHUNK):
        replies += llm.generate(prompts[first : first + CHUNK], sampling, use_tqdm=False)
    return time.perf_counter() - started, replies


def measure_peak(on_cpu: bool, dtype: str) -> float:
    """Return how many TFLOP/s the device does in products of large matrices of the weights' type."""
    import torch

    size, device = (SIZE_CPU, "cpu") if on_cpu else (SIZE_GPU, "cuda")
    kind = getattr(torch, dtype if dtype != "auto" else "bfloat16")
    a, b = (torch.randn(size, size, device=device).to(kind) for _ in range(2))
    best = float("inf")
    for _ in range(MATMULS):
        started = time.perf_counter()
        a @ b
        if not on_cpu:
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - started)
    del a, b
    if not on_cpu:
        torch.cuda.empty_cache()
    return 2 * size**3 / best / 1e12


def summary(model: Model, results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the results with the prompts per second, what is possible at best, and the ratios."""
    per_token, per_sampled = flop_per_token(read_config(model.folder))
    ours = results["cinorms"]
    at_best = max(result.pop("tflops_at_best") for result in results.values())
    for result in results.values():
        computed = (
            result["prompt_tokens"] - result["reused_tokens"] + result["output_tokens"] - result["prompts"]
        )
        flop = computed * per_token + result["output_tokens"] * per_sampled
        result["prompts_per_second"] = round(result["prompts"] / result["seconds"], 1)
        roofline = result["prompts"] * at_best * 1e12 / flop
        result["roofline_prompts_per_second"] = round(roofline, 1)
        result["share_of_roofline"] = round(result["prompts_per_second"] / roofline, 4)
        result["cinorms_is_faster_by"] = round(result["seconds"] / ours["seconds"], 2)
    which = {"model": model.spec.model, "random_weights": model.random}
    return which | {"tflops_at_best": round(at_best, 3), "runs": results}


def show(table: dict[str, Any]) -> None:
    """Print the table for people."""
    runs = table["runs"]
    ours = runs["cinorms"]
    kind = "random weights of the shape of " if table["random_weights"] else ""
    print(f"{kind}{table['model']} on {ours['device']}, vLLM {ours['vllm']}, {ours['prompts']:,} prompts of")
    print(
        f"{ours['prompt_tokens'] / ours['prompts']:.0f} tokens on average, {table['tflops_at_best']} TFLOP/s at best"
    )
    print(f"{'':30}{'prompts/s':>10}{'roofline':>10}{'share':>8}{'reused':>8}{'output':>8}{'cinorms is':>12}")
    for name, run in runs.items():
        reused = run["reused_tokens"] / run["prompt_tokens"]
        output = run["output_tokens"] / run["prompts"]
        print(
            f"{name:30}{run['prompts_per_second']:>10,.1f}{run['roofline_prompts_per_second']:>10,.0f}"
            f"{run['share_of_roofline']:>8.1%}{reused:>8.1%}{output:>8.1f}{run['cinorms_is_faster_by']:>10.2f} x"
        )


if __name__ == "__main__":
    main()
