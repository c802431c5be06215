"""Provenance: what every response of a study was made with, when, and at what cost, in one file."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cinorms.core import tables
from cinorms.core.errors import REMEDY, DataError
from cinorms.core.files import sha256_of
from cinorms.core.version import version
from cinorms.inference.responses import request_in
from cinorms.inference.store import known_sum

#: Keys of a run record for those who run jobs, and not for those who read results.
PRIVATE = frozenset({"host", "process", "study"})


def gather(
    study: str,
    models: Sequence[Mapping[str, Any]],
    coders: Sequence[Mapping[str, Any]],
    received: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the provenance of a study.

    ``models`` has one entry per model and arm: ``arm``, ``model``, whether it is ``planted``, and the file of its
    ``responses``. ``coders`` has the same for the coder, one entry per scale. ``received`` has ``arm``, ``model`` and
    the file of ``responses`` of each model whose responses another tool collected. The provenance does not depend on
    when this is called.
    """
    asked, coded = ([_model(entry) for entry in entries] for entries in (models, coders))
    # All arms with the same settings share a store, and what it cost.
    usd = {model["store"]: model["usd"] for model in [*asked, *coded] if model["usd"] is not None}
    elsewhere = []
    for entry in received:
        path = Path(entry["responses"])
        try:
            stated: dict[str, Any] = json.loads(tables.metadata(path)["elsewhere"])
        except (KeyError, ValueError):
            raise DataError(f"{path}: does not state where its responses are from; {REMEDY}") from None
        elsewhere.append({"arm": entry["arm"], "model": entry["model"], **stated})
    return {
        "study": study,
        "cinorms": version(),
        "usd": known_sum(usd.values()),
        "asked": asked,
        **({"coder": coded} if coded else {}),
        **({"received": elsewhere} if elsewhere else {}),
    }


def _model(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known about one model in one arm: its file, and what its replies say of themselves."""
    path = Path(entry["responses"])
    metadata, request = tables.metadata(path), request_in(path)
    finish = tables.read(path, tables.RESPONSES, ["finish_reason"])["finish_reason"].value_counts()
    return {
        **{name: entry[name] for name in ("arm", "scale", "model", "planted") if name in entry},
        "engine": request.engine,
        "request": request.plain(),
        "example_prompt": metadata.get("example_prompt"),
        "example_prompt_sha256": metadata.get("example_prompt_sha256"),
        "responses": int(finish.sum()),
        "sha256": sha256_of(path),
        "cinorms": metadata["cinorms"],
        "finish_reasons": {str(name): int(n) for name, n in finish.items() if n},
        **_replies(path.with_suffix(".json")),
    }


def _replies(path: Path) -> dict[str, Any]:
    """Return what the replies say of themselves; a planted respondent's have no such file, and cost nothing."""
    if not path.is_file():
        return {"usd": None, "runs": []}
    metadata: dict[str, Any] = json.loads(path.read_bytes())
    metadata |= {name: _moment(metadata[name]) for name in ("first_reply", "last_reply")}
    return {
        **metadata,
        "runs": [{k: v for k, v in run.items() if k not in PRIVATE} for run in metadata["runs"]],
    }


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
