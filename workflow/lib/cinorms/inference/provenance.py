"""Provenance: what every response of a study was made with, when, and at what cost, in one file."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from cinorms.core import tables
from cinorms.core.errors import REMEDY, DataError
from cinorms.core.files import sha256_of
from cinorms.core.version import version
from cinorms.inference.journal import Journal
from cinorms.inference.journal_files import known_sum
from cinorms.inference.spec import Spec
from cinorms.inference.spending import spent_in

#: Keys of a run record for those who run jobs, and not for those who read results.
PRIVATE = frozenset({"host", "process", "spec", "asker", "replies"})


def gather(
    study: str,
    asked: Sequence[Mapping[str, Any]],
    coded: Sequence[Mapping[str, Any]],
    spending: str,
    received: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the provenance of a study; its jobs count their costs in the folder ``spending``.

    ``asked`` has one entry per model and arm: ``arm``, ``model``, whether it is ``planted``, the files of its
    ``responses``, one per shard, and of its ``repeats`` where the arm is asked again, and where its ``journal`` is
    (``study.spec.journal_of``), or None. ``coded`` has the
    same for the coder, one entry per scale. ``received`` has ``arm``, ``model`` and the file of ``responses`` of each
    model whose responses another tool collected. The provenance does not depend on when this is called.
    """
    models, coders = ([_model(entry) for entry in entries] for entries in (asked, coded))
    elsewhere = []
    for entry in received:
        path = Path(entry["responses"])
        try:
            stated: dict[str, Any] = json.loads(tables.facts(path)["elsewhere"])
        except (KeyError, ValueError):
            raise DataError(f"{path}: does not state where its responses are from; {REMEDY}") from None
        elsewhere.append({"arm": entry["arm"], "model": entry["model"], **stated})
    return {
        "study": study,
        "cinorms": version(),
        "usd": known_sum(model["usd"] for model in [*models, *coders]),
        "usd_taken_from_the_cap": spent_in(Path(spending)),
        "asked": models,
        **({"coder": coders} if coders else {}),
        **({"received": elsewhere} if elsewhere else {}),
    }


def _model(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known about one model in one arm: its files, and the content of its journal."""
    files, repeats = (
        [_File.read(Path(path)) for path in asked.get(name, ())] for name in ("responses", "repeats")
    )
    finish = sum(
        (file.frame["finish_reason"].value_counts() for file in files[1:]),
        files[0].frame["finish_reason"].value_counts(),
    )
    first = files[0].spec
    journal = Journal.of(asked["journal"], first) if asked["journal"] else None
    return {
        **{name: asked[name] for name in ("arm", "scale", "model") if name in asked},
        "engine": first.engine,
        "planted": asked["planted"],
        "spec": {name: value for name, value in first.as_plain().items() if name != "shard"},
        "example_prompt": files[0].facts.get("example_prompt"),
        "example_prompt_sha256": files[0].facts.get("example_prompt_sha256"),
        "files": [file.described() for file in files],
        **({"repeats": [file.described() for file in repeats]} if repeats else {}),
        "responses": int(sum(len(file.frame) for file in files)),
        "finish_reasons": {str(name): int(n) for name, n in finish.items() if n},
        **_journal(journal, [file.spec.shard for file in (*files, *repeats)]),
    }


class _File(NamedTuple):
    """A file of responses, and what it states of itself."""

    path: Path
    facts: Mapping[str, str]
    spec: Spec
    frame: pd.DataFrame

    @classmethod
    def read(cls, path: Path) -> "_File":
        facts = tables.facts(path)
        try:
            spec = Spec.from_plain(json.loads(facts["spec"]))
        except (KeyError, TypeError, ValueError):
            raise DataError(
                f"{path}: does not state how its responses were asked; {tables.RESPONSES.remedy}"
            ) from None
        return cls(path, facts, spec, tables.read(path, tables.RESPONSES, ["finish_reason"]))

    def described(self) -> dict[str, Any]:
        about = {"shard": self.spec.shard, "responses": len(self.frame)}
        return {**about, "sha256": sha256_of(self.path), "cinorms": self.facts["cinorms"]}


def _journal(journal: Journal | None, shards: Sequence[str]) -> dict[str, Any]:
    """Return what the replies in use say of themselves, what this study paid for them, and the jobs that asked.

    A reply that another study or arm has paid for costs nothing here.
    """
    if journal is None or not journal.folder.exists():
        return {"usd": None, "runs": []}
    runs = journal.runs()
    last = {run["shard"]: run["replies"] for run in runs if run.get("status") == "done" and "replies" in run}
    kept = [last[shard] for shard in shards if shard in last]
    first, end = ([facts[name] for facts in kept if facts[name]] for name in ("first_reply", "last_reply"))
    return {
        "journal": journal.folder.name,
        "replies_kept": sum(facts["replies_kept"] for facts in kept),
        "input_tokens": known_sum(facts["input_tokens"] for facts in kept),
        "output_tokens": known_sum(facts["output_tokens"] for facts in kept),
        "usd": journal.usd(),
        "first_reply": _moment(min(first, default=None)),
        "last_reply": _moment(max(end, default=None)),
        **{
            name: dict(sorted(sum((Counter(facts[name]) for facts in kept), Counter[str]()).items()))
            for name in ("errors", "answered_by", "fingerprints")
        },
        "runs": [{k: v for k, v in run.items() if k not in PRIVATE} for run in runs],
    }


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
