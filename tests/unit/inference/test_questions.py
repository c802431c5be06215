"""Questions: everything that the model sees is in a prompt's key, and nothing else is; shards and parts are whole."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from cinorms.inference.questions import KEY_BYTES, shard_names

from ...asking import make_questions


def keys(*vignettes: str, **changes: Any) -> list[str]:
    return [bytes(key).hex() for key in make_questions(vignettes or ("a", "b", "c"), **changes).keys]


def test_a_key_is_the_digest_of_the_messages_as_json_and_of_which_sample_it_is():
    vignettes = ['with "quotes", \n a \ue000']
    made, again = (make_questions(vignettes, system="Be brief.", sample=sample) for sample in (1, 2))
    for at in range(len(made.grid)):
        text = json.dumps(made.chat(at), ensure_ascii=False).encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(text, digest_size=KEY_BYTES).digest()
        assert bytes(made.keys[at]) == key
        marked = key + b"\2\0\0\0" + bytes(4)
        assert bytes(again.keys[at]) == hashlib.blake2b(marked, digest_size=KEY_BYTES).digest()
    assert len(set(keys())) == 12


@pytest.mark.parametrize(
    "change",
    [
        {"system": "Be brief."},
        {"layout": "instruction_in_system"},
        {"templates": ["0 {scenario} {options}.", "1: {scenario} or {options}"]},
        {"scale": "agreement"},
        {"sample": 2},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_the_model_sees_and_which_sample_changes_every_key(change):
    assert not set(keys(**change)) & set(keys())
    assert set(keys(orders=3)) != set(keys(orders=3, order_method="fixed")), (
        "so does the order of the options"
    )


@pytest.mark.parametrize(
    ("second", "layout"),
    # Templates that differ only where the vignette stands are the same system message.
    [("x {scenario} {options}", "single"), ("x: {scenario} {options}", "instruction_in_system")],
)
def test_variants_that_render_the_same_are_separate_samples(second, layout):
    alike = {"orders": 1, "order_method": "fixed", "layout": layout}
    for sample in (1, 2):
        made = keys("a", templates=["x {scenario} {options}", second], sample=sample, **alike)
        assert len(set(made)) == 2
        once = keys("a", templates=["x {scenario} {options}"], sample=sample, **alike)
        assert made[0] == once[0], "the first sample of a prompt is one sample, whoever asks for it"


def test_more_orders_leave_the_samples_that_there_are():
    few = keys("a", "b", orders=2, order_method="fixed")
    more = keys("a", "b", orders=4, order_method="fixed")
    assert len(set(more)) == 16
    assert np.array(more).reshape(2, 2, 4)[:, :, :2].ravel().tolist() == few


def test_shards_and_parts_have_every_question_once_with_its_key():
    asked = {"templates": ["x {scenario} {options}"] * 3, "orders": 2, "order_method": "fixed"}
    whole = make_questions(50, **asked)
    expected = sorted(map(bytes, whole.keys))
    for count in (2, 8):
        shards = [whole.shard(name) for name in shard_names(count)]
        assert sorted(bytes(key) for shard in shards for key in shard.keys) == expected
        assert min(len(shard.flows) for shard in shards) > 0
        # Fewer flows are in the same shards: two arms never ask for the same prompt in two jobs.
        few = make_questions(20, **asked)
        for name, shard in zip(shard_names(count), shards, strict=True):
            assert set(map(bytes, few.shard(name).keys)) <= set(map(bytes, shard.keys))


def test_neighbours_share_their_beginning_and_a_second_sample_is_asked_in_another_order():
    made = make_questions(30, orders=3)
    todo = np.flatnonzero(np.arange(len(made.grid)) % 7)

    def asked(questions: Any) -> list[tuple[int, int, int]]:
        rows = questions.in_asking_order(todo)
        assert sorted(rows) == todo.tolist()
        variants = questions.variants.iloc[questions.grid["row"].iloc[rows]]
        flows = questions.grid["flow"].iloc[rows]
        return list(zip(variants["template_no"], flows, variants["order_no"], strict=True))

    assert asked(made) == sorted(asked(made))
    again = asked(make_questions(30, orders=3, sample=2))
    assert again != sorted(again)
    assert again == asked(make_questions(30, orders=3, sample=2))
    assert again != asked(make_questions(30, orders=3, sample=3))
