"""What the journal remembers of each batch: a killed job finds its batches again and pays for none twice."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cinorms.core.files import write_whole
from cinorms.inference.journal import explained


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
    #: What the API calls it; None until it is known to have been created.
    batch_id: str | None = None
    #: Shards that have taken their replies from it.
    harvested: list[str] = field(default_factory=list)
    #: Whether the API took none of it: its questions are free for another batch.
    void: bool = False


class BatchNotes:
    """The batches of one journal: one small file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def new(self, ids: Sequence[str], tokens: float, usd: float) -> Batch:
        """Write down a batch that is about to be created."""
        batch = Batch(uuid.uuid4().hex, list(ids), time.time(), tokens, usd)
        self.save(batch)
        return batch

    def save(self, batch: Batch) -> None:
        """Write down the new state of a batch."""
        with explained(self._folder):
            write_whole(self._folder / f"{batch.mark}.json", json.dumps(asdict(batch)).encode())

    def all(self) -> list[Batch]:
        """Return every batch that was ever written down, oldest first."""
        batches = [Batch(**json.loads(path.read_bytes())) for path in self._folder.glob("*.json")]
        return sorted(batches, key=lambda batch: batch.written)
