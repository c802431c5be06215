"""A prompt is the template with the vignette and the options put in, and nothing else changed."""

import re

import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import (
    WRAPPERS,
    ask_grid,
    fill,
    list_variants,
    messages,
    preview,
    select_flows,
    wrap,
)

from ...scales import ACCEPTABILITY, shipped

FIXED = "[strongly unacceptable, somewhat unacceptable, neutral, somewhat acceptable, strongly acceptable]"
TEMPLATE = "Please rate how acceptable this scenario is: {scenario}. Choose strictly one: {options}"
RATE, CHOOSE = "Please rate how acceptable this scenario is", f"Choose strictly one: {FIXED}"
ARM = {"select": {}, "orders": {"method": "balanced", "count": 3}, "layout": "single", "system": None}


@pytest.mark.parametrize("vignette", ["{options}{scenario}{options}", "{{ jinja }} {0} %s \\1 \\g<0>"])
def test_fill_puts_both_in_verbatim(vignette):
    filled = [fill(t, vignette, FIXED) for t in ("A: {scenario}. B: {options}!", "{options} A {scenario}")]
    assert filled == [f"A: {vignette}. B: {FIXED}!", f"{FIXED} A {vignette}"]


@pytest.mark.parametrize(
    ("layout", "system", "expected"),
    [
        ("single", None, [("user", f"{RATE}: a {{options}} camera. {CHOOSE}")]),
        (
            "single",
            "Be {options}.",
            [("system", "Be {options}."), ("user", f"{RATE}: a {{options}} camera. {CHOOSE}")],
        ),
        ("instruction_in_system", None, [("system", f"{RATE}. {CHOOSE}"), ("user", "a {options} camera")]),
        (
            "instruction_in_system",
            "Be brief.",
            [("system", f"Be brief.\n\n{RATE}. {CHOOSE}"), ("user", "a {options} camera")],
        ),
    ],
)
def test_messages_are_the_template_filled_and_nothing_else(layout, system, expected):
    chat = messages(TEMPLATE, "a {options} camera", 0, ACCEPTABILITY, layout, system)
    assert [(message["role"], message["content"]) for message in chat] == expected


@pytest.mark.parametrize("prompts", ["chatgpt", "gemini", "pegasus", "confaide"])
def test_no_published_template_keeps_a_trace_of_the_scenario_in_the_system_message(folder, prompts):
    prompt_set = load_prompt_set(folder / f"resources/prompts/{prompts}.yaml")
    for template in prompt_set.templates:
        system, user = messages(template, "VIGNETTE", 0, shipped(prompt_set.scale), "instruction_in_system")
        assert user["content"] == "VIGNETTE"
        assert "VIGNETTE" not in system["content"]
        assert not re.search(r"\{|\}|: ?[.?!]|  | [.?!,:]|::", system["content"]), system["content"]


@pytest.mark.parametrize(
    ("wrapper", "expected"),
    [
        ("llama2", "[INST] S\n\nU [/INST]"),
        ("tulu", "<|user|>\n S\n\nU \n\n<|assistant|>"),
        ("llama3", "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n S\n\nU <|eot_id|>"),
        ("none", "S\n\nU"),
    ],
)
def test_wrappers_are_the_papers_literal_strings_with_the_system_message_first(wrapper, expected):
    assert wrap([{"role": "system", "content": "S"}, {"role": "user", "content": "U"}], wrapper) == expected
    assert wrap([{"role": "user", "content": "S\n\nU"}], wrapper) == expected
    assert set(WRAPPERS) == {"llama2", "tulu", "llama3", "none"}


def test_ask_grid_is_complete_and_sorted_and_a_part_of_it_is_a_part_of_the_whole():
    variants = list_variants("set", list("abcd"), 4, 2)
    whole = ask_grid(pd.Series(range(20)), variants, "balanced", 1, 5)
    assert list(whole["flow"]) == [flow for flow in range(20) for _ in range(8)]
    assert list(whole["row"]) == [*range(8)] * 20
    part = ask_grid(pd.Series([3, 17]), variants.iloc[3:6], "balanced", 1, 5)
    expected = whole[whole["flow"].isin([3, 17]) & whole["row"].between(3, 5)]
    assert list(part["order_code"]) == list(expected["order_code"])
    assert list(part["row"]) == [0, 1, 2] * 2


def test_select_flows_keeps_the_named_levels_and_leaves_other_factors_free(iot_flows):
    select = {"sender": ["a fitness tracker"], "recipient": ["its manufacturer", "the local police"]}
    kept = select_flows(iot_flows, select)
    assert len(kept) == 1 * 9 * 2 * 12
    assert set(kept["sender"]) == {"a fitness tracker"}
    assert kept["flow"].is_monotonic_increasing
    assert list(kept.index) == list(range(len(kept)))
    assert [len(select_flows(flows, {})) for flows in (iot_flows, iot_flows.head(0))] == [6912, 0]


def test_a_level_that_no_flow_has_and_a_selection_that_keeps_nothing_are_errors(iot_flows):
    """The levels of a file are not known before it is fetched: settings cannot check them."""
    message = r"^select\.sender: 'a dor lock' is not a level; did you mean 'a door lock'\? allowed: "
    with pytest.raises(ConfigError, match=message):
        select_flows(iot_flows, {"sender": ["a fitness tracker", "a dor lock"]})
    linked = pd.DataFrame({"flow": [0, 1], "place": ["here", "there"], "channel": ["a", "b"]})
    linked = linked.astype({"place": "category", "channel": "category"})
    with pytest.raises(ConfigError, match="select: no flow has"):
        select_flows(linked, {"place": ["here"], "channel": ["b"]})


def test_preview_of_few_flows_repeats_nothing_and_shows_both_layouts_of_the_papers(iot_flows, iot_variants):
    """``layout: paper`` is one thing for gpt-4o-mini and another for the rest: people see either."""
    shown = preview(iot_flows.head(2), iot_variants.head(2), {**ARM, "layout": "paper"}, ACCEPTABILITY, 1)
    assert not shown.duplicated(["flow", "variant", "layout"]).any()
    assert set(shown["flow"]) == {0, 1}
    assert set(shown["variant"]) == {"0_0", "0_1"}
    assert (shown["system_message"] == "").tolist() == (shown["layout"] == "single").tolist()
    assert set(shown["layout"]) == {"single", "paper_random_orders"}
    every = list_variants("set", [f"{n} {{scenario}} {{options}}" for n in range(40)], 40, 1)
    stated = preview(iot_flows, every, {**ARM, "layout": "instruction_in_system"}, ACCEPTABILITY, 1)
    assert stated["variant"].tolist() == every["variant"].tolist(), "every template, though they are many"
    assert set(stated["layout"]) == {"instruction_in_system"}
