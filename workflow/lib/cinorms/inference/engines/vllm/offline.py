"""The engine ``vllm``: vLLM loads a checkpoint once per job, is fed continuously, and its replies are kept by time."""

import json
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.draws import draw_bits
from cinorms.core.ending import OPENED, close_vllm
from cinorms.core.errors import CinormsError, ConfigError
from cinorms.core.gpus import refuse_cpu_build
from cinorms.inference import checkpoints, job_state
from cinorms.inference.engine_kind import Handover, Keep, log_of
from cinorms.inference.engines.vllm.conversations import (
    IN_FLIGHT,
    Closing,
    OptionTalk,
    OptionTrie,
    TextTalk,
    ToldReasoning,
    spellings,
    talk,
)
from cinorms.inference.engines.vllm.explain import NOT_ON_CPU, check_quantisation, explain
from cinorms.inference.engines.vllm.tokenise import BLOCK, Ahead, Ids, Tokeniser
from cinorms.inference.processes import process_output, stop_between_steps
from cinorms.inference.questions import Questions, as_numbers
from cinorms.inference.spec import Spec

PromptTalk = TextTalk | OptionTalk

#: Most answered prompts that are handed over, and so journalled, at once.
CHUNK = 8_192
#: Seconds between two times that they are written to the journal's log: its words are decoded for that alone.
LOG_EVERY = 5.0
#: Prompts, spread over all templates, whose length is checked before the weights load.
SAMPLE = 1_000
#: Bytes of the key-value cache on a machine without GPU.
CPU_CACHE = 2**30
#: Bytes of weights below which one core computes faster than several, which would wait for each other longer than work.
SMALL = 50 * 2**20

#: vLLM's switch for computing each answer the same whatever else is in its batch.
BATCH_INVARIANT = "VLLM_BATCH_INVARIANT"
#: With FlashInfer's sampler, log probabilities differ in that mode all the same (vllm-project/vllm #51187).
FLASHINFER_SAMPLER = "VLLM_USE_FLASHINFER_SAMPLER"

#: The engine that this process has loaded, by its folder and settings: it serves every job that needs the same.
_LOADED: dict[str, Any] = {}
#: The adapters that this process has asked, numbered from 1 as vLLM wants it.
_ADAPTERS: dict[str, int] = {}
#: Which asking of an arm that engine has answered last.
_LAST_REPEAT = {"repeat": 1}


class VllmEngine:
    """Asks the checkpoint of ``spec``; ``tuning`` (gpus, max_model_len, batching) changes no response.

    May be asked again and again: the checkpoint stays loaded, also for other engines of this process that need it.
    """

    def __init__(self, spec: Spec, tuning: Mapping[str, Any], chunk: int = CHUNK) -> None:
        self.spec = spec
        self._max_model_len = int(tuning["max_model_len"])
        self._gpus = int(tuning["gpus"])
        self._batching: dict[str, Any] = tuning.get("batching", {})
        self._chunk = chunk
        self._reasoning = ToldReasoning.of(spec)
        self._tokeniser: Tokeniser | None = None
        self._facts: dict[str, Any] = {}
        self._counts = {"prompts": 0, "input_tokens": 0, "output_tokens": 0}

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        """Ask the rows ``todo``; see ``engine_kind.Engine``."""
        model, identity = self.spec.model, self.spec.identity
        folder = checkpoints.find(identity["source"], identity.get("revision"), model)
        self._facts["checkpoint"] = str(folder)
        job_state.current().note(doing="preparing the prompts")
        adapter = self._adapter()
        blocks, talks = self._talks(questions, todo, folder)
        with process_output() as last_lines:
            try:
                llm = self._load(folder)
                if questions.spec.repeat != _LAST_REPEAT["repeat"]:
                    # Each asking computes its prompts itself: the cache would give it what another one has computed.
                    llm.reset_prefix_cache()
                    _LAST_REPEAT["repeat"] = questions.spec.repeat
                self._talk(llm, talks, len(todo), len(questions.grid) - len(todo), keep, adapter)
            except CinormsError:
                raise
            except Exception as error:  # whatever vLLM, torch or the files of a checkpoint may raise
                failure = explain(error, model, last_lines())
                unload()
                raise failure from error
            finally:
                blocks.stop()

    def facts(self) -> dict[str, Any]:
        """Return what the run record states about this engine."""
        return {**self._facts, **self._counts}

    def _talks(
        self, questions: Questions, todo: npt.NDArray[np.int64], folder: Path
    ) -> tuple[Ahead[list[PromptTalk]], Iterator[PromptTalk]]:
        """Return what is asked about each prompt, in the order of ``todo``; prepared while the weights load."""
        spec, identity, reasoning = self.spec, self.spec.identity, self._reasoning
        if self._tokeniser is None:
            trusted = bool(identity.get("trust_remote_code"))
            variables = reasoning.variables() if reasoning else None
            self._tokeniser = Tokeniser.load(folder, identity["wrap"], spec.model, trusted, variables)
        tokeniser = self._tokeniser

        def texts_of(rows: npt.NDArray[np.int64]) -> list[str]:
            texts = tokeniser.texts(questions.chat(int(at)) for at in rows)
            return [reasoning.begun(text) for text in texts] if reasoning else texts

        closing = Closing.of(reasoning, tokeniser) if reasoning and not reasoning.off else None
        # Of all templates some first: loading the weights takes minutes, and a prompt may be too long.
        sample = texts_of(todo[:: max(1, len(todo) // SAMPLE)])
        trie = None
        most = spec.max_tokens + (closing.budget + len(closing.written) if closing else 0)
        if spec.readout == "options":
            # Each option as it can follow prompts that end like the first.
            options = spec.answer_scale.options
            written = {o: [tokeniser.continuation(sample[0], how) for how in spellings(o)] for o in options}
            trie = OptionTrie.of(written, spec.model)
            most = trie.depth

        def checked(texts: Sequence[str]) -> list[Ids]:
            prompts = tokeniser.ids(texts)
            self._check_length(max(map(len, prompts)), most, folder, traced=closing is not None)
            return prompts

        def begun(rows: npt.NDArray[np.int64]) -> list[PromptTalk]:
            prompts = zip(rows.tolist(), checked(texts_of(rows)), strict=True)
            if trie is not None:
                return [OptionTalk(at, ids, trie) for at, ids in prompts]
            seeds = sampling_seeds(spec, questions, rows)
            return [
                TextTalk(*prompt, spec, seed, closing) for prompt, seed in zip(prompts, seeds, strict=True)
            ]

        checked(sample)
        blocks = Ahead(begun, (todo[first : first + BLOCK] for first in range(0, len(todo), BLOCK)))
        return blocks, chain.from_iterable(blocks)

    def _talk(
        self, llm: Any, talks: Iterator[PromptTalk], n_asked: int, n_known: int, keep: Keep, adapter: Any
    ) -> None:
        """Have ``talks``, and ``keep`` the replies by time; ``n_known`` questions have a reply already."""
        started, state = time.monotonic(), job_state.current()
        log = log_of(keep)
        handover: Handover[PromptTalk] = Handover(
            lambda finished: keep(self._replies(finished)),
            self._chunk,
            log=log and (lambda finished: log(self._rows(finished))),
            log_every=LOG_EVERY,
        )
        n_before = self._counts["prompts"]
        with stop_between_steps() as leave_if_told:

            def between_steps(n_read: int) -> None:
                if self._counts["prompts"] == n_before:
                    state.note(doing=f"{n_known + n_read:,} prompts read")
                handover.look()
                leave_if_told()

            try:
                for finished in talk(llm, talks, min(IN_FLIGHT, self._chunk), between_steps, adapter):
                    self._counts["prompts"] += 1
                    self._counts["input_tokens"] += len(finished.ids)
                    self._counts["output_tokens"] += finished.n_output_tokens
                    state.count()
                    handover.add(finished)
            finally:  # also when the job must stop
                handover.flush()
        self._facts["prompts_per_second"] = round(n_asked / (time.monotonic() - started), 1)

    def _rows(self, finished: Sequence[PromptTalk]) -> list[dict[str, Any]]:
        """Return finished conversations as rows of a chunk."""
        if not finished:
            return []
        chunk = self._replies(finished)
        return [
            dict(zip(map(str, chunk), row, strict=True)) for row in chunk.itertuples(index=False, name=None)
        ]

    def _replies(self, finished: Sequence[PromptTalk]) -> pd.DataFrame:
        """Return finished conversations as a chunk (see ``engine_kind.Keep``)."""
        assert self._tokeniser is not None
        columns: dict[str, Any] = {
            "at": np.array([talk.at for talk in finished], dtype=np.int64),
            "n_prompt_tokens": [len(talk.ids) for talk in finished],
        }
        texts = [talk for talk in finished if isinstance(talk, TextTalk)]
        if texts:
            columns |= {
                "text": self._tokeniser.decode([talk.token_ids for talk in texts]),
                "finish_reason": [talk.finish_reason for talk in texts],
                "n_output_tokens": [talk.n_output_tokens for talk in texts],
            }
        else:
            options = [talk.probabilities() for talk in finished if isinstance(talk, OptionTalk)]
            nothing = pd.Series([None] * len(finished), dtype=object)
            columns |= {"text": nothing, "finish_reason": "stop", "n_output_tokens": 0, "p_options": options}
        if self._reasoning:
            columns |= {
                "n_trace_tokens": [len(talk.trace_ids) for talk in texts] or 0,
                "trace_status": [talk.trace_status for talk in texts] or "none",
            }
            if texts and not self._reasoning.off:
                columns["trace"] = self._tokeniser.decode([talk.trace_ids for talk in texts])
        return pd.DataFrame(columns)

    def _check_length(self, longest: int, answer: int, folder: Path, traced: bool = False) -> None:
        """Insist that every prompt and its answer fit: vLLM would cut the answer short without a word."""
        needed, limit = longest + answer, read_config(folder).get("max_position_embeddings")
        written, shorten = "an answer", "max_tokens"
        if traced:
            written, shorten = "an answer with its trace", "max_tokens or the budget"
        problem = f"model {self.spec.model!r}: the longest prompt has {longest} tokens and {written} may have {answer}"
        if limit and needed > limit:
            raise ConfigError(
                f"{problem}; the model takes {limit} in all: lower {shorten}, or ask with shorter templates"
            )
        if needed > self._max_model_len:
            raise ConfigError(
                f"{problem}; `max_model_len` of its entry in config/models.yaml is {self._max_model_len}: "
                f"set it to {needed} or more"
            )

    def _adapter(self) -> Any:
        """Return vLLM's request for the adapter of this model; None without one."""
        identity, model = self.spec.identity, self.spec.model
        if "lora" not in identity:
            return None
        from vllm.lora.request import LoRARequest

        folder = checkpoints.adapter(identity["lora"], identity.get("lora_revision"), model)
        rank = json.loads((folder / checkpoints.ADAPTER[0]).read_bytes()).get("r")
        if not isinstance(rank, int) or rank > identity["lora_rank"]:
            raise ConfigError(
                f"model {model!r}: the adapter in {folder} has rank {rank}, and `lora_rank` of its entry is "
                f"{identity['lora_rank']}: set it to the rank or more, also in the entries that share its start"
            )
        # By what it is, not by its place: under one name the prefix cache would mix two adapters.
        name = identity.get("lora_revision") or str(folder)
        return LoRARequest(name, _ADAPTERS.setdefault(name, len(_ADAPTERS) + 1), str(folder))

    def _load(self, folder: Path) -> Any:
        """Load the checkpoint in ``folder``, on GPUs or, with vLLM's build for CPUs, without."""
        started = time.monotonic()
        for name in ("VLLM_NO_USAGE_STATS", "VLLM_DO_NOT_TRACK"):
            os.environ.setdefault(name, "1")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        # Spawned processes import the job's module, which makes them end with the job.
        os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
        # The spec decides, whatever the environment says: replies are filed under it.
        invariant = bool(self.spec.identity.get("batch_invariant"))
        os.environ[BATCH_INVARIANT] = str(int(invariant))
        if invariant:
            os.environ[FLASHINFER_SAMPLER] = "0"
        LLM, version, on_cpu = import_vllm(self.spec.model)
        if invariant and on_cpu:
            raise ConfigError(f"model {self.spec.model!r}: {NOT_ON_CPU}")
        refuse_cpu_build(f"model {self.spec.model!r}", self._gpus)
        self._facts["vllm"] = version
        gpus = max(1, self._gpus)
        if on_cpu:
            # Three processes and a compiler take longer than a tiny model's whole study.
            os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
            _use_one_core_if_small(folder)
        settings = llm_settings(self.spec, folder, self._max_model_len, gpus, on_cpu) | self._batching
        self._facts |= {"device": device_name(on_cpu), "gpus": 0 if on_cpu else gpus}
        key = json.dumps([str(folder), settings, invariant], sort_keys=True)
        if key in _LOADED:
            return _LOADED[key]
        job_state.current().note(doing="loading the checkpoint")
        unload()
        OPENED.callback(unload)
        llm = _LOADED[key] = LLM(model=str(folder), **settings)
        self._facts["load_seconds"] = round(time.monotonic() - started, 1)
        print(f"Loaded {folder} on {self._facts['device']} in {self._facts['load_seconds']} s.")
        return llm


def unload() -> None:
    """Close the engine that this process has loaded, if any, and end its processes."""
    while _LOADED:
        close_vllm(_LOADED.popitem()[1])


def sampling_seeds(
    spec: Spec, questions: Questions, rows: npt.NDArray[np.int64]
) -> Sequence[int] | Sequence[None]:
    """Return a seed for each prompt of ``rows``; none at temperature 0.

    It is a pure function of the study's seed and the prompt's key: the answer does not depend on what else is in the
    batch. 31 bits: some samplers take no more.
    """
    if not spec.temperature:
        return [None] * len(rows)
    bits = draw_bits("sampling", spec.seed, *as_numbers(questions.prompts[rows]))
    seeds: list[int] = (bits >> np.uint64(33)).tolist()
    return seeds


def llm_settings(spec: Spec, folder: Path, max_model_len: int, gpus: int, on_cpu: bool) -> dict[str, Any]:
    """Return vLLM's settings for loading the checkpoint of ``spec`` in ``folder``."""
    settings: dict[str, Any] = {"tensor_parallel_size": gpus}
    dtype, quantisation = spec.identity.get("dtype", "auto"), spec.identity.get("quantisation", "none")
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

            dtype = "auto" if torch.cpu._is_avx512_bf16_supported() else "float32"
    if rank := spec.identity.get("lora_rank"):
        settings |= {"enable_lora": True, "max_lora_rank": rank}
    return settings | {
        "dtype": dtype,
        "quantization": check_quantisation(read_config(folder), quantisation, spec.model),
        "max_model_len": max_model_len,
        "enable_prefix_caching": True,
        "scheduling_policy": "priority",  # `talk` says which request goes first
        "seed": spec.seed,
        "trust_remote_code": bool(spec.identity.get("trust_remote_code")),
        # A checkpoint's own sampling defaults must not reach the answers unseen.
        "generation_config": "vllm",
        "disable_log_stats": True,
    }


def _use_one_core_if_small(folder: Path) -> None:
    """Let one core compute a model below ``SMALL`` bytes; vLLM allows it before it loads, not after."""
    import torch

    if sum(path.stat().st_size for path in folder.glob("*.safetensors")) < SMALL:
        os.environ["OMP_NUM_THREADS"] = "1"
        torch.set_num_threads(1)


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
