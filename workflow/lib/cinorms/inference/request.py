"""The request: everything that can change a model's replies in an arm, and nothing else.

How a model is reached, how fast and at what price, is its *runtime*, which changes no reply.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

from cinorms.core.scales import PlainScale, Scale

#: Raise it by hand when the same request would give other replies: every model is then asked again. Note it in
#: CHANGELOG.md.
PROTOCOL = 1


@dataclass(frozen=True)
class Request:
    """What one model is asked in one arm; ``settings`` are the engine's own keys.

    As plain data all are keys of one mapping, those of ``settings`` among the others.
    """

    protocol: int
    engine: str
    model: str
    seed: int
    scale: PlainScale
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
    #: Which sample of each prompt this is, counted from 1: the second asks the same prompts again.
    sample: int
    #: Which model this is and how it is asked: source, revision, wrap, ..., under the engine's own names.
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def answer_scale(self) -> Scale:
        """The scale that the options are from."""
        return Scale.from_plain(self.scale)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Request":
        """Return the request that ``plain`` holds; every key that is not of all requests is one of ``settings``."""
        common = {name: plain[name] for name in _COMMON}
        return cls(**common, settings={name: plain[name] for name in plain if name not in common})

    def plain(self) -> dict[str, Any]:
        """Return the request as plain data: what a job receives, and what a file of responses keeps."""
        return {**{name: getattr(self, name) for name in _COMMON}, **self.settings}

    def with_settings(self, **known: Any) -> "Request":
        """Return the request with more of its ``settings`` known."""
        return replace(self, settings={**self.settings, **known})


_COMMON = tuple(each.name for each in fields(Request) if each.name != "settings")


#: How long a model reasons; ``none``: not at all.
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
OFF = "none"


class ReasoningLevel(NamedTuple):
    """How much an arm has its models reason: the effort, and the budget, the most tokens that a trace may have."""

    effort: str
    budget: int

    @property
    def off(self) -> bool:
        """Whether the models write no trace."""
        return self.effort == OFF

    @property
    def shown(self) -> str:
        """The condition as a word in tables."""
        return OFF if self.off else f"{self.effort} {self.budget}"


def reasons(request: Request) -> bool:
    """Tell whether the responses to ``request`` have columns about traces."""
    return bool(request.settings.get("reasoning"))
