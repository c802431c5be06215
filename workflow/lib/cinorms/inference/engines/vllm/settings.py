"""Settings of a checkpoint that vLLM loads in an entry of config/models.yaml."""

from typing import Literal

from pydantic import Field

from cinorms.core.schema import LeftOut
from cinorms.inference.settings import ServedSettings, TraceMarks


class VllmReasoning(TraceMarks):
    """How a model that reasons is told how long to do so, in arms with `reasoning`."""

    switch: LeftOut[str] = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Variable of the chat template that is true for reasoning and false for none (enable_thinking). Without it, none
    is an empty trace, written for the model."""
    effort_variable: LeftOut[str] = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Variable of the chat template that receives the effort as a word (reasoning_effort)."""


class VllmSettings(ServedSettings):
    """A checkpoint that vLLM loads."""

    gpus: int = Field(default=1, ge=0, le=1024)
    """GPUs that one copy of the model needs (tensor parallel)."""
    max_model_len: int = Field(default=512, ge=64, le=100_000_000)
    """Longest prompt plus answer, in tokens."""
    max_num_seqs: LeftOut[int] = Field(default=None, ge=1, le=65_536)
    """Most prompts that vLLM answers at once; its default, 256 on smaller GPUs, is few for short answers."""
    max_num_batched_tokens: LeftOut[int] = Field(default=None, ge=64, le=10_000_000)
    """Most tokens that vLLM reads and writes in one step."""
    lora: LeftOut[str] = None
    """Folder of a LoRA adapter of `source`, as PEFT writes it: another respondent, asked with the same start."""
    lora_rank: LeftOut[Literal[1, 8, 16, 32, 64, 128, 256, 320, 512]] = None
    """Highest rank of the adapters that the engine is loaded for. A model and its adapters share one start if all their
    entries state the same; the replies of a model loaded with it are kept by themselves."""
    batch_invariant: bool = False
    """Whether vLLM computes each answer the same whatever else is in its batch: slower, on GPUs only
    (docs/method/inference/asking.md)."""
    trust_remote_code: bool = False
    """Whether code from the model's repository may run. Leave it false unless you have read that code."""
    reasoning: LeftOut[VllmReasoning] = Field(default=None, description=str(VllmReasoning.__doc__))
