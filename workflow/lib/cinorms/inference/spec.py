"""The spec of an inference job: everything that can change a response, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from cinorms.core.scales import Known, Scale
from cinorms.inference.shards import repeat_of

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
