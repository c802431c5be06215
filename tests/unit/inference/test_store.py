"""The store: what arrived is kept, whatever happens to the process or its files, and nothing is asked twice."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cinorms.core.errors import StoreError
from cinorms.inference import store as module
from cinorms.inference.questions import KEY_BYTES, Keys
from cinorms.inference.request import Request
from cinorms.inference.store import Store, paid_in, sample_settings

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
    assert texts(Store(tmp_path, make_request(source="o/n")), 1, 2, 3, 4) == {
        1: "reply 1",
        2: "reply 2",
        3: "later",
    }
    before = files(first)[0].read_bytes()
    first.close({"status": "done"})
    add(second, 5)
    assert files(second)[0].read_bytes().startswith(before)
    assert second.answered(keys(1, 4, 5)).tolist() == [True, False, True]
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
    assert "1 damaged lines are ignored" in capsys.readouterr().out


@pytest.mark.parametrize("text", ['"error":', ',"trace":"x"}', "}\n\\", "\ud800 \x00", "", "é" * 5000])
def test_no_text_looks_like_the_fields_of_a_reply(tmp_path, text):
    store = opened(tmp_path)
    add(store, 1, text=text, trace=f"before {text}")
    other = Store(tmp_path, make_request(source="o/n"), "another study")
    assert texts(other, 1) == {1: text}
    assert dict(other.traces(keys(1))) == {0: f"before {text}"}
    assert json.loads(other.read(keys(1))[0]) == {
        "text": text,
        "finish_reason": "stop",
        "n_prompt_tokens": 3,
        "usd": 0.5,
    }


def test_an_error_counts_in_its_own_study(tmp_path):
    add(opened(tmp_path), 1, text=None, error="no answer")
    request = make_request(source="o/n")
    assert texts(Store(tmp_path, request, "s"), 1) == {1: None}
    assert texts(Store(tmp_path, request, "other"), 1) == {}


def test_records_say_who_asked_and_how_that_ended(tmp_path):
    done, killed, idle = opened(tmp_path), opened(tmp_path), opened(tmp_path, study="t")
    add(done, 1, 2)
    done.close({"status": "done", "device": "here"})
    add(killed, 3, usd=0.25)
    idle.close({"status": "done"})
    first, second = done.runs()
    assert (first["study"], first["model"], first["status"], first["device"]) == ("s", "m", "done", "here")
    assert first["process"] == os.getpid()
    assert "ended" in first
    assert "ended" not in second
    assert not list(done.folder.glob(".t*")), "what was kept free is given back"
    assert list(paid_in(sorted(tmp_path.glob("*/*.jsonl")), "s")) == [
        (("m", "1-of-1"), 1.0),
        (("m", "1-of-1"), 0.25),
    ]
    assert (done.usd(), Store(tmp_path, make_request(source="o/n"), "t").usd()) == (1.25, None)


def test_a_full_disk_is_one_message_and_costs_no_reply(tmp_path, monkeypatch):
    store, write, room = opened(tmp_path), os.write, [2]

    def on_a_full_disk(handle: int, line: bytes) -> int:
        if not any(store.folder.glob(".*.spare")):
            room[0] += 3
        if room[0] == 0:
            return write(handle, line[:7])  # as much as still fits
        room[0] -= 1
        return write(handle, line)

    monkeypatch.setattr(module.os, "write", on_a_full_disk)
    add(store, 1, 2)
    with pytest.raises(StoreError, match=r"cannot write replies \(the disk is full\); free some space there"):
        add(store, 3)
    add(store, 4)  # what was under way
    store.close({"status": "failed"})
    assert sorted(texts(store, 1, 2, 3, 4)) == [1, 2, 3, 4]


@pytest.mark.parametrize("number", [errno.EROFS, errno.EMFILE, errno.ENOSPC])
def test_where_nothing_can_be_written_it_says_so_before_anything_is_asked(tmp_path, monkeypatch, number):
    def refuse(*arguments: Any) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(module.os, "open", refuse)
    with pytest.raises(StoreError, match=r"then run again\. All earlier replies are kept"):
        opened(tmp_path)


def test_other_settings_or_another_layout_are_another_store(tmp_path, monkeypatch):
    store = opened(tmp_path)
    stated = json.loads((store.folder / "settings.json").read_bytes())
    assert (stated["source"], stated["format"]) == ("o/n", 1)
    other = opened(tmp_path, make_request(source="o/n", temperature=0.7))
    assert other.folder != store.folder
    assert other.is_empty is False
    monkeypatch.setattr("cinorms.inference.store.FORMAT", 2)
    assert Store(tmp_path, make_request(source="o/n"), "s").is_empty


# --- Settings


def settings_for(engine: str = "openai", **changes: Any) -> dict[str, Any]:
    return sample_settings(make_request(engine, **{"source": "s", "wrap": "none", **changes}))


@pytest.mark.parametrize(
    "change",
    [
        {"source": "t"},
        {"revision": "abc"},
        {"base_url": "http://localhost/v1"},
        {"dtype": "float16"},
        {"quantisation": "awq"},
        {"temperature": 0.5},
        {"max_tokens": 9},
        {"protocol": 2},
        {"readout": "options"},
        {"reasoning": {"effort": "low"}},
        {"anything": "that an engine adds"},
    ],
    ids=lambda change: next(iter(change)),
)
@pytest.mark.parametrize("engine", ["openai", "vllm"])
def test_what_can_change_a_reply_is_a_setting(engine, change):
    assert settings_for(engine, **change) != settings_for(engine)


@pytest.mark.parametrize(
    "change",
    [
        {"n_templates": 7},
        {"select": {"sender": ["x"]}},
        {"order_method": "random"},
        {"factors": ["sender"]},
        {"layout": "instruction_in_system"},
        {"system": "Be brief."},
        {"sample": 2},
        {"seed": 9},
        {"temperature": 0.0},
    ],
    ids=lambda change: next(iter(change)),
)
@pytest.mark.parametrize("engine", ["openai", "vllm"])
def test_what_cannot_is_none(engine, change):
    assert settings_for(engine, **change) == settings_for(engine)


def test_a_seed_an_entrys_name_a_wrapper_and_options_count_where_they_change_a_reply():
    for temperature in (0.7, None):  # a model with reasoning takes no temperature, and draws
        assert settings_for(temperature=temperature) != settings_for(temperature=temperature, seed=9)
    assert settings_for("openai") != settings_for("vllm")
    # Weights are known by their source; what stands behind an address can change, and then gets another name.
    assert settings_for("vllm", model="a") == settings_for("vllm", model="b")
    assert settings_for("openai", model="a") != settings_for("openai", model="b")
    assert settings_for("vllm", wrap="llama2") != settings_for("vllm")
    assert settings_for("openai", wrap="chat_template") == settings_for("openai")
    assert settings_for("vllm", readout="options")["options"]
    assert "options" not in settings_for("vllm")
