"""vLLM's failures, each as one message with what to do."""

import re
from collections.abc import Mapping
from typing import Any

from cinorms.core.errors import EngineError

NOT_ON_CPU = (
    "`batch_invariant: true` needs a GPU (vLLM's build for CPUs has no such mode); set it to false, or run on a "
    "machine with a GPU"
)
#: What is looked for in an exception or in the last lines of vLLM's processes, and what to do then.
KNOWN = {
    r"(?i)batch.?invarian": (
        "this GPU, this version of vLLM or these weights cannot run in batch-invariant mode: set `batch_invariant: "
        "false` in its entry in config/models.yaml, or take a GPU that can (NVIDIA: compute capability 8.0 or higher)"
    ),
    r"out of memory|No available memory for the cache blocks|Free memory on device|larger than the available KV": (
        "the GPU's memory is full: check with nvidia-smi that no other job uses it, take a GPU with more "
        "memory, raise `gpus` in the model's entry in config/models.yaml, or lower its `max_model_len`"
    ),
    r"less than requested memory for kv": (
        "this machine's memory is full: stop other programs, or give the job more with mem_mb"
    ),
    r"contains custom code|requires you to execute|trust_remote_code=True": (
        "its repository has its own code, which runs only if you have read it and set "
        "`trust_remote_code: true` in its entry in config/models.yaml"
    ),
    r"architectures? .*(not supported|failed to be inspected)|does not recognize this architecture": (
        "this version of vLLM does not know such models: see envs/vllm.yaml for its version"
    ),
    r"No CUDA GPUs|Found no NVIDIA|NVIDIA driver|no kernel image|Failed to infer device type": (
        "no GPU is visible: request one from the cluster (profiles/slurm) and check that nvidia-smi lists it; on a "
        "machine without GPU, `make real` uses vLLM's build for CPUs"
    ),
    r"World size|number of GPUs|divisible by tensor|[Dd]ivisible by .*tensor parallel|placement group": (
        "`gpus` in its entry in config/models.yaml does not suit this machine or the model's number of heads"
    ),
    r"/dev/shm|shm_open|Errno (30|38)\b": (
        "it needs a writable folder /dev/shm: mount one, or start the container with --shm-size"
    ),
    r"SafetensorError|incomplete metadata|PytorchStreamReader": (
        "a file of its weights is damaged: delete the checkpoint's folder and fetch it again"
    ),
    r"quantization method|Unknown quantization|not supported for the current GPU": (
        "this GPU or this version of vLLM cannot run weights with this quantisation"
    ),
}


def explain(error: BaseException, model: str, output: str = "") -> EngineError:
    """Return why vLLM failed, found in ``error``, in its causes, or in the ``output`` of vLLM's processes."""
    chain: list[str] = []
    link: BaseException | None = error
    while link is not None:
        chain.append(f"{type(link).__name__}: {link}")
        link = link.__cause__ or link.__context__
    # Where another process failed, the exception here says no more than that.
    elsewhere = re.search(r"[Ee]ngine ?[Cc]ore|EngineDead|WorkerProc|background process", chain[0])
    for text in ("\n".join(chain), output if elsewhere else ""):
        for pattern, advice in KNOWN.items():
            if line := next(filter(re.compile(pattern).search, text.splitlines()), ""):
                # vLLM's processes begin their lines with who and when.
                line = re.sub(
                    r"^(\([^)]*\)\s*)?((ERROR|INFO|WARNING) [\d-]+ [\d:]+ \[[^\]]*\]\s*)?", "", line
                )
                return _stopped(model, line.strip(), advice)
    return _stopped(model, chain[0].splitlines()[0], "the log has the rest")


def _stopped(model: str, line: str, advice: str) -> EngineError:
    return EngineError(
        f"model {model!r}: vLLM stopped ({line[:300]}); {advice}. Every reply so far is in the store"
    )


def check_quantisation(config: Mapping[str, Any], stated: str, model: str) -> str | None:
    """Return the quantisation to ask vLLM for: none where the checkpoint itself says how it was quantised.

    Raises ``EngineError`` where the registry says something else than the checkpoint: the model would be
    filed under a wrong quantisation.
    """
    method = str((config.get("quantization_config") or {}).get("quant_method") or "none")
    same = {"compressed-tensors": method, "fbgemm_fp8": "fp8"}.get(method, method)
    if method != "none":
        if same != stated and method != "compressed-tensors":
            raise EngineError(
                f"model {model!r}: its checkpoint is quantised with {method}, its entry in config/models.yaml "
                f"says `quantisation: {stated}`; correct the entry"
            )
        return None
    if stated in ("fp8", "bitsandbytes"):  # made from whole weights while they are loaded
        return stated
    if stated not in ("none", "gguf"):  # GGUF's few bits were widened when the checkpoint was converted
        raise EngineError(
            f"model {model!r}: its entry in config/models.yaml says `quantisation: {stated}`, its checkpoint "
            "is not quantised; correct `source` or the entry"
        )
    return None
