"""Traces beside the journal's parts: each with its reply, none in the parts, and none lost but to a full disk."""

import errno
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.core.errors import JournalError
from cinorms.inference.collected_replies import CollectedReplies
from cinorms.inference.journal import Asker, Journal
from cinorms.inference.journal_files import read_traces
from cinorms.inference.questions import Questions
from cinorms.prompts.variants import list_variants

from ...specs import make_flows, make_spec

TRACE = "One hand, other hand. " * 400


def questions() -> Questions:
    """Return six questions to a model that reasons."""
    spec = make_spec("openai", source="s", n_templates=1, reasoning={"effort": "low", "extra_tokens": 9})
    return Questions.of(spec, make_flows(3), list_variants("set", ["{scenario} {options}"], 1, 2))


def keep(journal: Journal, asked: Questions, at: list[int], traces: list[Any]) -> None:
    """Keep a chunk of replies with traces."""
    chunk = pd.DataFrame({"at": at, "text": "neutral", "finish_reason": "stop"})
    chunk["trace"] = pd.Series(traces, dtype=object)
    CollectedReplies(asked, journal).keep(chunk.assign(n_trace_tokens=3, trace_status="whole"))


def open_journal(folder: Path, asked: Questions, arm: str = "main") -> Journal:
    return Journal.at(folder / ".journal", asked.spec, Asker("study", arm, "m")).begin()


def read(journal: Journal, asked: Questions) -> dict[int, str]:
    parts = list(read_traces(journal.folder, asked.prompts))
    return dict(pd.concat(parts).itertuples(index=False)) if parts else {}


def test_traces_are_found_by_their_prompts_and_are_not_in_the_parts(tmp_path):
    asked = questions()
    journal = open_journal(tmp_path, asked)
    keep(journal, asked, [4, 0], [TRACE + "4", TRACE + "0"])
    keep(journal, asked, [2, 5], ["half \ud800 a letter", None])
    keep(journal, asked, [1], [None])
    assert len(list((journal.folder / "traces").iterdir())) == 2, "a part without traces has no file"
    assert read(journal, asked) == {4: TRACE + "4", 0: TRACE + "0", 2: "half ? a letter"}
    assert "trace" not in journal.read().column_names
    assert sum(path.stat().st_size for path in (journal.folder / "parts").iterdir()) < 18_000


def test_the_first_reply_counts_and_so_does_its_trace(tmp_path):
    asked = questions()
    keep(open_journal(tmp_path, asked), asked, [1], ["first"])
    journal = open_journal(tmp_path, asked, "other")
    keep(journal, asked, [1, 3], ["second", "third"])
    assert read(journal, asked) == {1: "first", 3: "third"}


def test_foreign_files_and_a_damaged_part_hide_no_trace(tmp_path):
    asked = questions()
    journal = open_journal(tmp_path, asked)
    keep(journal, asked, [0], ["one"])
    keep(journal, asked, [1], ["two"])
    first, second = sorted((journal.folder / "parts").iterdir())
    for name in (f"._{first.name}", "a.b.c.parquet"):
        (journal.folder / "parts" / name).write_bytes(b"\0\5")
    second.write_bytes(b"")
    assert read(journal, asked) == {0: "one"}
    assert second.exists()


def test_where_no_trace_can_be_kept_nothing_is_asked(tmp_path):
    """A reply whose trace cannot be written would be lost after it was paid."""
    asked = questions()
    folder = open_journal(tmp_path, asked).folder
    (folder / "traces").rmdir()
    (folder / "traces").write_bytes(b"")
    with pytest.raises(JournalError, match="cannot write the journal"):
        open_journal(tmp_path, asked)


def test_a_full_disk_loses_the_traces_of_a_chunk_and_none_of_its_replies(tmp_path, monkeypatch):
    asked = questions()
    journal, fsync = open_journal(tmp_path, asked), os.fsync

    def full(handle: int) -> None:
        if list(tmp_path.glob(".journal/*/traces/.*.tmp")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    with journal.hold([(0, 0)]):
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(JournalError, match="last chunk was still kept, without its traces"):
            keep(journal, asked, [1, 2], [TRACE, TRACE])
        monkeypatch.undo()
    assert journal.read().num_rows == 2
    assert read(journal, asked) == {}
