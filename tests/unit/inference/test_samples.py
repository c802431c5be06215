"""What a sample is: everything that the model sees is in its key, and nothing else is."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.inference.journal import sample_settings
from cinorms.inference.questions import KEY_BYTES, Questions, as_numbers, number_samples
from cinorms.inference.spec import shard_names
from cinorms.prompts.variants import list_variants

from ...specs import make_flows, make_spec

TEMPLATES = ["0 {scenario} {options}", "1: {scenario} and {options}"]


def questions(
    *vignettes: str, templates: list[str] = TEMPLATES, orders: int = 2, **changes: Any
) -> Questions:
    spec = make_spec(**{"n_templates": len(templates), **changes})
    variants = list_variants("t", templates, len(templates), orders)
    return Questions.of(spec, make_flows(vignettes or ("a", "b", "c")), variants)


def keys(*vignettes: str, **changes: Any) -> list[str]:
    made = questions(*vignettes, **changes)
    return [bytes(prompt).hex() for prompt in made.prompts]


def test_a_key_is_the_digest_of_the_messages_as_json():
    made = questions('with "quotes", \n a \ue000', system="Be brief.")
    for at in range(len(made.grid)):
        text = json.dumps(made.chat(at), ensure_ascii=False).encode("utf-8", "surrogatepass")
        assert bytes(made.prompts[at]).hex() == hashlib.blake2b(text, digest_size=KEY_BYTES).hexdigest()
    assert len(set(keys())) == 12


@pytest.mark.parametrize(
    "change",
    [
        {"system": "Be brief."},
        {"layout": "instruction_in_system"},
        {"templates": ["0 {scenario} {options}.", "1: {scenario} or {options}"]},
        {"scale": "agreement"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_changes_the_messages_changes_every_key(change):
    assert not set(keys(**change)) & set(keys())
    assert set(keys(orders=3)) != set(keys(orders=3, order_method="fixed")), (
        "so does the order of the options"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"model": "another name"},
        {"temperature": 0.7},
        {"max_tokens": 5},
        {"source": "x"},
        {"factors": ["sender"]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_the_messages_do_not_show_is_in_no_key(change):
    assert keys(**change) == keys()


def test_the_number_of_a_flow_and_of_a_template_are_in_no_key():
    """Another study may list the same flows and templates in another order, among others."""
    here, there = (
        questions("a", "b", "c", order_method="fixed", orders=1),
        questions(
            "x", "c", "b", templates=["z {scenario} {options}", *TEMPLATES], order_method="fixed", orders=1
        ),
    )
    named = [{json.dumps(q.chat(i)): bytes(q.prompts[i]) for i in range(len(q.grid))} for q in (here, there)]
    both = named[0].keys() & named[1].keys()
    assert both
    assert all(named[0][chat] == named[1][chat] for chat in both)
    assert not {named[0][chat] for chat in named[0].keys() - both} & set(named[1].values())


# --- Repeats


@pytest.mark.parametrize(
    ("second", "layout"),
    # Templates that differ only where the vignette stands are the same system message.
    [("x {scenario} {options}", "single"), ("x: {scenario} {options}", "instruction_in_system")],
)
def test_variants_that_render_the_same_are_separate_samples(second, layout):
    alike = {"orders": 1, "order_method": "fixed", "layout": layout}
    made = keys("a", templates=["x {scenario} {options}", second], **alike)
    assert len(set(made)) == 2
    once = keys("a", templates=["x {scenario} {options}"], **alike)
    assert made[0] == once[0], "the first sample of a prompt is one sample, whoever asks for it"


def test_more_orders_leave_the_samples_that_there_are():
    few = keys("a", "b", orders=2, order_method="fixed")
    more = keys("a", "b", orders=4, order_method="fixed")
    assert len(set(more)) == 16
    table = np.array(more).reshape(2, 2, 4)
    assert table[:, :, :2].ravel().tolist() == few


def test_a_shard_counts_repeats_as_the_whole_arm_does():
    templates = ["x {scenario} {options}"] * 3
    whole = np.array(keys("a", "b", templates=templates, order_method="fixed")).reshape(2, 6)
    for count in (2, 4):
        parts = [
            np.array(keys("a", "b", templates=templates, order_method="fixed", shard=shard)).reshape(2, -1)
            for shard in shard_names(count, 6)
        ]
        assert np.array_equal(np.hstack(parts), whole)


@pytest.mark.parametrize("shard", ["1-of-1", "2-of-3"])
@pytest.mark.parametrize("again", [[], ["x {scenario} {options}"], ["no order in {scenario}"]])
def test_samples_are_counted_within_a_flow_as_among_all_prompts(again, shard):
    templates = ["x {scenario} {options}", "y {options} {scenario}", *again]
    asked = {"templates": templates, "orders": 4, "order_method": "random", "shard": shard}
    by_flow = keys(*"abcdef", **asked)
    # Flows told alike are counted among all prompts: there the first samples of the others must be the same.
    among_all = keys(*"abcdef", "f", **asked)
    assert among_all[: len(by_flow)] == by_flow
    assert len(set(among_all)) == len(among_all)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.randoms())
@settings(max_examples=50)
def test_every_repeat_has_a_key_of_its_own(values, chance):
    made = np.array([value.to_bytes(KEY_BYTES, "little") for value in values], dtype=f"V{KEY_BYTES}")
    first = list(range(len(values)))
    chance.shuffle(first)
    own = number_samples(made, np.array(first))
    assert len({each.tobytes() for each in own}) == len(values)
    seen = set()
    for at in first:  # whoever comes first keeps the key
        assert (own[at].tobytes() == made[at].tobytes()) == (values[at] not in seen)
        seen.add(values[at])


def test_keys_are_coordinates_of_draws():
    low, high = as_numbers(questions().prompts)
    assert len(set(zip(low.tolist(), high.tolist(), strict=True))) == 12
    assert low.dtype == np.uint64


# --- Settings


def settings_for(engine: str = "openai", **changes: Any) -> dict[str, Any]:
    return sample_settings(make_spec(engine, **{"source": "s", "wrap": "none", **changes}))


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
        {"shard": "2-of-3"},
        {"n_templates": 7},
        {"select": {"sender": ["x"]}},
        {"order_method": "random"},
        {"factors": ["sender"]},
        {"layout": "instruction_in_system"},
        {"system": "Be brief."},
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
