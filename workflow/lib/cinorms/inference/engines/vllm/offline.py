"""The engine ``vllm``: vLLM loads a checkpoint once per job, is fed continuously, and its replies are kept at once."""

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from cinorms.core.draws import draw_bits
from cinorms.core.ending import OPENED, close_vllm
from cinorms.core.errors import CinormsError, ConfigError
from cinorms.core.gpus import refuse_cpu_build
from cinorms.inference import checkpoints, job_state
from cinorms.inference.engine_kind import Keep
from cinorms.inference.engines.vllm.conversations import (
    Closing,
    OptionTalk,
    OptionTrie,
    ReasoningWay,
    Talk,
    TextTalk,
    spellings,
    talk,
)
from cinorms.inference.engines.vllm.explain import NOT_ON_CPU, check_quantisation, explain
from cinorms.inference.engines.vllm.tokenise import BLOCK, Ids, Tokeniser
from cinorms.inference.processes import process_output, stop_between_steps
from cinorms.inference.questions import Questions, Rows, as_numbers
from cinorms.inference.request import Request

#: Prompts, spread over all templates, whose length is checked before the weights load.
SAMPLE = 1_000
#: Bytes of the key-value cache on a machine without GPU.
CPU_CACHE = 2**30

#: vLLM's switch for computing each answer the same whatever else is in its batch.
BATCH_INVARIANT = "VLLM_BATCH_INVARIANT"
#: With FlashInfer's sampler, log probabilities differ in that mode all the same (vllm-project/vllm #51187).
FLASHINFER_SAMPLER = "VLLM_USE_FLASHINFER_SAMPLER"


class VllmEngine:
    """Asks a checkpoint and its adapters; ``runtime`` (gpus, max_model_len, batching) changes no reply.

    May be asked again and again: the checkpoint stays loaded until the process ends.
    """

    def __init__(self, runtime: Mapping[str, Any]) -> None:
        self._runtime = runtime
        self._llm: Any = None
        #: The adapters that were asked, numbered from 1 as vLLM wants it.
        self._adapters: dict[str, int] = {}
        self._metadata: dict[str, Any] = {}

    def ask(self, questions: Questions, rows: Rows, keep: Keep) -> None:
        """Ask the rows; see ``engine_kind.Engine``."""
        request, model = questions.request, questions.request.model
        folder = checkpoints.find(request.settings["source"], request.settings.get("revision"), model)
        self._metadata["checkpoint"] = str(folder)
        job_state.current().note(doing="preparing the prompts")
        prompts = Prompts(questions, rows, folder, int(self._runtime["max_model_len"]))
        adapter = self._adapter(request)
        blocks = (prompts.begun(rows[first : first + BLOCK]) for first in range(0, len(rows), BLOCK))
        with process_output() as last_lines:
            try:
                self._llm = self._llm or self._load(request, folder)
                if request.sample > 1:
                    # Computed anew: the cache would give a second sample what the first has computed.
                    self._llm.reset_prefix_cache()
                job_state.current().note(doing="asking")
                talks = chain.from_iterable(blocks)
                with stop_between_steps() as leave_if_signalled:
                    for finished in talk(self._llm, talks, leave_if_signalled, adapter):
                        for each, reply in zip(finished, prompts.replies(finished), strict=True):
                            keep(each.at, reply)
            except CinormsError:
                raise
            except Exception as error:  # whatever vLLM, torch or the files of a checkpoint may raise
                failure = explain(error, model, last_lines())
                OPENED.close()
                raise failure from error

    def metadata(self) -> dict[str, Any]:
        """Return what the run record states about this engine."""
        return self._metadata

    def _adapter(self, request: Request) -> Any:
        """Return vLLM's request for the adapter of a model; None without one."""
        settings = request.settings
        if "lora" not in settings:
            return None
        from vllm.lora.request import LoRARequest

        folder = checkpoints.adapter(settings["lora"], settings.get("lora_revision"), request.model)
        rank = json.loads((folder / checkpoints.ADAPTER[0]).read_bytes()).get("r")
        if not isinstance(rank, int) or rank > settings["lora_rank"]:
            raise ConfigError(
                f"model {request.model!r}: the adapter in {folder} has rank {rank}, and `lora_rank` of its entry is "
                f"{settings['lora_rank']}: set it to the rank or more, also in the entries that share its start"
            )
        # By what it is, not by its place: under one name the prefix cache would mix two adapters.
        name = settings.get("lora_revision") or str(folder)
        return LoRARequest(name, self._adapters.setdefault(name, len(self._adapters) + 1), str(folder))

    def _load(self, request: Request, folder: Path) -> Any:
        """Load the checkpoint in ``folder``, on GPUs or, with vLLM's build for CPUs, without."""
        started = time.monotonic()
        job_state.current().note(doing="loading the checkpoint")
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        # Spawned processes import the job's module, which makes them end with the job.
        os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
        # The request decides, whatever the environment says: replies are kept under it.
        invariant = bool(request.settings.get("batch_invariant"))
        os.environ[BATCH_INVARIANT] = str(int(invariant))
        if invariant:
            os.environ[FLASHINFER_SAMPLER] = "0"
        LLM, version, on_cpu = import_vllm(request.model)
        if invariant and on_cpu:
            raise ConfigError(f"model {request.model!r}: {NOT_ON_CPU}")
        refuse_cpu_build(f"model {request.model!r}", int(self._runtime["gpus"]))
        gpus = max(1, int(self._runtime["gpus"]))
        if on_cpu:
            # Three processes and a compiler take longer than a tiny model's whole study.
            os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        settings = llm_settings(request, folder, int(self._runtime["max_model_len"]), gpus, on_cpu)
        llm = LLM(model=str(folder), **(settings | self._runtime.get("batching", {})))
        OPENED.callback(close_vllm, llm)
        seconds, device = round(time.monotonic() - started, 1), device_name(on_cpu)
        self._metadata |= {
            "vllm": version,
            "device": device,
            "gpus": 0 if on_cpu else gpus,
            "load_seconds": seconds,
        }
        print(f"Loaded {folder} on {device} in {seconds} s.")
        return llm


class Prompts:
    """The prompts of one arm as one checkpoint reads them, and what comes back as replies."""

    def __init__(self, questions: Questions, rows: Rows, folder: Path, max_model_len: int) -> None:
        """Read the tokenizer, and check some prompts of all templates: loading the weights takes minutes."""
        request = questions.request
        self._questions, self._request = questions, request
        self._folder, self._max_model_len = folder, max_model_len
        self._way = ReasoningWay.of(request)
        trusted = bool(request.settings.get("trust_remote_code"))
        variables = self._way.variables() if self._way else None
        self._tokeniser = Tokeniser.load(folder, request.settings["wrap"], request.model, trusted, variables)
        self._closing = Closing.of(self._way, self._tokeniser) if self._way and not self._way.off else None
        self._trie: OptionTrie | None = None
        self._most = request.max_tokens
        if self._closing:
            self._most += self._closing.budget + len(self._closing.written)
        sample = self._texts(rows[:: max(1, len(rows) // SAMPLE)])
        if request.readout == "options":
            # Each option as it can follow prompts that end like the first.
            written = {
                option: [self._tokeniser.continuation(sample[0], way) for way in spellings(option)]
                for option in request.answer_scale.options
            }
            self._trie = OptionTrie.of(written, request.model)
            self._most = max(map(len, self._trie.ways))
        self._ids(sample)

    def begun(self, rows: Rows) -> list[Talk]:
        """Return what is asked about each of the rows."""
        prompts = zip(rows.tolist(), self._ids(self._texts(rows)), strict=True)
        if self._trie is not None:
            return [OptionTalk(at, ids, self._trie) for at, ids in prompts]
        seeds = sampling_seeds(self._questions, rows)
        return [
            TextTalk(*prompt, self._request, seed, self._closing)
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]

    def replies(self, finished: Sequence[Talk]) -> list[dict[str, Any]]:
        """Return the replies of finished conversations."""
        nothing = [None] * len(finished)
        decode = self._tokeniser.decode
        texts = nothing if self._trie else decode([each.token_ids for each in finished])
        traces = decode([each.trace_ids for each in finished]) if self._closing else nothing
        replies: list[dict[str, Any]] = []
        for each, text, trace in zip(finished, texts, traces, strict=True):
            reply: dict[str, Any] = {"text": text, "finish_reason": each.finish_reason, "trace": trace}
            reply |= {"n_prompt_tokens": len(each.ids), "n_output_tokens": each.n_output_tokens}
            if isinstance(each, OptionTalk):
                reply["p_options"] = each.probabilities()
            if self._way:
                reply |= {"n_trace_tokens": len(each.trace_ids), "trace_status": each.trace_status}
            replies.append(reply)
        return replies

    def _texts(self, rows: Rows) -> list[str]:
        texts = self._tokeniser.texts(self._questions.chat(int(at)) for at in rows)
        return [self._way.begun(text) for text in texts] if self._way else texts

    def _ids(self, texts: Sequence[str]) -> list[Ids]:
        """Return the tokens; insist that every prompt and its answer fit: vLLM would cut the answer without a word."""
        prompts = self._tokeniser.ids(texts)
        longest, limit = max(map(len, prompts)), read_config(self._folder).get("max_position_embeddings")
        needed = longest + self._most
        written, shorten = "an answer", "max_tokens"
        if self._closing:
            written, shorten = "an answer with its trace", "max_tokens or the budget"
        problem = (
            f"model {self._request.model!r}: the longest prompt has {longest} tokens and {written} may have "
            f"{self._most}"
        )
        if limit and needed > limit:
            raise ConfigError(
                f"{problem}; the model takes {limit} in all: lower {shorten}, or ask in shorter wordings"
            )
        if needed > self._max_model_len:
            raise ConfigError(
                f"{problem}; `max_model_len` of its entry in config/models.yaml is {self._max_model_len}: "
                f"set it to {needed} or more"
            )
        return prompts


def sampling_seeds(questions: Questions, rows: Rows) -> Sequence[int] | Sequence[None]:
    """Return a seed for each prompt of ``rows``; none at temperature 0.

    It is a pure function of the study's seed and the prompt's key: the answer does not depend on what else is in the
    batch. 31 bits: some samplers take no more.
    """
    if not questions.request.temperature:
        return [None] * len(rows)
    bits = draw_bits("sampling", questions.request.seed, *as_numbers(questions.keys[rows]))
    seeds: list[int] = (bits >> np.uint64(33)).tolist()
    return seeds


def llm_settings(
    request: Request, folder: Path, max_model_len: int, gpus: int, on_cpu: bool
) -> dict[str, Any]:
    """Return vLLM's settings for loading the checkpoint of ``request`` in ``folder``."""
    stated = request.settings
    settings: dict[str, Any] = {"tensor_parallel_size": gpus}
    dtype, quantisation = stated.get("dtype", "auto"), stated.get("quantisation", "none")
    if on_cpu:
        settings = {
            "enforce_eager": True,
            # Seeds of single prompts fail there where a prompt is computed in two chunks.
            "enable_chunked_prefill": False,
            "block_size": 32,  # the default there, 128, is longer than most prompts: nothing would be reused
            "kv_cache_memory_bytes": CPU_CACHE,
        }
        if dtype == "auto":  # which takes bfloat16 even of a CPU that has no instructions for it
            import torch

            dtype = "auto" if torch.cpu._is_avx512_bf16_supported() else "float32"  # noqa: SLF001 - torch has no public name
    if rank := stated.get("lora_rank"):
        settings |= {"enable_lora": True, "max_lora_rank": rank}
    return settings | {
        "dtype": dtype,
        "quantization": check_quantisation(read_config(folder), quantisation, request.model),
        "max_model_len": max_model_len,
        "enable_prefix_caching": True,
        "scheduling_policy": "priority",  # `talk` says which request goes first
        "seed": request.seed,
        "trust_remote_code": bool(stated.get("trust_remote_code")),
        # A checkpoint's own sampling defaults must not reach the answers unseen.
        "generation_config": "vllm",
        "disable_log_stats": True,
    }


def import_vllm(model: str) -> tuple[Any, str, bool]:
    """Return vLLM's engine class, its version, and whether it is built for CPUs; raise an error if it is missing."""
    try:
        from vllm import LLM, __version__
        from vllm.platforms import current_platform
    except ImportError as error:
        raise ConfigError(
            f"model {model!r}: vLLM cannot be imported here ({error}); run with --sdm conda "
            "(envs/vllm.yaml), or on a machine without GPU with `make real`"
        ) from error
    on_cpu = bool(current_platform.is_cpu())
    # Where vLLM finds no device it knows of no number either.
    if not on_cpu and (current_platform.is_unspecified() or current_platform.device_count() < 1):
        raise explain(RuntimeError("No CUDA GPUs are available"), model)
    return LLM, __version__, on_cpu


def read_config(folder: Path) -> dict[str, Any]:
    """Return the checkpoint's configuration."""
    config: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
    return config


def device_name(on_cpu: bool) -> str:
    """Return what the model runs on."""
    if on_cpu:
        return f"CPU, {len(os.sched_getaffinity(0))} cores, {platform.processor() or platform.machine()}"
    from vllm.platforms import current_platform

    return str(current_platform.get_device_name())
