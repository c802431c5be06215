"""Reasoning: what an arm can ask for, and what is known of a trace, the text that a model writes before its answer."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from cinorms.inference.spec import Spec

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


def plain(asked: Asked) -> dict[str, Any]:
    """Return what is asked for as plain data."""
    return asked._asdict()
