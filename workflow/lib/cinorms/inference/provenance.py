"""Provenance: what every response of a study was made with, when, and at what cost, in one file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cinorms import __version__
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.inference.journal import Journal
from cinorms.inference.spec import Spec
from cinorms.inference.spending import spent_in

#: Keys of a run record for those who run jobs, and not for those who read results.
PRIVATE = frozenset({"host", "process", "spec"})


def gather(
    study: str, asked: Sequence[Mapping[str, Any]], coded: Sequence[Mapping[str, Any]], spending: str
) -> dict[str, Any]:
    """Return the provenance of a study; its jobs count their costs in the folder ``spending``.

    ``asked`` has one entry per model and arm: ``arm``, ``model``, whether it is ``planted``, the files of its
    ``responses``, one per shard, and the folder of its ``journals``, or None. ``coded`` has the same for the coder, one
    entry per scale. The provenance does not depend on when this is called.
    """
    models, coders = ([_model(each) for each in entries] for entries in (asked, coded))
    return {
        "study": study,
        "cinorms": __version__,
        "usd": _sum(model["usd"] for model in [*models, *coders]),
        "usd_taken_from_the_cap": spent_in(Path(spending)),
        "asked": models,
        **({"coder": coders} if coders else {}),
    }


def _model(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known about one model in one arm: its files, and the content of its journal."""
    files = [Path(path) for path in asked["responses"]]
    facts = [tables.facts(path) for path in files]
    specs = [_spec(path, fact) for path, fact in zip(files, facts, strict=True)]
    frames = [tables.read(path, tables.RESPONSES, ["finish_reason"]) for path in files]
    finish = sum(
        (frame["finish_reason"].value_counts() for frame in frames[1:]),
        frames[0]["finish_reason"].value_counts(),
    )
    journal = Journal.at(Path(asked["journals"]), specs[0]) if asked["journals"] else None
    return {
        **{name: asked[name] for name in ("arm", "scale", "model") if name in asked},
        "engine": specs[0].engine,
        "planted": asked["planted"],
        "spec": {name: value for name, value in specs[0].as_plain().items() if name != "shard"},
        "example_prompt": facts[0].get("example_prompt"),
        "example_prompt_sha256": facts[0].get("example_prompt_sha256"),
        "files": [
            _file(path, spec, fact, len(frame))
            for path, spec, fact, frame in zip(files, specs, facts, frames, strict=True)
        ],
        "responses": int(sum(len(frame) for frame in frames)),
        "finish_reasons": {str(name): int(n) for name, n in finish.items() if n},
        **_journal(journal),
    }


def _spec(path: Path, fact: Mapping[str, str]) -> Spec:
    """Return the settings that a file of responses states."""
    try:
        return Spec.from_plain(json.loads(fact["spec"]))
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{path}: does not state how its responses were asked; {tables.RESPONSES.remedy}"
        ) from None


def _file(path: Path, spec: Spec, fact: Mapping[str, str], n: int) -> dict[str, Any]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"shard": spec.shard, "responses": n, "sha256": digest, "cinorms": fact["cinorms"]}


def _journal(journal: Journal | None) -> dict[str, Any]:
    """Return a summary of the whole journal of a model, including what this study no longer asks."""
    if journal is None or not journal.folder.exists():
        return {"usd": None, "runs": []}
    kept = journal.read()
    created = pc.min_max(kept["created"]).as_py()
    return {
        "journal": journal.folder.name,
        "replies_kept": kept.num_rows,
        "input_tokens": pc.sum(kept["n_prompt_tokens"]).as_py(),
        "output_tokens": pc.sum(kept["n_output_tokens"]).as_py(),
        "usd": pc.sum(kept["usd"]).as_py(),
        "first_reply": _moment(created["min"]),
        "last_reply": _moment(created["max"]),
        "errors": _counts(kept["error"]),
        "answered_by": _counts(kept["answered_by"]),
        "fingerprints": _counts(kept["fingerprint"]),
        "runs": [{k: v for k, v in run.items() if k not in PRIVATE} for run in journal.runs()],
    }


def _counts(words: pa.ChunkedArray) -> dict[str, int]:
    """Return how often each word occurs; missing ones do not count."""
    found = pc.value_counts(pc.cast(words.drop_null(), pa.string())).to_pylist()
    return {row["values"]: row["counts"] for row in sorted(found, key=lambda row: str(row["values"]))}


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _sum(amounts: Any) -> float | None:
    """Return the sum of what is known, or None where nothing is."""
    known = [amount for amount in amounts if amount is not None]
    return float(sum(known)) if known else None
