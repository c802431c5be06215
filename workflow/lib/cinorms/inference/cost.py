"""What it costs to ask: how the plan computes it from an engine's rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Mean length of a trace as a share of the budget, where the rates of the registry state none.
# ASSUME: half; see results of a pilot (n_trace_tokens) for a model's own.
TRACE_SHARE = 0.5


@dataclass(frozen=True)
class Work:
    """What one model is asked in one arm: tokens in, out and of traces, the GPUs of one copy, and its rates."""

    input_tokens: int
    output_tokens: int
    gpus: int
    rates: Mapping[str, float]
    trace_tokens: int = 0


@dataclass(frozen=True)
class Cost:
    """The cost of that work; None where there is no rate, which is not the same as costing nothing."""

    gpu_minutes: float | None
    usd: float | None


def cost_by_rates(work: Work) -> Cost:
    """Return the cost of ``work`` at the rates of the model's entry."""
    rates, minutes, usd = work.rates, None, None
    if "tokens_per_second" in rates:
        minutes = work.gpus * work.input_tokens / rates["tokens_per_second"] / 60
        if work.trace_tokens:  # answers are short, and in the rate of their prompts; traces are not
            written = rates.get("output_tokens_per_second")
            minutes = minutes + work.gpus * work.trace_tokens / written / 60 if written else None
    if {"usd_per_million_input", "usd_per_million_output"} <= rates.keys():
        paid_in = work.input_tokens * rates["usd_per_million_input"]
        usd = (paid_in + (work.output_tokens + work.trace_tokens) * rates["usd_per_million_output"]) / 1e6
    return Cost(minutes, usd)


def no_cost(work: Work) -> Cost:
    """Return the cost of asking no model."""
    return Cost(0.0, 0.0)
