"""What the journal remembers of each batch: a killed job finds its batches again and pays for none twice."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from cinorms.core.errors import JournalError
from cinorms.core.files import write_whole
from cinorms.inference.journal_files import explained, own_files
from cinorms.inference.spending import as_amount

#: Names of notes: the batch's mark.
_NOTE = re.compile(r"[0-9a-f]{32}\.json")


@dataclass
class Batch:
    """One batch: written down before it is created, under a random mark that the API also receives."""

    mark: str
    #: Names of its questions (``Questions.name``); they name the prompts, so they outlive shards and jobs.
    ids: list[str]
    #: When this was written, in seconds since 1970.
    written: float
    #: Input tokens that it puts into the account's queue, and what it costs at most; estimates.
    tokens: float
    usd: float
    #: Who created it (``journal.Asker.mark``), so who pays.
    asker: str
    #: What the API calls it; None until it is known to have been created.
    batch_id: str | None = None
    #: Jobs that have taken their replies from it.
    harvested: list[str] = field(default_factory=list)
    #: Whether the API took none of it: its questions are free for another batch.
    void: bool = False


class BatchNotes:
    """The batches of one journal: one small file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def new(self, ids: Sequence[str], tokens: float, usd: float, asker: str) -> Batch:
        """Write down a batch that is about to be created."""
        batch = Batch(uuid.uuid4().hex, list(ids), time.time(), tokens, usd, asker)
        self.save(batch)
        return batch

    def save(self, batch: Batch) -> None:
        """Write down the new state of a batch."""
        with explained(self._folder):
            write_whole(self._folder / f"{batch.mark}.json", json.dumps(asdict(batch)).encode())

    def all(self) -> list[Batch]:
        """Return every batch that was ever written down, oldest first."""
        return sorted(map(_read, own_files(self._folder, _NOTE)), key=lambda batch: batch.written)


def _read(path: Path) -> Batch:
    try:
        batch = Batch(**json.loads(path.read_bytes()))
        for amount in (batch.written, batch.tokens, batch.usd):
            as_amount(amount)
        return replace(batch, ids=list(batch.ids), harvested=list(batch.harvested))
    except (OSError, ValueError, TypeError):
        raise JournalError(
            f"{path}: the note of a batch is damaged, and its prompts would be paid again. Restore the file from a "
            "copy and run again; if there is none, delete it: they are then asked and paid again"
        ) from None
