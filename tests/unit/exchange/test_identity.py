"""What a prompt is known by outside: its text, the hash of that, its id; and what each model of an arm receives."""

from __future__ import annotations

import hashlib

import pytest

from cinorms.exchange.identity import prompt_hash, prompt_id, prompt_text, read_id
from cinorms.exchange.way import ways_of
from cinorms.inference.questions import Questions

from ...exchange_runs import arm
from ...specs import make_spec

CHAT = [{"role": "system", "content": "Rate."}, {"role": "user", "content": "a tells b"}]


def test_the_hash_is_that_of_the_text_in_utf8() -> None:
    assert prompt_text(CHAT) == "Rate.\n\na tells b"
    assert prompt_text(CHAT[1:]) == "a tells b"
    assert prompt_text(CHAT[1:], "tulu") == "<|user|>\na tells b\n\n<|assistant|>"
    assert prompt_hash("grün") == hashlib.sha256("grün".encode()).hexdigest()


def test_an_id_holds_flow_template_order_and_the_beginning_of_the_hash() -> None:
    name = prompt_id(17, "3_1", "0123456789abcdef" * 4)
    assert name == "17.3_1.0123456789abcdef"
    assert read_id(name) == (17, 3, 1, "0123456789abcdef")


@pytest.mark.parametrize(
    "name", ["", "17", "17.3_1", "17.3_1.0123", "a.3_1.0123456789abcdef", "17.3_1.0123456789ABCDEF"]
)
def test_anything_else_is_no_id(name: str) -> None:
    assert read_id(name) is None


def test_a_way_has_the_prompts_that_the_engine_would_send() -> None:
    spec, vignettes, variants = arm()
    (way,) = ways_of([spec], vignettes, variants)
    questions = Questions.of(spec, vignettes, variants)
    prompts = list(way.prompts())
    assert len(prompts) == len(way) == len(questions.grid) == 24
    assert [prompt.messages for prompt in prompts] == [questions.chat(at) for at in range(24)]
    assert [(p.flow, f"{p.template}_{p.order}") for p in prompts] == [
        (flow, variants["variant"][row])
        for flow, row in zip(questions.grid["flow"], questions.grid["row"], strict=True)
    ]
    assert len({prompt.id for prompt in prompts}) == 24
    assert all(prompt.sha256 == prompt_hash(prompt.text) for prompt in prompts)


def test_models_that_receive_the_same_prompts_share_them() -> None:
    spec, vignettes, variants = arm()
    plain = {**spec.as_plain(), "engine": "vllm"}
    others = [
        make_spec(**{**plain, "model": model, **changes})
        for model, changes in {
            "alike": {},
            "chat": {"wrap": "chat_template"},
            "tulu": {"wrap": "tulu"},
            "single": {"layout": "single"},
            "fewer": {"n_templates": 1},
        }.items()
    ]
    ways = ways_of([spec, *others], vignettes, variants)
    assert [list(way.specs) for way in ways] == [
        [spec.model, "alike", "chat"],
        ["tulu"],
        ["single"],
        ["fewer"],
    ]
    assert [way.name for way in ways] == ["prompts-1", "prompts-2", "prompts-3", "prompts-4"]
    assert [way.wrapper for way in ways] == [None, "tulu", None, None]
    assert [len(way) for way in ways] == [24, 24, 24, 12]
    assert next(ways[1].prompts()).text.startswith("<|user|>\nPlease")
