"""The steps of gpu.py, each a process: ``python gpu_steps.py JSON`` prints a line ``RESULT {...}`` per finding."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from asking import ask, responses_in
from workload import Model, flop_per_token, questions_of, random_model, sample_of

from cinorms.inference.engines.vllm.conversations import (
    OptionTalk,
    OptionTrie,
    Talk,
    TextTalk,
    spellings,
    talk,
)
from cinorms.inference.engines.vllm.offline import (
    VllmEngine,
    device_name,
    import_vllm,
    llm_settings,
    read_config,
)
from cinorms.inference.engines.vllm.tokenise import Ids, Tokeniser
from cinorms.inference.request import Request

#: What the published code runs: eager mode, no prefix caching, answers of up to 100 tokens, blocking launches.
PUBLISHED = {"enforce_eager": True, "enable_prefix_caching": False}
PUBLISHED_TOKENS = 100
#: Times that the matrices are multiplied, and their size, to see what the machine can do at best.
MATMULS, SIZE_GPU, SIZE_CPU = 20, 8192, 1536
#: Prompts per call of the published code: one template in one answer order.
CALL = 6_912
#: Prompts that are asked before anything is timed.
WARM_UP = 64
#: The flows of the run through the whole path: 12 of them, in every variant.
PATH = {
    "sender": ["a door lock"],
    "recipient": ["its manufacturer"],
    "information_type": ["owner's location"],
}


class Unpruned(OptionTalk):
    """Follows every branch: random weights give no option more than a trace, so that all would be left out."""

    def __init__(self, at: int, ids: Ids, trie: OptionTrie) -> None:
        super().__init__(at, ids, trie)
        self._may_cut = {(): 0.0}


class Counting:
    """vLLM, with its requests counted, and the prompt tokens that it took from its prefix cache."""

    def __init__(self, llm: Any) -> None:
        self.llm_engine = self
        self._engine = llm.llm_engine
        self.reused = self.requests = 0

    def add_request(self, *given: Any, **named: Any) -> None:
        """Hand a request on."""
        self.requests += 1
        self._engine.add_request(*given, **named)

    def step(self) -> list[Any]:
        """Let vLLM go one step."""
        outputs: list[Any] = self._engine.step()
        self.reused += sum(output.num_cached_tokens or 0 for output in outputs if output.finished)
        return outputs


def main() -> None:
    job = json.loads(sys.argv[1])
    if job["step"] == "peak":
        peak(job)
        return
    folder = Path(job["folder"])
    awq = job["step"] == "awq"
    # The kernels of AWQ are made for float16 on GPUs, and for bfloat16 on CPUs.
    dtype = ("bfloat16" if job["dry_run"] else "float16") if awq else job["dtype"]
    model = random_model(job["shape"], dtype, 1, folder / job["step"], awq)
    prompts = sample_of(model, job["prompts"])
    llm = load(model, PUBLISHED if job["step"] == "published" else {}, job["dry_run"])
    warm_up(llm, model.request, prompts)
    if job["step"] == "published":
        emit(rate=by_calls(llm, model, prompts, model.request.max_tokens, job["seconds"] / 2))
        emit(rate_100_tokens=by_calls(llm, model, prompts, PUBLISHED_TOKENS, job["seconds"] / 2))
        return
    if job["step"] == "cold":
        emit(path=through_the_path(llm, model, folder / "path"))
    share = 1.0 if job["step"] == "cold" else 0.4
    emit(rate=continuously(llm, model, prompts, job["seconds"] * share))
    if job["step"] == "cold":
        emit(options=options(llm, model, prompts[: len(prompts) // 4], job["seconds"] * 0.4))


def emit(**found: Any) -> None:
    """Hand findings to the parent at once: it keeps them whatever happens to this process."""
    print("RESULT " + json.dumps(found), flush=True)


def peak(job: dict[str, Any]) -> None:
    """State the machine, and measure what it can do at best."""
    import torch

    on_gpu = torch.cuda.is_available()
    if not on_gpu and not job["dry_run"]:
        sys.exit("error: torch sees no GPU here; without one only --dry-run says something")
    name = torch.cuda.get_device_name() if on_gpu else device_name(on_cpu=True)
    emit(
        device=name,
        device_kind="cuda" if on_gpu else "cpu",
        torch=torch.__version__,
        python=sys.version.split()[0],
    )
    if on_gpu:
        emit(memory_gb=round(torch.cuda.mem_get_info()[1] / 1e9, 1))
    emit(tflops=round(measure_peak(not on_gpu, job["dtype"]), 3))


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


def load(model: Model, changed: dict[str, Any], dry_run: bool) -> Any:
    """Load random weights under cinorms' settings, some of them ``changed``."""
    started = time.perf_counter()
    for name in ("VLLM_NO_USAGE_STATS", "VLLM_DO_NOT_TRACK"):
        os.environ.setdefault(name, "1")
    LLM, version, on_cpu = import_vllm(model.request.model)
    if on_cpu and not dry_run:
        sys.exit("error: vLLM here is the build for CPUs; without GPU only --dry-run says something")
    if on_cpu:
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    emit(vllm=version, device=device_name(on_cpu), import_seconds=round(time.perf_counter() - started, 1))
    settings = llm_settings(model.request, model.folder, model.max_model_len, model.gpus, on_cpu) | changed
    llm = LLM(model=str(model.folder), load_format="dummy", **settings)
    emit(
        startup_seconds=round(time.perf_counter() - started, 1),
        eager=bool(settings.get("enforce_eager", False)),
    )
    return llm


def warm_up(llm: Any, request: Request, prompts: Sequence[Ids]) -> None:
    """Ask some prompts untimed: the first calls fill allocators."""
    talks = (TextTalk(at, ids, request, None) for at, ids in enumerate(prompts[:WARM_UP]))
    for _ in talk(llm, talks, go_on):
        pass


def through_the_path(llm: Any, model: Model, folder: Path) -> dict[str, Any]:
    """Ask some flows as a job does: prompts, engine, store, and the table of responses."""
    questions = questions_of(replace(model.request, select=PATH))
    engine = VllmEngine({"gpus": model.gpus, "max_model_len": model.max_model_len})
    engine._llm = llm
    started = time.perf_counter()
    ask(folder, questions, engine=engine)
    written = responses_in(folder, questions)
    seconds = time.perf_counter() - started
    return {
        "prompts": len(written),
        "complete": bool(written["text"].notna().all()),
        "finish_reasons": written["finish_reason"].astype(str).value_counts().to_dict(),
        "seconds": round(seconds, 2),
    }


def go_on() -> None:
    """Do nothing between two steps of vLLM."""


def begun_within(seconds: float, talks: Iterator[Talk]) -> Iterator[Talk]:
    """Return those of ``talks`` that begin within ``seconds`` from now."""
    end = time.perf_counter() + seconds
    return takewhile(lambda _: time.perf_counter() <= end, talks)


def continuously(llm: Any, model: Model, prompts: Sequence[Ids], seconds: float) -> dict[str, Any]:
    """Ask as the engine does, new prompts for about ``seconds``."""
    llm.reset_prefix_cache()
    started = time.perf_counter()

    talks = (TextTalk(at, ids, model.request, None) for at, ids in enumerate(prompts))
    counting = Counting(llm)
    done = list(chain.from_iterable(talk(counting, begun_within(seconds, talks), go_on)))
    tokens = sum(len(each.ids) for each in done)
    return rate(
        model,
        len(done),
        time.perf_counter() - started,
        tokens,
        counting.reused,
        sum(each.n_output_tokens for each in done),
    )


def options(llm: Any, model: Model, prompts: Sequence[Ids], seconds: float) -> dict[str, Any]:
    """Ask for the probability of every option, new prompts for about ``seconds``; no branch is left out."""
    tokeniser = Tokeniser.load(model.folder, model.request.settings["wrap"], model.request.model)
    text = tokeniser.texts([questions_of(model.request).chat(0)])[0]
    shown = model.request.answer_scale.options
    written = {option: [tokeniser.continuation(text, how) for how in spellings(option)] for option in shown}
    trie = OptionTrie.of(written, model.request.model)
    llm.reset_prefix_cache()
    started = time.perf_counter()

    talks = (Unpruned(at, ids, trie) for at, ids in enumerate(prompts))
    counting = Counting(llm)
    n = sum(map(len, talk(counting, begun_within(seconds, talks), go_on)))
    took = time.perf_counter() - started
    return {
        "prompts": n,
        "seconds": round(took, 2),
        "prompts_per_second": round(n / took, 1),
        "requests_per_prompt": round(counting.requests / n, 1),
        "requests_per_second": round(counting.requests / took, 1),
    }


def by_calls(
    llm: Any, model: Model, prompts: Sequence[Ids], max_tokens: int, seconds: float
) -> dict[str, Any]:
    """Ask in whole calls as the published code does, as many prompts as should take ``seconds`` after a first try."""
    from vllm import SamplingParams

    sampling = SamplingParams(temperature=0, max_tokens=max_tokens, detokenize=False, ignore_eos=model.random)
    inputs = [{"prompt_token_ids": ids.tolist()} for ids in prompts]

    def ask(some: list[dict[str, Any]]) -> tuple[float, list[Any]]:
        started, replies = time.perf_counter(), []
        for first in range(0, len(some), CALL):
            replies += llm.generate(some[first : first + CALL], sampling, use_tqdm=False)
        return time.perf_counter() - started, replies

    tried = inputs[: max(WARM_UP, min(512, len(inputs) // 4))]
    took, _ = ask(tried)
    n = min(len(inputs), max(len(tried), int(len(tried) / took * seconds)))
    took, replies = ask(inputs[:n])
    tokens = sum(len(ids) for ids in prompts[:n])
    reused = sum(reply.num_cached_tokens or 0 for reply in replies)
    return rate(model, n, took, tokens, reused, sum(len(reply.outputs[0].token_ids) for reply in replies))


def rate(
    model: Model, n: int, seconds: float, prompt_tokens: int, reused: int, output_tokens: int
) -> dict[str, Any]:
    """Return a rate, with what it is made of."""
    per_token, per_sampled = flop_per_token(read_config(model.folder))
    # The last token of an answer is sampled, and never read.
    computed = prompt_tokens - reused + output_tokens - n
    return {
        "prompts": n,
        "seconds": round(seconds, 2),
        "prompts_per_second": round(n / seconds, 1),
        "tokens_per_prompt": round(prompt_tokens / n, 1),
        "share_reused": round(reused / prompt_tokens, 4),
        "output_tokens_per_prompt": round(output_tokens / n, 2),
        "flop_per_prompt": (computed * per_token + output_tokens * per_sampled) / n,
    }


if __name__ == "__main__":
    main()
    emit(done=True)
