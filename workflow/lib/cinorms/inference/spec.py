"""The spec of an inference job: everything that can change a response, and nothing else.

A job asks one shard: a run of the variants of one model in one arm. An arm that is asked again has the same shards once
more for each repeat, under names of their own: ``1-of-3`` of the first asking is ``1-of-3-repeat-2`` of the second.
"""

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
    def from_plain(cls, plain: Mapping[str, Any]) -> "Spec":
        """Return the spec that ``plain`` holds; every key that is not of all specs is one of ``identity``."""
        common = {name: plain[name] for name in _COMMON}
        return cls(**common, identity={name: plain[name] for name in plain if name not in common})

    def as_plain(self) -> dict[str, Any]:
        """Return the spec as plain data: what the job receives, and what its file of responses keeps."""
        return {**{name: getattr(self, name) for name in _COMMON}, **self.identity}

    def with_identity(self, **known: Any) -> "Spec":
        """Return the spec with more of its ``identity`` known."""
        return replace(self, identity={**self.identity, **known})


_COMMON = tuple(each.name for each in fields(Spec) if each.name != "identity")


#: How long a model is told to reason; ``none``: not at all.
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
OFF = "none"


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
