"""Import the responses of a model in an arm from the files of another tool."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms import __version__
from cinorms.core.errors import DataError
from cinorms.core.logs import SHORTEST_KEY, redact
from cinorms.exchange.matching import NOT_RECEIVED, Matched, match
from cinorms.exchange.received import STATED, Received
from cinorms.exchange.registry import Format
from cinorms.exchange.way import ways_of
from cinorms.inference.spec import Spec

#: Different values of a setting that are noted.
MOST_VALUES = 5


@dataclass
class _Stated:
    """What files state of how their responses were collected, counted on the way."""

    counts: dict[str, Counter[Any]] = field(default_factory=lambda: {name: Counter() for name in STATED})

    def noting(self, received: Iterator[Received]) -> Iterator[Received]:
        """Pass on every response, and note its settings."""
        for one in received:
            for name, value in one.stated.items():
                self.counts[name][value if isinstance(value, str | int | float) else str(value)] += 1
            yield one

    def values(self) -> dict[str, list[Any]]:
        """Return the values of each setting that is stated at all, the most frequent first."""
        return {
            name: [value for value, _ in counts.most_common(MOST_VALUES)]
            for name, counts in self.counts.items()
            if counts
        }


@dataclass(frozen=True)
class Imported:
    """Matched responses, and the facts that their file keeps."""

    matched: Matched
    facts: dict[str, str]

    def message(self, model: str, unmatched: str | Path) -> str:
        """Return how many prompts have a response, and where everything else is listed."""
        matched, reasons = self.matched, dict(self.matched.reasons)
        missing = reasons.pop(NOT_RECEIVED, 0)
        n = len(matched.responses)
        text = f"{model}: {n:,} of {n + missing:,} prompts have a response"
        if missing:
            text += f"; {missing:,} were not received"
        if reasons:
            listed = ", ".join(f"{name} {count:,}" for name, count in reasons.items())
            text += f"; {sum(reasons.values()):,} of {matched.n_received:,} responses are not used ({listed})"
        return text + (f". They are listed in {unmatched}" if missing or reasons else "")


def import_responses(
    format_: Format,
    files: Sequence[str | Path],
    spec: Spec,
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    origin: str | None,
    converted: Path | None = None,
    secrets: Sequence[str] = (),
) -> Imported:
    """Read ``files`` and match their responses to what ``spec`` asks.

    ``converted`` is what the format's converter made of the files. ``origin`` is where the user states that the
    responses are from. ``secrets`` are redacted as in replies to this project's own requests. Raises ``DataError``
    with file and line for what cannot be read.
    """
    (way,) = ways_of([spec], vignettes, variants)
    stated = _Stated()
    paths = [converted] if converted else [Path(file) for file in files]
    keys = [secret for secret in secrets if len(secret) >= SHORTEST_KEY]
    received = stated.noting(_redacted(one, keys) for path in paths for one in _read(format_, path))
    matched = match(way, received, ", ".join(map(str, files)))
    facts = {
        "format": format_.name,
        "origin": origin,
        "files": [_file(Path(file)) for file in files],
        "received": matched.n_received,
        "used": len(matched.responses),
        "unmatched": matched.reasons,
        "stated": stated.values(),
        "unlike_the_arm": _unlike(stated.values(), spec),
        "spec": spec.as_plain(),
    }
    return Imported(
        matched, {"cinorms": __version__, "elsewhere": json.dumps(facts, sort_keys=True, allow_nan=False)}
    )


def _read(format_: Format, path: Path) -> Iterator[Received]:
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; correct 'response_files' of the arm")
    yield from format_.read(path)


def _redacted(one: Received, keys: Sequence[str]) -> Received:
    """Return a response with a mark in place of every key, in every text of it that a file will hold."""
    if not keys:
        return one
    texts: dict[str, Any] = {
        name: redact(text, keys)
        for name in ("file", "text", "finish_reason", "sha256")
        if isinstance(text := getattr(one, name), str)
    }
    stated = {name: redact(x, keys) if isinstance(x, str) else x for name, x in one.stated.items()}
    return replace(one, stated=stated, **texts)


def _file(path: Path) -> dict[str, str]:
    """Return the name and the digest of a file: never its folder, which is of no use elsewhere."""
    return {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def _unlike(stated: Mapping[str, list[Any]], spec: Spec) -> list[str]:
    """Return in which settings the responses were collected otherwise than the arm states."""
    found = []
    for name in ("temperature", "max_tokens"):
        others = [value for value in stated.get(name, []) if value != getattr(spec, name)]
        found += [f"{name} {value} instead of {getattr(spec, name)}" for value in others]
    return found
