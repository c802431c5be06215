"""The spec of an inference job: everything that can change a response, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

import pandas as pd

from cinorms.core.scales import Known, Scale

#: What the name of a shard has after it in every asking but the first.
_REPEAT = "-repeat-"
#: The names of shards, as a regular expression.
PATTERN = rf"\d+-of-\d+(?:{_REPEAT}\d+)?"


def shard_names(count: int, n_variants: int) -> list[str]:
    """Return ``["1-of-3", "2-of-3", "3-of-3"]`` for three shards; never more shards than variants."""
    count = min(count, n_variants)
    return [f"{number}-of-{count}" for number in range(1, count + 1)]


def in_repeat(shard: str, repeat: int) -> str:
    """Return the name of a ``shard`` of the first asking in the asking ``repeat``, counted from 1."""
    return shard if repeat == 1 else f"{shard}{_REPEAT}{repeat}"


def repeat_of(shard: str) -> int:
    """Return which asking a shard belongs to: 1 for the first."""
    return int(shard.partition(_REPEAT)[2] or 1)


def take_shard(variants: pd.DataFrame, shard: str) -> pd.DataFrame:
    """Return the run of ``variants`` that belongs to ``shard``: whole, in order, sizes equal to within one.

    A run of neighbouring variants keeps the prompts of one template together, which the engines' prefix
    caches need.
    """
    number, count = (int(part) for part in shard.partition(_REPEAT)[0].split("-of-"))
    if not 1 <= number <= count:
        raise ValueError(f"there is no shard {shard}")
    first, end = ((number - 1 + step) * len(variants) // count for step in (0, 1))
    return variants.iloc[first:end].reset_index(drop=True)


#: Raise it by hand when the same spec would give other responses: every model is then asked again. Note it in
#: CHANGELOG.md.
PROTOCOL = 1


@dataclass(frozen=True)
class Spec:
    """One shard of a model in an arm, as its job receives it; ``identity`` is what the engine adds.

    As plain data all are keys of one mapping, the keys of ``identity`` among the others.
    """

    protocol: int
    engine: str
    model: str
    shard: str
    seed: int
    scale: Known
    factors: list[str]
    select: Mapping[str, Any]
    n_templates: int
    order_method: str
    #: None: the model takes none.
    temperature: float | None
    max_tokens: int
    readout: str
    layout: str
    system: str | None
    #: Which model this is and how it is asked: source, revision, wrap, ..., under the engine's own names.
    identity: Mapping[str, Any] = field(default_factory=dict)

    @property
    def answer_scale(self) -> Scale:
        """The scale that the options are from."""
        return Scale.of(self.scale)

    @property
    def repeat(self) -> int:
        """Which asking of the arm this is, counted from 1: the name of the shard says it."""
        return repeat_of(self.shard)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Spec:
        """Return the spec that ``plain`` holds; every key that is not of all specs is one of ``identity``."""
        common = {name: plain[name] for name in _COMMON}
        return cls(**common, identity={name: plain[name] for name in plain if name not in common})

    def as_plain(self) -> dict[str, Any]:
        """Return the spec as plain data: what the job receives, and what its file of responses keeps."""
        return {**{name: getattr(self, name) for name in _COMMON}, **self.identity}

    def with_identity(self, **known: Any) -> Spec:
        """Return the spec with more of its ``identity`` known."""
        return replace(self, identity={**self.identity, **known})


_COMMON = tuple(each.name for each in fields(Spec) if each.name != "identity")


#: How long a model is told to reason; ``none``: not at all.
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
OFF = "none"

#: What a trace can be. none: there is none; whole: the model ended it; cut: the budget, or the limit of the request,
#: cut it short; unclosed: the model ended its turn in it. Missing where the engine does not say.
TRACE_STATUSES = ("none", "whole", "cut", "unclosed")


class Asked(NamedTuple):
    """What an arm asks for: the effort, and the budget, the most tokens that a trace may have."""

    effort: str
    budget: int

    @property
    def off(self) -> bool:
        """Whether no trace is asked for."""
        return self.effort == OFF

    @property
    def shown(self) -> str:
        """The condition as a word in tables."""
        return OFF if self.off else f"{self.effort} {self.budget}"


def reasons(spec: Spec) -> bool:
    """Tell whether the responses to ``spec`` have columns about traces."""
    return bool(spec.identity.get("reasoning"))


def split_trace(text: str, begin: str, end: str) -> tuple[str | None, str, bool]:
    """Return the trace at the beginning of ``text``, what follows it, and whether the trace is closed.

    The trace is None where there is none. A template can have opened it in the prompt: then ``end`` alone is in the
    text. Marks after the first ``end`` belong to the answer.
    """
    begin, end = begin.strip(), end.strip()
    opened = text.lstrip().startswith(begin)
    trace, closed, rest = text.partition(end)
    if not closed:
        return (text.lstrip()[len(begin) :], "", False) if opened else (None, text, True)
    if not opened and begin in trace:  # something else comes first: marks that the answer speaks of
        return None, text, True
    return trace.lstrip()[len(begin) if opened else 0 :], rest, True


def status_of(n_tokens: int | None, trace: str | None, finished: bool) -> str | None:
    """Return the status of a trace of which an engine tells some; ``finished``: it did not stop within it."""
    if not finished:
        return "cut"
    if n_tokens or (trace and trace.strip()):
        return "whole"
    return "none" if n_tokens == 0 else None
