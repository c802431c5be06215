"""Import the responses of a model in an arm from the files of another tool."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
    # What files state of how their responses were collected is counted on the way.
    counts: dict[str, Counter[Any]] = {name: Counter() for name in STATED}

    def received() -> Iterator[Received]:
        for path in paths:
            for response in _read(format_, path):
                response = _redacted(response, keys)
                for name, value in response.stated.items():
                    counts[name][value if isinstance(value, str | int | float) else str(value)] += 1
                yield response

    paths = [converted] if converted else [Path(file) for file in files]
    keys = [secret for secret in secrets if len(secret) >= SHORTEST_KEY]
    matched = match(way, received(), ", ".join(map(str, files)))
    stated = {
        name: [value for value, _ in found.most_common(MOST_VALUES)]
        for name, found in counts.items()
        if found
    }
    facts = {
        "format": format_.name,
        "origin": origin,
        # Never the folder of a file, which is of no use elsewhere.
        "files": [
            {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
            for path in map(Path, files)
        ],
        "received": matched.n_received,
        "used": len(matched.responses),
        "unmatched": matched.reasons,
        "stated": stated,
        "unlike_the_arm": [
            f"{name} {value} instead of {getattr(spec, name)}"
            for name in ("temperature", "max_tokens")
            for value in stated.get(name, [])
            if value != getattr(spec, name)
        ],
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
