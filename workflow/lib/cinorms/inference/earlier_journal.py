"""Journals as earlier versions kept them, one per arm and model: read on for ever, and never written.

    responses/{arm}/{model}/.journal/{key}/settings.json, parts/*.parquet, runs/*.json, batches/*.json

``key`` is a hash of all settings of the arm (``samples.settings_of``), and a reply is known by flow, variant and a hash
of its prompt. What of it answers a question of today is copied into the journal that all studies share, by the first
job that looks; the earlier journal stays the record of what was paid.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from cinorms.inference.journal_files import parts_in, read_part, records_in, whole_parts
from cinorms.inference.samples import settings_of
from cinorms.inference.spec import Spec

_WORD = pa.dictionary(pa.int32(), pa.string())
#: A part of an earlier journal. Every column but the first three may be missing.
PART = pa.schema(
    [
        pa.field("flow", pa.int32(), nullable=False),
        pa.field("variant", _WORD, nullable=False),
        pa.field("prompt", pa.uint64(), nullable=False),
        ("text", _WORD),
        ("finish_reason", _WORD),
        ("n_prompt_tokens", pa.int32()),
        ("n_output_tokens", pa.int32()),
        ("p_options", pa.list_(pa.float32())),
        ("error", _WORD),
        ("reply_id", pa.string()),
        ("created", pa.int64()),
        ("answered_by", _WORD),
        ("fingerprint", _WORD),
        ("usd", pa.float64()),
    ]
)


@dataclass(frozen=True)
class EarlierJournal:
    """The journal of one model in one arm under one set of settings."""

    folder: Path

    @classmethod
    def at(cls, root: Path, spec: Spec) -> EarlierJournal | None:
        """Return the journal of ``spec`` in ``root``, the folder of its model's journals, if there is one."""
        key = hashlib.sha256(json.dumps(settings_of(spec), sort_keys=True).encode()).hexdigest()[:16]
        return cls(root / key) if (root / key).is_dir() else None

    def parts(self) -> list[Path]:
        """Return the files with its replies, oldest first."""
        return parts_in(self.folder / "parts")

    def read(self, mend: bool = True) -> pa.Table:
        """Return every reply in it, oldest part first; a damaged part is put aside unless nothing is to ``mend``."""
        parts = [read_part(data, PART) for _, data in whole_parts(self.folder, mend)]
        return pa.concat_tables([PART.empty_table(), *parts]).unify_dictionaries()

    def runs(self) -> list[dict[str, Any]]:
        """Return the records of its jobs, oldest first."""
        return [record for _, record in records_in(self.folder / "runs")]
