"""The journal: what was kept is there whole or not at all, and reused where the prompt is the same."""

import errno
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.ask import write_shard
from cinorms.core import tables
from cinorms.core.errors import JournalError
from cinorms.inference import journal, journal_files
from cinorms.inference.collected_replies import CollectedReplies
from cinorms.inference.journal import IN_MESSAGES, NOT_SETTINGS, PART, Asker, Journal, sample_settings
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec, shard_names
from cinorms.prompts.variants import list_variants

from ...engines import Answering
from ...specs import ask_shard, make_flows, make_spec

LIBRARY = Path(journal.__file__).parents[2]


def variants(templates: int = 4, orders: int = 2) -> pd.DataFrame:
    return list_variants("t", [f"{t} {{scenario}} {{options}}" for t in range(templates)], templates, orders)


def spec(**changes: Any) -> Spec:
    return make_spec("recording", **{"n_templates": 4, **changes})


FLOWS, VARIANTS = make_flows(8), variants()


def ask(
    folder: Path,
    engine: Answering | None = None,
    flows: pd.DataFrame = FLOWS,
    asked: pd.DataFrame = VARIANTS,
    **changes: Any,
) -> pd.DataFrame:
    made = spec(**changes)
    out = folder / f"{made.shard}.parquet"
    write_shard(made, flows, asked, out, engine or Answering(), journal_in(folder, **changes))
    return tables.read(out, tables.RESPONSES)


def asked_by(folder: Path, *given: Any, **changes: Any) -> list[tuple[int, str]]:
    """Ask, and return what the engine was asked: nothing that the journal has."""
    engine = Answering()
    ask(folder, engine, *given, **changes)
    return engine.asked


def check_same(folder: Path, before: pd.DataFrame, n_asked: int = 0) -> None:
    """Ask again: the responses are the same, and so many prompts were asked once more."""
    engine = Answering()
    pd.testing.assert_frame_equal(ask(folder, engine), before)
    assert len(engine.asked) == n_asked


def journal_in(folder: Path, **changes: Any) -> Journal:
    return Journal.at(folder / ".journal", spec(**changes)).begin()


def parts(folder: Path) -> list[Path]:
    return sorted(folder.glob(".journal/*/parts/*.parquet"))


def test_everything_is_asked_once_and_kept(tmp_path):
    engine = Answering(chunk=7)
    responses = ask(tmp_path, engine)
    assert len(responses) == len(set(engine.asked)) == len(engine.asked) == 64
    without, _ = ask_shard(spec(), FLOWS, VARIANTS, Answering())
    assert without["text"].tolist() == responses["text"].tolist()
    check_same(tmp_path, responses)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the file of a job that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    ask(folder)
    return (folder / "1-of-1.parquet").read_bytes()


@given(chunks=st.lists(st.integers(0, 5), min_size=1, max_size=6), size=st.integers(1, 20))
@settings(max_examples=10)
def test_the_file_is_the_same_however_often_the_job_was_stopped(chunks, size, whole, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stopped")
    asked = []
    for n in [*chunks, 10**9]:
        engine = Answering(chunk=size, chunks=n)
        with suppress(InterruptedError):
            ask(folder, engine)
        asked += engine.asked
    assert len(asked) == len(set(asked)) == 64
    assert (folder / "1-of-1.parquet").read_bytes() == whole


# --- What is reused


def test_other_shards_re_use_every_response(tmp_path):
    whole = ask(tmp_path)
    for shards in (shard_names(3, 8), shard_names(5, 8)):
        engine = Answering()
        stacked = tables.stack([ask(tmp_path, engine, shard=shard) for shard in shards], tables.RESPONSES)
        assert engine.asked == []
        for column in ("flow", "variant", "text"):
            assert stacked[column].tolist() == whole[column].tolist()


def test_more_templates_orders_and_flows_ask_only_those_and_fewer_ask_nothing(tmp_path):
    ask(tmp_path, None, make_flows(5), variants(3, 1), n_templates=3)
    asked = asked_by(tmp_path)
    assert len(asked) == 64 - 15
    assert not {(flow, f"{t}_0") for flow in range(5) for t in range(3)} & set(asked)
    engine = Answering()
    assert len(ask(tmp_path, engine, make_flows(3))) == 24
    assert engine.asked == []


def test_a_mended_vignette_asks_its_flow_and_a_mended_template_its_variants(tmp_path):
    ask(tmp_path)
    flows, engine = make_flows(8), Answering()
    flows.loc[5, "vignette"] = "flow five"
    responses = ask(tmp_path, engine, flows)
    assert {flow for flow, _ in engine.asked} == {5}
    assert responses.loc[responses["flow"] == 5, "text"].str.contains("flow five").all()
    mended = VARIANTS.assign(template=VARIANTS["template"].str.replace("2 {scenario}", "two {scenario}"))
    assert {variant for _, variant in asked_by(tmp_path, flows, mended)} == {"2_0", "2_1"}


def test_another_order_of_the_options_is_another_prompt(tmp_path):
    ask(tmp_path, order_method="fixed")
    engine = Answering()
    responses = ask(tmp_path, engine, order_method="balanced")
    assert 0 < len(engine.asked) < 64  # where the balanced order happens to be the fixed one, nothing changes
    whole, _ = ask_shard(spec(), FLOWS, VARIANTS, Answering())
    assert responses["text"].tolist() == whole["text"].tolist()


@pytest.mark.parametrize(
    "change",
    [{"temperature": 0.7}, {"source": "other"}, {"revision": "abc"}, {"readout": "options"}],
    ids=lambda change: next(iter(change)),
)
def test_other_settings_are_never_mixed_in(tmp_path, change, capsys):
    ask(tmp_path)
    assert len(asked_by(tmp_path, **change)) == 64
    (name,) = change
    shown = json.dumps(spec().as_plain().get(name))
    if name != "source":  # another model's journals are not this one's
        printed = capsys.readouterr().out
        assert f"{name} {shown} instead of {json.dumps(change[name])}" in printed
        assert "format" not in printed
    assert asked_by(tmp_path) == []


def test_settings_are_all_of_a_spec_but_what_is_in_the_prompts(tmp_path):
    drawn = spec(temperature=0.5)
    assert set(drawn.as_plain()) - set(sample_settings(drawn)) == NOT_SETTINGS | IN_MESSAGES
    stated = json.loads((journal_in(tmp_path, temperature=0.5).folder / "settings.json").read_bytes())
    assert stated == {"format": 1, **sample_settings(drawn)}


# --- Damage


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:99] + bytes([data[99] ^ 1]) + data[100:],
        lambda data: b"",
        lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    ],
    ids=["truncated", "changed", "empty", "footer"],
)
def test_a_damaged_part_is_reported_and_only_it_is_asked_again(tmp_path, damage, capsys):
    before = ask(tmp_path, Answering(chunk=7))
    victim = parts(tmp_path)[3]
    victim.write_bytes(damage(victim.read_bytes()))
    check_same(tmp_path, before, 7)
    assert f"{victim.name} is damaged; its 7 responses are asked again" in capsys.readouterr().out
    assert [path.name for path in tmp_path.glob(".journal/*/damaged/*")] == [victim.name]
    assert asked_by(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "states"),
    [
        ('{"format": 2}', "format 2"),
        ('{"format": "1"}', "format '1'"),
        ('{"temperature": 0}', "no format"),
        ("{", "no format (Expecting"),
        ("[]", "no format"),
        ("", "no format (Expecting"),
    ],
)
def test_a_journal_of_another_format_is_refused_and_nothing_is_asked(tmp_path, content, states):
    before = ask(tmp_path)
    (folder,) = (tmp_path / ".journal").iterdir()
    (folder / "settings.json").write_text(content)
    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    engine = Answering()
    for refused in (
        lambda: ask(tmp_path, engine),
        lambda: Journal.at(tmp_path / ".journal", spec()),
        lambda: Journal.of({"journal": str(tmp_path / ".journal")}, spec()),
    ):
        with pytest.raises(JournalError) as caught:
            refused()
        message = str(caught.value)
        assert message.startswith(f"{folder / 'settings.json'}: states {states}")
        assert "this version of cinorms reads format 1. Run the version that wrote the journal" in message
        assert "delete it" in message
    assert engine.asked == []
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == kept
    # What the message says: a damaged file is deleted, and costs nothing.
    (folder / "settings.json").unlink()
    check_same(tmp_path, before)


def test_foreign_files_are_named_once_and_cost_no_reply(tmp_path, capsys):
    before = ask(tmp_path, Answering(chunk=7))
    (folder,) = (tmp_path / ".journal").iterdir()
    real = parts(tmp_path)
    foreign = [f"._{real[0].name}", "a.b.c.parquet", "x.parquet", f"{real[1].stem} (1).parquet", "note.txt"]
    for name in foreign:
        (folder / "parts" / name).write_bytes(b"\0\5\x16\7")
    (folder / "parts" / real[0].name.replace(".64.", ".5.").replace(".7.", ".6.", 1)).mkdir()
    mark = real[0].name.split(".")[1]
    for name, content in {"._r": b"\0\xff", "l": b"[1]", "d": b"{}", "e": b""}.items():
        (folder / f"runs/{name}.{mark}.json").write_bytes(content)
    (folder / "claims/._x.keys").write_bytes(b"12345")
    capsys.readouterr()
    for attempt in (1, 2):
        check_same(tmp_path, before)
        printed = capsys.readouterr().out
        for name in ("a.b.c.parquet", "._r."):
            assert printed.count(name) == (attempt == 1), printed
    assert set(real) < set(parts(tmp_path))
    assert [run["status"] for run in journal_in(tmp_path).runs() if run] == ["done"] * 3


def test_a_damaged_part_that_cannot_be_moved_is_asked_again(tmp_path, capsys):
    before = ask(tmp_path, Answering(chunk=7))
    (folder,) = (tmp_path / ".journal").iterdir()
    (folder / "damaged").write_bytes(b"")
    parts(tmp_path)[3].write_bytes(b"")
    for asked in (7, 0):  # its replies are in another part then
        check_same(tmp_path, before, asked)
        assert "it cannot be moved to" in capsys.readouterr().out


def test_a_part_that_cannot_be_read_is_not_paid_again(tmp_path, monkeypatch):
    ask(tmp_path)
    read_bytes = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.suffix == ".parquet":
            raise PermissionError(errno.EACCES, "Permission denied")
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    engine = Answering()
    with pytest.raises(JournalError, match=r"cannot be read \(Permission denied\)"):
        ask(tmp_path, engine)
    assert engine.asked == []


def test_a_claim_that_is_being_written_is_read_as_far_as_it_is_whole(tmp_path, monkeypatch):
    keys = Questions.of(spec(), FLOWS, VARIANTS).prompts
    monkeypatch.setattr(journal_files, "is_free", lambda handle: False)
    (tmp_path / "a.keys").write_bytes(keys[:3].tobytes() + b"half")
    assert journal_files.Claims(tmp_path, "b").taken(keys).tolist() == [True] * 3 + [False] * (len(keys) - 3)


def test_left_overs_of_a_killed_writer_are_no_parts(tmp_path):
    ask(tmp_path)
    (folder,) = tmp_path.glob(".journal/*/parts")
    (folder / f".123.4.{Asker().mark}-1-of-1.tmp").write_bytes(b"half")
    assert asked_by(tmp_path) == []
    assert not list(folder.glob(".*"))


def test_the_first_reply_to_a_question_counts(tmp_path):
    """Two jobs that ran side by side without locks: whichever part is older, at every later reading."""
    before = ask(tmp_path)
    replies = journal_in(tmp_path).read()
    journal_in(tmp_path).keep(replies.set_column(1, "text", [["no"] * 64]).cast(PART))
    assert len(parts(tmp_path)) == 2
    check_same(tmp_path, before)


# --- A disk that is full, a folder that is closed


ODD = ["a\ud800", 7, 1.5, [1], {"a": 1}, b"\xff", object()]


@pytest.mark.parametrize("column", [name for name in PART.names if name != "prompt"])
@pytest.mark.parametrize("odd", [*ODD, "word", 2**70], ids=lambda odd: type(odd).__name__)
def test_a_reply_that_cannot_be_kept_costs_no_other(tmp_path, column, odd):
    """Whatever an engine hands over; those of this project hand over what can be kept."""
    kept = journal_in(tmp_path)
    replies = CollectedReplies(Questions.of(spec(), FLOWS, VARIANTS), kept)
    rows = [{"at": at, "text": f"answer {at}", "finish_reason": "stop", column: None} for at in range(5)]
    rows[2][column] = odd
    replies.keep(pd.DataFrame(rows, dtype=object))
    found = kept.read().to_pylist()
    assert [row["prompt"] for row in found] == [bytes(key) for key in replies.questions.prompts[:5]]
    assert len(found) == replies.n_answered == 5
    if found[2]["finish_reason"] == "error" and "cannot hold" in str(found[2]["error"]):
        assert "sha256" in found[2]["error"]
        assert found[2]["text"] is None
    else:
        assert found[2][column] is not None
    own = {"text", "finish_reason"} - {column}
    others = [{name: row[name] for name in own} for at, row in enumerate(found) if at != 2]
    assert others == [{name: rows[at][name] for name in own} for at in (0, 1, 3, 4)]


def test_a_full_disk_keeps_the_chunk_in_hand_and_says_so(tmp_path, monkeypatch):
    """The disk has no room for the third part, but for what the journal had set aside."""
    fsync = os.fsync

    def full(handle: int) -> None:
        being_written = list(tmp_path.glob(".journal/*/parts/.*.tmp"))
        if len(parts(tmp_path)) == 2 and being_written and list(tmp_path.glob(".journal/*/spare.*")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    engine = Answering(chunk=7)
    with pytest.raises(JournalError, match=r"No space left.*free some space.*last chunk was still kept"):
        ask(tmp_path, engine)
    assert len(engine.asked) == 21
    monkeypatch.undo()
    assert len(asked_by(tmp_path)) == 64 - 21


def test_a_really_full_disk(tmp_path):
    """The same on a small file system of its own, where this process may mount one."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(tmp_path)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("cannot mount a file system here")
    try:
        folder = tmp_path / "responses"
        of = spec()
        journal = Journal.at(folder / ".journal", of).begin()
        with journal.hold([(0, 0)]):
            (tmp_path / "ballast").write_bytes(b"x" * (2**20 - 64 * 1024))
            data = np.random.default_rng(1)
            replies = CollectedReplies(Questions.of(of, FLOWS, VARIANTS), journal)

            def fill() -> None:
                for _ in range(50):
                    texts = [data.bytes(150).hex() for _ in range(64)]
                    replies.keep(pd.DataFrame({"at": range(64), "text": texts}))

            with pytest.raises(JournalError, match="last chunk was still kept"):
                fill()
        n_parts = len(parts(folder))
        assert n_parts >= 2
        (tmp_path / "ballast").unlink()
        assert journal.read().num_rows == 64 * n_parts
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_folder_that_cannot_be_written_is_one_message_before_anything_is_asked(tmp_path):
    (tmp_path / ".journal").write_bytes(b"in the way")
    engine = Answering()
    with pytest.raises(JournalError, match="make it writable"):
        ask(tmp_path, engine)
    assert engine.asked == []


# --- Two jobs

HOLDER = """
import sys, time
from pathlib import Path
from cinorms.inference.journal import Journal
from cinorms.inference.spec import Spec
journal = Journal.at(Path(sys.argv[1]) / '.journal', Spec.from_plain({spec!r})).begin()
with journal.hold({places!r}):
    journal.start_run({{}})
    print("held", flush=True)
    time.sleep(900)
"""


def hold(folder: Path, places: list[tuple[int, int]], **changes: Any) -> subprocess.Popen[str]:
    program = HOLDER.format(spec=spec(**changes).as_plain(), places=places)
    environment = {**os.environ, "PYTHONPATH": str(LIBRARY)}
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_an_orphaned_job_and_its_successor_do_not_ask_the_same(tmp_path):
    """Not under another split into shards either; and a killed job holds nobody up."""
    holder = hold(tmp_path, [(0, 0), (0, 1), (1, 0)], shard="1-of-3")
    try:
        journal = Journal.at(tmp_path / ".journal", spec(shard="1-of-1")).begin()
        with (
            pytest.raises(JournalError, match=rf"another job asks the same variants.*process {holder.pid}"),
            journal.hold([(t, o) for t in range(4) for o in range(2)], patience=0.2),
        ):
            pass
        with journal.hold([(1, 1), (2, 0)], patience=0.2):
            pass  # another shard's variants
    finally:
        holder.kill()
        holder.wait()
    with journal.hold([(0, 0)], patience=5):
        assert journal.start_run({}).exists()


def test_the_record_of_a_killed_job_says_so(tmp_path):
    holder = hold(tmp_path, [(0, 0)])
    holder.kill()
    holder.wait()
    ask(tmp_path)
    assert [run["status"] for run in journal_in(tmp_path).runs()] == ["killed", "done"]


def test_the_journal_outlives_the_responses(tmp_path):
    """Snakemake removes the declared output before it runs a job again, and nothing else."""
    ask(tmp_path)
    (tmp_path / "1-of-1.parquet").unlink()
    assert asked_by(tmp_path) == []
    shutil.rmtree(tmp_path / ".journal")
    assert len(asked_by(tmp_path)) == 64
