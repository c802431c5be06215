"""The store: what arrived is kept, whatever happens to the process or its files, and nothing is asked twice."""

import errno
import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from cinorms.core.errors import StoreError
from cinorms.inference import store as module
from cinorms.inference.questions import KEY_BYTES, Keys
from cinorms.inference.request import Request
from cinorms.inference.store import Store, Unanswered, paid_in, sample_settings

from ...asking import make_request

RUN = {"model": "m", "shard": "1-of-1"}
FACTS = {"finish_reason": "stop", "n_prompt_tokens": 3, "p_options": None, "usd": 0.5}


def keys(*numbers: int) -> Keys:
    return np.array([n.to_bytes(KEY_BYTES, "little") for n in numbers], dtype=f"V{KEY_BYTES}")


def opened(root: Path, request: Request | None = None, study: str = "s") -> Store:
    store = Store(root, request or make_request(source="o/n"), study)
    store.open(RUN)
    return store


def add(store: Store, *numbers: int, **facts: Any) -> None:
    for number in numbers:
        store.add(keys(number)[0].tobytes(), {"text": f"reply {number}", **FACTS, **facts})


def texts(store: Store, *numbers: int) -> dict[int, str | None]:
    found = store.read(keys(*numbers))
    return {numbers[at]: json.loads(reply).get("text") for at, reply in found.items()}


def files(store: Store) -> list[Path]:
    return sorted(store.folder.glob("*.jsonl"))


def test_replies_of_all_processes_are_read_the_first_one_counts_and_none_is_changed(tmp_path):
    first, second = opened(tmp_path), opened(tmp_path)
    add(first, 1, 2)
    add(second, 2, 3, text="later")
    found = texts(Store(tmp_path, make_request(source="o/n")), 1, 2, 3, 4)
    assert found == {1: "reply 1", 2: "reply 2", 3: "later"}
    before = files(first)[0].read_bytes()
    first.close({"status": "done"})
    first.close({"status": "again"})
    add(second, 5)
    assert files(second)[0].read_bytes().startswith(before)
    assert second.answered(keys(1, 4, 5, 1)).tolist() == [True, False, True, True]
    assert first.folder.name.startswith("o-n.")


def test_what_a_kill_has_torn_and_what_is_damaged_is_left_out(tmp_path, capsys):
    store = opened(tmp_path)
    add(store, 1, 2, 3)
    (path,) = files(store)
    whole = path.read_bytes()
    for cut in range(len(whole) - 60, len(whole)):
        path.write_bytes(whole[:cut])
        assert texts(store, 1, 2, 3) == {1: "reply 1", 2: "reply 2"}
    assert "damaged" not in capsys.readouterr().out
    path.write_bytes(whole.replace(b"reply 2", b"reply 9"))
    assert texts(store, 1, 2, 3) == {1: "reply 1", 3: "reply 3"}
    assert f"{path}: 1 damaged lines are ignored; the replies in them are asked" in capsys.readouterr().out
    path.unlink()
    path.mkdir()
    with pytest.raises(
        StoreError, match=r"cannot be read \(Is a directory\); make it readable and run again"
    ):
        texts(store, 1)


def test_the_reply_that_was_written_first_counts_whatever_file_it_is_in(tmp_path):
    """A file that began earlier gets later lines: what a study has collected does not change by them."""
    begun_first, begun_later = opened(tmp_path), opened(tmp_path)
    add(begun_later, *range(1, 433), text="collected")
    before = Store(tmp_path, make_request(source="o/n")).read(keys(*range(1, 433)))
    add(begun_first, *range(1, 433), text="came later")
    after = Store(tmp_path, make_request(source="o/n")).read(keys(*range(1, 433)))
    assert sum(before[at] != after[at] for at in range(432)) == 0


def test_what_failed_is_open_in_every_study_and_counts_until_there_is_an_answer(tmp_path):
    wanted = keys(1, 2, 3, 1)
    store, failure = opened(tmp_path), {"text": None, "finish_reason": "error", "failed": True}
    add(store, 1, 2, error="503", **failure)
    for study in ("s", "another"):
        assert Store(tmp_path, make_request(source="o/n"), study).answered(wanted).tolist() == [False] * 4
    other = opened(tmp_path, study="another")
    unanswered = Unanswered(other, wanted)
    assert (len(unanswered), unanswered.look(), unanswered.to_ask().tolist()) == (4, 0, [0, 1, 2])
    # What fails from now on is left to the next run, whoever has asked it.
    add(store, 1, error="503 again", **failure)
    assert (unanswered.look(), len(unanswered), unanswered.n_failed) == (0, 2, 2)
    assert json.loads(other.read(wanted)[0])["error"] == "503"
    add(other, 1, 2)
    assert (unanswered.look(), unanswered.rows()) == (1, [2])
    assert texts(store, 1, 2, 3) == {1: "reply 1", 2: "reply 2"}
    add(store, 2, error="503", **failure)
    assert texts(store, 1, 2, 3) == {1: "reply 1", 2: "reply 2"}
    assert Unanswered(other, wanted).rows() == [2]


def test_what_grows_is_read_on_from_where_it_ended(tmp_path, monkeypatch):
    store = opened(tmp_path)
    add(store, *range(50))
    unanswered, n_checked = Unanswered(store, keys(*range(60))), []
    monkeypatch.setattr(module, "crc32", lambda text: n_checked.append(1) or crc32(text))
    add(store, 50, 51)
    written = len(n_checked)
    assert (unanswered.look(), len(n_checked) - written, len(unanswered)) == (2, 2, 8)
    with files(store)[0].open("ab") as file:  # half of a line, then the rest of it
        line = module._line(keys(52)[0].tobytes().hex().encode(), {"text": "x"})
        for part, n in ((line[:30], 0), (line[30:], 1)):
            file.write(part)
            file.flush()
            assert unanswered.look() == n


@pytest.mark.parametrize("text", ['"error":', ',"trace":"x"}', "}\n\\", "\ud800 \x00", "", "é" * 5000])
def test_no_text_looks_like_the_fields_of_a_reply(tmp_path, text):
    store = opened(tmp_path)
    add(store, 1, text=text, trace=f"before {text}")
    other = Store(tmp_path, make_request(source="o/n"), "another study")
    assert dict(other.traces(keys(1, 2))) == {0: f"before {text}"}
    facts = {name: value for name, value in FACTS.items() if value is not None}
    assert json.loads(other.read(keys(1))[0]) == {"text": text, **facts}


def test_records_say_who_asked_and_how_that_ended(tmp_path):
    done, killed, idle = opened(tmp_path), opened(tmp_path), opened(tmp_path, study="t")
    add(done, 1, 2)
    done.close({"status": "done", "device": "here"})
    add(killed, 3, usd=0.25, text=None, error="content_filter: the reply was withheld")
    add(killed, 4, usd=None)
    idle.close({"status": "done"})
    first, second, unasked = done.runs()
    assert (unasked["study"], unasked["status"]) == ("t", "done"), (
        "what a job paid for in vain has its record too"
    )
    assert (first["study"], first["model"], first["status"], first["device"]) == ("s", "m", "done", "here")
    assert (first["process"], "ended" in first, "ended" in second) == (os.getpid(), True, False)
    assert not list(done.folder.glob(".t*")), "what was kept free is given back"
    paid = list(paid_in(sorted(tmp_path.glob("*/*.jsonl")), "s"))
    assert paid == [(("m", "1-of-1"), 1.0), (("m", "1-of-1"), 0.25)]
    other = Store(tmp_path, make_request(source="o/n"), "t")
    assert (done.usd(), other.usd()) == (1.25, None)
    assert texts(done, 3, 4) == texts(other, 3, 4) == {3: None, 4: "reply 4"}


def test_a_full_disk_is_one_message_and_costs_no_reply(tmp_path, monkeypatch):
    store, write, room = opened(tmp_path), os.write, [2]
    (spare,) = store.folder.glob(".*.spare")
    assert spare.stat().st_size == module.SPARE_BYTES
    free = room.append

    def on_a_full_disk(handle: int, line: bytes) -> int:
        if not spare.exists() and len(room) == 1:
            free(3)
        if sum(room) == 0:
            return write(handle, line[:7])  # as much as still fits
        room[0] -= 1
        return write(handle, line)

    monkeypatch.setattr(module.os, "write", on_a_full_disk)
    add(store, 1, 2)
    with pytest.raises(StoreError, match=r"cannot write replies \(the disk is full\); free some space there"):
        add(store, 3)
    add(store, 4, 5)  # what was under way
    with pytest.raises(StoreError, match="free some space there"):
        add(store, 6)
    store.close({"status": "failed"})
    assert sorted(texts(store, 1, 2, 3, 4, 5, 6)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EROFS, "make it writable, or give the study another folder with --directory"),
        (errno.EMFILE, r"allow more open files \(ulimit -n\)"),
        (errno.EFBIG, r"allow larger files \(ulimit -f\)"),
        (errno.EDQUOT, "free some space there"),
    ],
)
def test_where_nothing_can_be_written_it_says_so_before_anything_is_asked(
    tmp_path, monkeypatch, number, advice
):
    def refuse(*arguments: Any) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module.os, "open", refuse)
    with pytest.raises(
        StoreError, match=rf"cannot write replies \({os.strerror(number)}\); {advice}, then run"
    ):
        opened(tmp_path)
    assert not list(tmp_path.glob("*/.*.spare"))


def test_a_machine_that_loses_power_loses_no_more_than_two_seconds(tmp_path, monkeypatch):
    clock, synced = [100.0], []
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0], time_ns=time.time_ns))
    monkeypatch.setattr(module.os, "fdatasync", lambda handle: synced.append(clock[0]))
    store = opened(tmp_path)
    for clock[0] in (101.0, 102.0, 103.5, 104.0):
        add(store, 1)
    assert synced == [100.0, 102.0, 104.0]


def test_other_settings_or_another_layout_are_another_store(tmp_path, monkeypatch):
    store = opened(tmp_path)
    stated = json.loads((store.folder / "settings.json").read_bytes())
    assert (stated["source"], stated["format"]) == ("o/n", 1)
    other = opened(tmp_path, make_request(source="o/n", temperature=0.7))
    assert (other.folder != store.folder, other.is_empty) == (True, False)
    monkeypatch.setattr("cinorms.inference.store.FORMAT", 2)
    assert Store(tmp_path, make_request(source="o/n"), "s").is_empty


# --- Settings


def settings_for(engine: str = "openai", **changes: Any) -> dict[str, Any]:
    return sample_settings(make_request(engine, **{"source": "s", "wrap": "none", **changes}))


CAN = {"source": "t", "revision": "abc", "base_url": "http://h/v1", "dtype": "float16", "quantisation": "awq"}
CAN |= {"temperature": 0.5, "max_tokens": 9, "protocol": 2, "readout": "options", "of an engine": "new"}
CAN |= {"reasoning": {"effort": "low"}}
CANNOT = {"n_templates": 7, "select": {"sender": ["x"]}, "order_method": "random", "factors": ["sender"]}
CANNOT |= {
    "layout": "instruction_in_system",
    "system": "Be brief.",
    "sample": 2,
    "seed": 9,
    "temperature": 0.0,
}


@pytest.mark.parametrize("engine", ["openai", "vllm"])
def test_what_can_change_a_reply_is_a_setting_and_nothing_else(engine):
    usual = settings_for(engine)
    assert [name for name in CAN if settings_for(engine, **{name: CAN[name]}) == usual] == []
    assert [name for name in CANNOT if settings_for(engine, **{name: CANNOT[name]}) != usual] == []


def test_a_seed_an_entrys_name_a_wrapper_and_options_count_where_they_change_a_reply():
    for temperature in (0.7, None):  # a model with reasoning takes no temperature, and draws
        assert settings_for(temperature=temperature) != settings_for(temperature=temperature, seed=9)
    assert settings_for(temperature=0.7) != settings_for(temperature=0.6)
    assert json.dumps(settings_for(temperature=1.0)) == json.dumps(settings_for(temperature=1))
    assert settings_for("openai") != settings_for("vllm")
    # Weights are known by their source; what stands behind an address can change, and then gets another name.
    assert settings_for("vllm", model="a") == settings_for("vllm", model="b")
    assert settings_for("openai", model="a") != settings_for("openai", model="b")
    assert settings_for("vllm", wrap="llama2") != settings_for("vllm")
    assert settings_for("openai", wrap="chat_template") == settings_for("openai")
    assert settings_for("vllm", readout="options")["options"]
    assert "options" not in settings_for("vllm")
