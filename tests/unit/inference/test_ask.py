"""A job: all arms of a model with one engine, nothing twice; and the responses that are collected from its replies."""

import hashlib
import json
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count as count_from
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import pandas as pd
import pyarrow as pa
import pytest

from cinorms.core import tables
from cinorms.core.errors import ConfigError, DataError, EngineError, StoreError
from cinorms.inference import job_state, responses
from cinorms.inference.ask import Asking, Job, main
from cinorms.inference.lease import Lease
from cinorms.inference.questions import Questions, Rows, shard_names
from cinorms.inference.responses import (
    REPLY,
    check_complete,
    collect,
    count_left,
    is_current,
    of_frame,
    reply_metadata,
    response_metadata,
)
from cinorms.inference.store import Store, Unanswered
from cinorms.prompts.variants import list_variants

from ...asking import (
    TEMPLATES,
    Echo,
    ask,
    make_flows,
    make_questions,
    make_request,
    make_runtime,
    responses_in,
)


def written(path: Path, questions: Questions, root: Path) -> bytes:
    tables.write(responses_in(root, questions), path, tables.RESPONSES, response_metadata(questions))
    return path.read_bytes()


def test_a_job_asks_what_is_new_and_the_responses_are_in_the_order_of_the_questions(tmp_path, monkeypatch):
    monkeypatch.setattr(responses, "_BLOCK", 8)  # less than a reply
    first, more = make_questions(3), make_questions(5)
    engine = Echo()
    assert ask(tmp_path, first, more, engine=engine) == {"arm0": 12, "arm1": 20}
    assert len(engine.prompts) == len(set(engine.prompts)) == 20
    ask(tmp_path, more, engine=engine, study="another study", shard="1-of-2")
    ask(tmp_path, make_questions(4), engine=engine)
    assert len(engine.prompts) == 20
    ask(tmp_path, make_questions(3, sample=2), first, make_questions(3, max_tokens=9), engine=engine)
    assert len(engine.prompts) == 44
    found = responses_in(tmp_path, more)
    assert found["text"].tolist() == [more.chat(at)[-1]["content"] for at in range(20)]
    assert found[["flow", "variant", "order"]].equals(more.named())


def test_flows_that_are_told_alike_are_asked_once(tmp_path):
    engine, questions = Echo(), make_questions(["a", "b", "a"], order_method="fixed", orders=1)
    ask(tmp_path, questions, engine=engine)
    assert len(engine.prompts) == 4
    assert len(responses_in(tmp_path, questions)) == 6


def test_however_it_is_cut_the_responses_have_the_same_bytes(tmp_path):
    questions = make_questions(20)
    ask(tmp_path / "whole", questions, engine=Echo())
    expected = written(tmp_path / "whole.parquet", questions, tmp_path / "whole")
    asked: list[str] = []
    for count in range(8, 0, -1):
        for shard in shard_names(count):
            engine = Echo(most=2 if count > 1 else 80)
            with suppress(InterruptedError):
                ask(tmp_path / "cut", questions, engine=engine, shard=shard)
            asked += engine.prompts
    assert sorted(asked) == sorted(questions.chat(at)[-1]["content"] for at in range(80))
    assert written(tmp_path / "cut.parquet", questions, tmp_path / "cut") == expected
    runs = Store(tmp_path / "cut", questions.request).runs()
    assert {run["status"] for run in runs} == {"done", "failed"}
    assert {(run["device"], run["engine"]) for run in runs} == {("here", "openai")}


def test_a_job_that_only_waits_uses_what_the_other_asks_and_writes_nothing(tmp_path, monkeypatch):
    questions, engine = make_questions(2), Echo()
    parts = iter((questions.keys[:3], questions.keys[3:]))
    other = Store(tmp_path, questions.request, "t")
    other.open({"model": "m", "shard": "1-of-1"})
    Lease(other.folder, {"study": "t"}, Unanswered(other, questions.keys).keys())

    def wait(seconds: float) -> None:
        assert job_state.current().state.doing.endswith("which asks for study t")
        for key in next(parts):
            other.add(key.tobytes(), {"text": "theirs", "finish_reason": "stop"})

    monkeypatch.setattr("cinorms.inference.ask.time.sleep", wait)
    with job_state.followed(tmp_path, "m", "1-of-1"):
        assert ask(tmp_path, questions, engine=engine) == {"arm0": 8}
    assert engine.prompts == []
    assert len(other.paths()) == 1
    assert set(responses_in(tmp_path, questions)["text"]) == {"theirs"}


class Unfinished(Echo):
    def ask(self, questions: Questions, rows: Rows, keep: Any) -> None:
        super().ask(questions, rows[1:], keep)


def test_an_engine_that_leaves_a_question_out_is_not_asked_for_ever(tmp_path):
    assert ask(tmp_path, make_questions(2), engine=Unfinished()) == {"arm0": 8}
    assert count_left(make_questions(2), Store(tmp_path, make_request())) == 1


class Down(Echo):
    """An engine that answers every other question, and no more: the rest fails."""

    def ask(self, questions: Questions, rows: Rows, keep: Any) -> None:
        super().ask(questions, rows[::2], keep)
        for at in rows[1::2].tolist():
            keep(at, {"finish_reason": "error", "error": "503", "failed": True})


def test_what_failed_is_asked_again_by_each_run_once_until_it_is_answered(tmp_path):
    questions, engine, n_left = make_questions(["a", "b", "a"]), Down(), 8
    for expected in (4, 2, 1):
        job = Job(make_runtime(), None, engine)
        store = Store(tmp_path, questions.request, "s")
        engine.prompts.clear()
        job.ask([Asking("main", questions, store), Asking("again", questions, store)])
        assert len(engine.prompts) == expected
        n_left -= expected
        assert count_left(questions, Store(tmp_path, questions.request, "t")) == job.n_failed // 2 >= n_left
        found = responses_in(tmp_path, questions)
        assert (found["finish_reason"] == "error").sum() == job.n_failed // 2
    ask(tmp_path, questions, engine=Echo(), study="t")
    assert set(responses_in(tmp_path, questions)["finish_reason"]) == {"stop"}
    assert count_left(questions, Store(tmp_path, questions.request, "s")) == 0


class Refusing(Echo):
    def ask(self, questions: Questions, rows: Rows, keep: Any) -> None:
        if questions.request.max_tokens < 10:
            raise ConfigError(f"a mistake in {questions.request.max_tokens}")
        super().ask(questions, rows, keep)


def test_an_arm_that_is_refused_does_not_keep_the_others_from_being_asked(tmp_path):
    engine, refused = Refusing(), [make_questions(2, max_tokens=n) for n in (9, 8)]
    with pytest.raises(ConfigError, match="a mistake in 9"):
        ask(tmp_path, *refused, make_questions(2), engine=engine)
    assert len(engine.prompts) == 8


def test_what_is_missing_is_one_message_that_says_how_to_ask_it(tmp_path):
    ask(tmp_path, make_questions(2), engine=Echo())
    message = r"4 of 12 questions to model 'm' have no reply in .*; run again with `--forcerun ask_openai` to"
    with pytest.raises(EngineError, match=message):
        responses_in(tmp_path, make_questions(3))
    assert count_left(make_questions(3), Store(tmp_path, make_request())) == 4
    assert count_left(make_questions(3), Store(tmp_path / "none", make_request())) == 12


def test_the_file_says_what_was_asked_and_shows_its_first_prompt(tmp_path):
    questions = make_questions(["é", "b", "c"])
    ask(tmp_path, questions, engine=Echo())
    path = tmp_path / "r.parquet"
    written(path, questions, tmp_path)
    facts = tables.metadata(path)
    assert json.loads(facts["request"]) == questions.request.plain()
    assert json.loads(facts["example_prompt"]) == questions.chat(0)
    assert "é" in facts["example_prompt"]
    assert facts["example_prompt_sha256"] == hashlib.sha256(facts["example_prompt"].encode()).hexdigest()
    assert is_current(path, questions)
    others = make_questions(4), make_questions(3, max_tokens=9)
    assert not any(is_current(path, other) for other in others)
    assert not is_current(tmp_path / "none.parquet", questions)


def test_columns_have_their_types_whatever_a_reply_lacks(tmp_path):
    questions = make_questions(2, reasoning={"effort": "low"})
    replies = pd.DataFrame(
        {"text": ["a", None] * 4, "finish_reason": "stop", "n_trace_tokens": [1, None] * 4}
    )
    found = of_frame(questions, replies)
    tables.write(found, tmp_path / "r.parquet", tables.RESPONSES)
    assert found["text"].cat.categories.tolist() == ["a"]
    assert (found["n_trace_tokens"].dtype, found["n_trace_tokens"].count()) == ("Int32", 4)
    assert list(found) == [*questions.named(), *REPLY.names[:7]]
    assert "trace_status" not in of_frame(make_questions(2), replies)


def test_replies_say_of_themselves_what_they_have():
    def facts(*rows: dict[str, Any]) -> dict[str, Any]:
        return reply_metadata(pa.Table.from_pylist([{"n_output_tokens": 2, **row} for row in rows], REPLY))

    nothing = {"replies": 0, **dict.fromkeys(("input_tokens", "output_tokens", "first_reply", "last_reply"))}
    nothing |= {"errors": {}, "failed": 0, "answered_by": {}, "fingerprints": {}}
    assert facts() == nothing
    some = {"created": 7, "error": "b", "failed": True}
    found = facts({"created": 8, "n_prompt_tokens": 3}, some, {}, {"created": 9})
    times = {"first_reply": 7, "last_reply": 9}
    assert found == {
        **nothing,
        **times,
        "replies": 4,
        "input_tokens": 3,
        "output_tokens": 8,
        "errors": {"b": 1},
        "failed": 1,
    }


#: What has a valid checksum, and is no reply or record of ours: JSON of other kinds, other types, numbers without end.
FORGED = (
    *(b"null", b"[]", b"3", b'"text"', b"true", b"", b"{}{}", b"{", b'{"text":"a"', b'{"text":}'),
    *(b'{"text":3}', b'{"text":["a"]}', b'{"text":{"a":1}}', b'{"text":"a","text":"b"}'),
    *(b'{"text":"\xff\xfe"}', b'{"text":"\\ud800"}', b'{"text":"a\x00b"}', b'{"text":"a"}\r{"text":"b"}'),
    *(
        b'{"n_output_tokens":%s}' % number
        for number in (b"-1", b"1.5", b'"4"', b"99999999999", b"1e400", b"NaN")
    ),
    *(b'{"created":%s}' % number for number in (b"-5", b"1000000000000000", b"9" * 30, b"9" * 9999)),
    *(b'{"p_options":%s}' % given for given in (b"1", b'["a"]', b"[NaN]", b"[null]", b"[[1]]", b"[1e400]")),
    *(
        b'{"usd":%s}' % given
        for given in (b'"a"', b"null", b"true", b"-1", b"NaN", b"1e400", b"[1]", b"9" * 9999)
    ),
    *(b'{"failed":3}', b'{"trace_status":1}', b'{"x":1,"trace":3}', b'{"x":1,"trace":null}'),
    *(b'{"usd":' + b"[" * 100_000 + b"}", b'{"text":' + b'{"a":' * 100_000 + b"}"),
)
FORGED_RECORDS = (
    *(b"null", b"[]", b"{", b'{"study":3}', b'{"study":"s"}', b'{"study":"s","model":"m","shard":null}'),
    *(
        b'{"started":"yesterday"}',
        b'{"ended":3}',
        b'{"ended":null}',
        b'{"gpus":"many"}',
        b'{"gpus":[1]}',
        b'{"gpus":1e400}',
    ),
    b'{"gpus":' + b"[" * 100_000 + b"}",
)


def read_all(root: Path, questions: Questions) -> None:
    """Read a store in every way there is, as rules, pages and status do."""
    store = Store(root, questions.request, "s")
    assert count_left(questions, store) == 0
    store.usd()
    _seconds = [datetime.fromisoformat(run["started"]) for run in store.runs() if "started" in run]
    list(store.traces(questions.keys))
    datetime.fromtimestamp(collect(questions, store)[1]["last_reply"] or 0, UTC)


@pytest.mark.parametrize("is_record", [False, True])
def test_a_forged_line_is_one_message_with_file_and_line(tmp_path, is_record):
    questions = make_questions(1, templates=TEMPLATES[:1], orders=1)
    ask(tmp_path, questions, engine=Echo())
    (path,) = tmp_path.glob("*/*.jsonl")
    record, reply, end = path.read_bytes().splitlines(keepends=True)
    read_all(tmp_path, questions)
    for forged in FORGED_RECORDS if is_record else FORGED:
        text = (record if is_record else reply)[9:59] + forged
        line = b"%08x %s\n" % (crc32(text), text)
        path.write_bytes(b"".join([line, reply, end] if is_record else [record, line, end]))
        with pytest.raises(StoreError) as caught:
            read_all(tmp_path, questions)
        where = f"{path}: line {1 if is_record else 2} has a valid checksum, but is no reply that cinorms"
        assert str(caught.value).startswith(where), forged[:40]


# --- The command


def test_the_command_asks_every_arm_and_writes_down_that_it_did(tmp_path, monkeypatch, capsys):
    logs, engines, moments = [], [], count_from()

    kind = SimpleNamespace(make=lambda runtime, key: engines.append(key) or Echo(), packages=("pydantic",))
    monkeypatch.setattr("cinorms.inference.ask.start_logging", lambda *given: logs.append(given))
    monkeypatch.setattr("cinorms.inference.ask.end_with_run", lambda: None)
    monkeypatch.setattr("cinorms.inference.ask.signal.signal", lambda *given: None)
    monkeypatch.setattr("cinorms.inference.ask.engine_kind", lambda name: kind)
    monkeypatch.setattr("cinorms.inference.ask.time", SimpleNamespace(monotonic=lambda: 2.0 * next(moments)))
    monkeypatch.setenv("A_KEY", "sk-a")
    tables.write(make_flows(3), tmp_path / "vignettes.parquet", tables.VIGNETTES)
    tables.write(list_variants("t", TEMPLATES, 2, 2), tmp_path / "variants.parquet", tables.PROMPTS)
    (tmp_path / "fetched.json").write_text(json.dumps({"source": "s", "revision": "a" * 40}))
    where = {"store": str(tmp_path / ".replies"), "progress": str(tmp_path / ".progress")}
    requests = [[f"arm{n}", make_request(max_tokens=n).plain()] for n in (5, 6)]
    options = ["--requests", json.dumps(requests), "--out", str(tmp_path / "asked.json"), "--log", "log"]
    options += ["--checkpoints", str(tmp_path / "fetched.json")]
    for name in ("vignettes", "variants"):
        options += [f"--{name}", *[str(tmp_path / f"{name}.parquet")] * 2]
    for variable in ("A_KEY", None):
        main([*options, "--runtime", json.dumps({**make_runtime(key_variable=variable), **where})])
        state = json.loads((tmp_path / ".progress/m.1-of-1.json").read_bytes())
        assert (state["phase"], state["total"], state["answered"]) == ("done", 24, 24)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "0 of 24 questions have a reply in the store."
    assert said[1:4:2] == ["Asking m in arm arm5: 12 questions.", "24 questions asked in 2.0 s (12/s)"]
    assert said[4:] == ["24 of 24 questions have a reply in the store.", "0 questions asked in 2.0 s (0/s)"]
    assert json.loads((tmp_path / "asked.json").read_bytes()) == {"questions": {"arm5": 12, "arm6": 12}}
    assert (engines, logs[0][0], logs[0][1][0]) == (["sk-a"], "log", "sk-a"), "none starts for nothing"
    assert None not in logs[1][1]
    stores = [json.loads(path.read_bytes()) for path in tmp_path.glob(".replies/*/settings.json")]
    assert {(each["max_tokens"], each.get("revision")) for each in stores} == {(5, "a" * 40), (6, None)}


# --- Whole responses


VIGNETTES = make_flows(6, sender=pd.Categorical(["a", "b"] * 3))
VARIANTS = list_variants("t", [f"{i} {{scenario}} {{options}}" for i in range(3)], 3, 2)


def named(**settings: object) -> pd.DataFrame:
    request = make_request(**{"n_templates": 3, **settings})
    return Questions.of(request, VIGNETTES, VARIANTS).named()


def check(frame: pd.DataFrame, path: Path, **settings: object) -> None:
    request = make_request(**{"n_templates": 3, **settings})
    check_complete(path, frame, request.plain(), VIGNETTES, VARIANTS)


@pytest.mark.parametrize("settings", [{}, {"select": {"sender": ["a"]}}, {"n_templates": 1}])
def test_whole_responses_pass(settings, tmp_path):
    check(named(**settings), tmp_path / "m.parquet", **settings)


def with_row(frame: pd.DataFrame, **values: object) -> pd.DataFrame:
    changed = frame.astype({"variant": object, "order": object})
    for name, value in values.items():
        changed.loc[1, name] = value
    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.iloc[: len(frame) // 2], "18 of 36 questions are missing"),
        (lambda frame: frame.iloc[:0], "36 of 36 questions are missing, e.g. flow 0 with variant 0_0"),
        (lambda frame: frame.drop(index=7), "1 of 36 questions are missing, e.g. flow 1 with variant 0_1"),
        (lambda frame: pd.concat([frame, frame.iloc[:1]]), "doubled"),
        (lambda frame: frame.iloc[::-1], "another order"),
        (lambda frame: with_row(frame, flow=5), "1 of 36"),
        (lambda frame: with_row(frame, variant="9_9"), "1 of 36"),
        (lambda frame: with_row(frame, order="99999"), "1 of 36"),
        (lambda _: named(n_templates=1), "24 of 36"),
    ],
)
def test_responses_that_were_not_asked_so_are_refused(change, message, tmp_path):
    path = tmp_path / "m.parquet"
    with pytest.raises(DataError, match=message) as caught:
        check(change(named()), path)
    assert str(caught.value).startswith(f"{path}: has ")
    assert "delete it and rerun: it is collected from the store, nothing is asked again" in str(caught.value)
