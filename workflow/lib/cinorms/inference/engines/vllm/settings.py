"""Settings of a checkpoint that vLLM loads in an entry of config/models.yaml."""

from __future__ import annotations

from pydantic import Field

from cinorms.inference.settings import ServedSettings


class VllmSettings(ServedSettings):
    """A checkpoint that vLLM loads."""

    gpus: int = Field(
        default=1, ge=0, le=1024, description="GPUs that one copy of the model needs (tensor parallel)."
    )
    max_model_len: int = Field(
        default=512, ge=64, le=100_000_000, description="Longest prompt plus answer, in tokens."
    )
    batch_invariant: bool = Field(
        default=False,
        description="Whether vLLM computes each answer the same whatever else is in its batch: slower, on GPUs only "
        "(docs/method/inference/repeats.md).",
    )
    trust_remote_code: bool = Field(
        default=False,
        description="Whether code from the model's repository may run. "
        "Leave it false unless you have read that code.",
    )
