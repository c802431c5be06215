"""The trace in a chat completion: apart from the answer where it is sent apart, or between marks in the text.

Endpoints name it in several ways, count it or not, show it or not. What none of them says stays missing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from cinorms.inference.reasoning import split_trace, status_of

#: Fields of a message in which servers send the trace; the first that has a text counts.
_FIELDS = ("reasoning_content", "reasoning")
#: Types of the parts of a message that are its trace.
_PARTS = ("thinking", "reasoning")


class TraceReading(NamedTuple):
    """How to tell a trace from an answer: the marks, whether the text can have them, whether no trace is asked for."""

    begin: str = "<think>"
    end: str = "</think>"
    inline: bool = False
    off: bool = False

    def columns(
        self, message: dict[str, Any], usage: dict[str, Any], text: str, finish: str, n_output: int | None
    ) -> dict[str, Any]:
        """Return the columns of ``journal.PART`` about the trace, its text, and the text that is the answer.

        Where a server shows a trace that it does not count, its length is its share of the reply's characters.
        """
        trace, closed = _shown(message), True
        if trace is None and self.inline:
            trace, text, closed = split_trace(text, self.begin, self.end)
        n_tokens = _counted(usage)
        if n_tokens is None and trace is not None and n_output is not None:
            n_tokens = round(n_output * len(trace) / max(len(trace) + len(text), 1))
        if n_tokens is None and trace is None and self.off:
            n_tokens = 0
        ended = finish == "length" and not text.strip()
        return {
            "text": text,
            "trace": trace,
            "n_trace_tokens": n_tokens,
            "trace_status": status_of(n_tokens, trace, finished=closed and not ended),
        }


def _counted(usage: dict[str, Any]) -> int | None:
    details = usage.get("completion_tokens_details")
    found = details.get("reasoning_tokens") if isinstance(details, dict) else None
    if not isinstance(found, int | float) or isinstance(found, bool) or not 0 <= found < 2**31:
        return None
    return int(found)


def _shown(message: dict[str, Any]) -> str | None:
    """Return the trace that a message has beside its content."""
    for name in _FIELDS:
        if isinstance(found := message.get(name), str) and found:
            return found
    content = message.get("content")
    parts = [p for p in content if isinstance(p, dict)] if isinstance(content, list) else []
    found = "".join(_texts(p.get(p["type"])) for p in parts if p.get("type") in _PARTS)
    return found or None


def _texts(value: Any) -> str:
    if isinstance(value, str):
        return value
    texts = (p.get("text") for p in value if isinstance(p, dict)) if isinstance(value, list) else ()
    return "".join(text for text in texts if isinstance(text, str))
