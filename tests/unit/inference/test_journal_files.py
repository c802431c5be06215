"""Replies that have arrived and are no part yet: what a kill leaves of them, at whatever byte."""

import os
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.inference import journal as journals
from cinorms.inference import journal_files
from cinorms.inference.collected_replies import CollectedReplies
from cinorms.inference.engine_kind import Handover, log_of
from cinorms.inference.journal import Asker, Journal
from cinorms.inference.journal_files import logs_in, read_log
from cinorms.inference.questions import Questions

from .test_journal import FLOWS, VARIANTS, spec

ASKER = Asker("one", "main", "m")


def journal_in(folder: Path, asker: Asker = ASKER) -> Journal:
    return Journal.at(folder / ".journal", spec(), asker).begin()


def replies_in(folder: Path, asker: Asker = ASKER) -> CollectedReplies:
    return CollectedReplies(Questions.of(spec(), FLOWS, VARIANTS), journal_in(folder, asker))


def rows(n: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"at": at, "text": f"answer {at}", "finish_reason": "stop", "usd": 0.5, **more} for at in range(n)
    ]


def killed(folder: Path, n: int, **more: Any) -> Path:
    """Leave what a job leaves that is killed when ``n`` replies have arrived, and return its log."""
    left = replies_in(folder)
    assert left.journal is not None
    for row in rows(n, **more):
        left.log([row])
    assert left.journal.log.path is not None
    left.journal.log.close()
    (path,) = logs_in(left.journal.folder)
    return path


def texts(replies: CollectedReplies) -> list[str]:
    replies.recall()
    assert replies.journal is not None
    return sorted(replies.journal.read()["text"].to_pylist())


def test_what_had_arrived_is_known_and_becomes_a_part(tmp_path):
    path = killed(tmp_path, 3, trace="why")
    later = replies_in(tmp_path)
    assert later.journal is not None
    assert not later.journal.is_empty
    assert later.journal.usd() == 1.5
    assert texts(later) == ["answer 0", "answer 1", "answer 2"]
    assert later.n_answered == 3
    with later.journal.hold([(0, 0)]):
        assert not path.exists()
        (part,) = (later.journal.folder / "parts").iterdir()
        assert part.name.startswith(f"{path.stem}.3.")
        assert (later.journal.folder / "traces" / part.name).exists()
    assert texts(replies_in(tmp_path)) == ["answer 0", "answer 1", "answer 2"]
    assert later.journal.usd() == 1.5


def test_another_asker_makes_the_part_too_but_not_of_the_log_of_a_job_that_lives(tmp_path, monkeypatch):
    path = killed(tmp_path, 2)
    other = journal_in(tmp_path, Asker("two", "main", "m"))
    with monkeypatch.context() as patch:
        patch.setattr(journals, "is_free", lambda *given, **named: False)
        with other.hold([(0, 0)]):
            assert path.exists()
    assert other.read().num_rows == 2
    with other.hold([(0, 0)]):
        assert not path.exists()
    assert (other.usd(), journal_in(tmp_path).usd()) == (None, 1.0), "who asked has paid"


def test_a_job_killed_between_its_part_and_the_end_of_its_log_has_its_replies_once(tmp_path):
    replies = replies_in(tmp_path)
    assert replies.journal is not None
    replies.log(rows(4))
    path = replies.journal.log.path
    assert path is not None
    content = path.read_bytes()
    replies.keep(pd.DataFrame(rows(4), dtype=object))
    assert not path.exists()
    path.write_bytes(content)
    assert logs_in(replies.journal.folder) == []
    assert (replies.journal.usd(), replies.journal.read().num_rows) == (2.0, 4)


def test_a_log_has_its_name_only_while_it_is_locked(tmp_path, monkeypatch):
    replies = replies_in(tmp_path)
    assert replies.journal is not None
    folder, log, named = replies.journal.folder, replies.journal.log, []
    with monkeypatch.context() as patch:
        for module, name in ((journal_files.fcntl, "lockf"), (journal_files.os, "close")):
            true = getattr(module, name)
            patch.setattr(
                module, name, lambda *given, true=true: named.append(logs_in(folder)) or true(*given)
            )
        replies.log(rows(1))
        assert named == [[]], "before the lock"
        assert logs_in(folder) == [log.path]
        log.end()
        assert named == [[], []], "when the lock ends"
    left = folder / "arriving" / f".1.{replies.journal._mark}.log.{replies.journal._mark}.tmp"
    left.touch()
    with replies.journal.hold([(0, 0)]):
        assert not left.exists()


def test_a_log_that_became_a_part_or_is_another_persons_stays_as_it_is(tmp_path, monkeypatch):
    path = killed(tmp_path, 2)
    other = journal_in(tmp_path, Asker("two", "main", "m"))
    true = Path.open

    def refuse(self: Path, *given: Any, **named: Any) -> Any:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return true(self, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        with other.hold([(0, 0)]):
            assert path.exists()
    assert other.read().num_rows == 2
    with monkeypatch.context() as patch:
        listed = [[path], []]  # between the two, the job that asked has made its part
        patch.setattr(journals, "logs_in", lambda folder: listed.pop(0))
        with other.hold([(0, 0)]):
            assert not list((other.folder / "parts").iterdir())


def test_a_torn_end_is_cut_at_whatever_byte_and_a_changed_bit_costs_one_reply(tmp_path, capsys):
    path = killed(tmp_path, 3)
    content = path.read_bytes()
    ends = [at for at, byte in enumerate(content) if byte == ord("\n")]
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert len(read_log(path)[0]) == sum(length > end for end in ends)
    assert capsys.readouterr().out == ""
    chance = random.Random(1)
    for _ in range(200):
        changed = bytearray(content)
        changed[chance.randrange(len(content) - 1)] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        chunk, keys = read_log(path)
        assert len(chunk) == len(keys) == 2 or (len(chunk) == 1 and changed.count(b"\n") != 3)
        assert set(chunk["text"]) < {"answer 0", "answer 1", "answer 2"}
        assert "asked again" in capsys.readouterr().out


@pytest.mark.parametrize("value", ["half a letter \ud800", 10**400, ["a"], {"a": 1}, "line\nbreak \u2028"])
def test_an_odd_value_costs_no_other_reply(tmp_path, value):
    left = replies_in(tmp_path)
    assert left.journal is not None
    left.log([{**rows(1)[0], "text": value}, *rows(3)[1:]])
    left.journal.log.close()
    later = replies_in(tmp_path)
    later.recall()
    assert later.n_answered == 3


def test_a_full_disk_ends_the_log_and_not_the_job(tmp_path, monkeypatch, capsys):
    replies, write = replies_in(tmp_path), os.write
    assert replies.journal is not None
    replies.log(rows(2))
    monkeypatch.setattr(journal_files.os, "write", lambda handle, data: write(handle, data[:10]))
    replies.log(rows(4)[2:])
    monkeypatch.undo()
    replies.log(rows(5)[4:])
    assert capsys.readouterr().out.count("kept in parts alone") == 1
    assert replies.journal.log.path is not None
    assert len(read_log(replies.journal.log.path)[0]) == 2
    replies.keep(pd.DataFrame(rows(5), dtype=object))
    assert journal_in(tmp_path).read().num_rows == 5
    replies.log(rows(6)[5:])
    assert len(logs_in(replies.journal.folder)) == 1, "the next chunk is tried again"


def test_the_disk_is_waited_for_at_most_every_half_second(tmp_path, monkeypatch):
    synced, now = [], [100.0]
    monkeypatch.setattr(journal_files.os, "fdatasync", synced.append)
    monkeypatch.setattr(journal_files.time, "monotonic", lambda: now[0])
    replies = replies_in(tmp_path)
    handover: Handover[dict[str, Any]] = Handover(print, 100, log=log_of(replies), clock=lambda: now[0])
    for row in rows(6):
        now[0] += 0.2
        handover.add(row)
        handover.look()
    assert len(synced) == 2
    now[0] += 0.5
    handover.look()
    handover.look()
    assert len(synced) == 3, "the last replies too, and nothing twice"


def test_replies_are_written_down_as_often_as_stated_and_each_once():
    now, logged = [10.0], []
    handover: Handover[int] = Handover(print, 100, clock=lambda: now[0], log=logged.extend, log_every=5.0)
    for number in range(12):
        handover.add(number)
        now[0] += 1
    assert logged == list(range(11))
    handover.flush()
    assert log_of(logged.append) is None
