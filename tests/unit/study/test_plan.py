"""The plan's numbers by hand; what has no rate has no cost, which is not the same as costing nothing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.answers.coding.prompt import ACTS_TEMPLATE
from cinorms.core.yaml_files import load_yaml
from cinorms.norms.assessment import level_matrix
from cinorms.prompts.variants import fill, list_variants
from cinorms.stats.generalizability import DesignSize, coefficients
from cinorms.stats.wordings import template_numbers
from cinorms.study.plan import (
    ACTION_TOKENS,
    ANSWER_TOKENS,
    CHARACTERS_PER_TOKEN,
    WRAPPER_TOKENS,
    add_precision,
    as_text,
    estimate,
)

OPTIONS = "[strongly unacceptable, somewhat unacceptable, neutral, somewhat acceptable, strongly acceptable]"
TEMPLATES = ["Is {scenario} fine? {options}", "Rate: {scenario}. One of {options} only."]
FLOWS = pd.DataFrame(
    {
        "flow": range(4),
        "sender": pd.Categorical(["a", "a", "b", "b"]),
        "vignette": ["one", "three", "a longer one", "four"],
    }
)


def asked(**changes: Any) -> dict[str, Any]:
    return {
        "arm": "main",
        "model": "m",
        "engine": "vllm",
        "dataset": "d",
        "select": {},
        "system": None,
        "scale": "acceptability",
        "n_templates": 2,
        "gpus": 1,
        "rates": {},
        **changes,
    }


def plan(*rows: dict[str, Any]) -> pd.DataFrame:
    return estimate(rows, {"d": FLOWS}, {"main": list_variants("s", TEMPLATES, 2, 3)})


def characters(flows: pd.DataFrame, templates: list[str], system: str = "") -> int:
    """Count the characters of every prompt by writing it."""
    texts = [fill(t, v, OPTIONS) for t in templates for v in flows["vignette"]]
    return 3 * sum(len(text) + len(system) for text in texts)


def test_tokens_are_those_of_the_prompts_as_they_are_sent():
    row = plan(asked()).iloc[0]
    assert (row["flows"], row["templates"], row["orders"], row["prompts"]) == (4, 2, 3, 24)
    expected = round(characters(FLOWS, TEMPLATES) / CHARACTERS_PER_TOKEN) + 24 * WRAPPER_TOKENS
    assert row["input_tokens"] == expected
    assert row["output_tokens"] == 24 * ANSWER_TOKENS


def test_selection_templates_and_system_prompt_count():
    row = plan(asked(select={"sender": ["a"]}, n_templates=1, system="Be brief.")).iloc[0]
    assert (row["flows"], row["templates"], row["orders"], row["prompts"]) == (2, 1, 3, 6)
    expected = characters(FLOWS.head(2), TEMPLATES[:1], "Be brief.")
    assert row["input_tokens"] == round(expected / CHARACTERS_PER_TOKEN) + 60


def test_gpu_minutes_are_tokens_over_speed_times_gpus():
    frame = plan(asked(rates={"tokens_per_second": 10}), asked(rates={"tokens_per_second": 10}, gpus=2))
    tokens = frame["input_tokens"][0]
    assert frame["gpu_minutes"].tolist() == pytest.approx([tokens / 600, tokens / 300])
    assert frame["usd"].isna().all()


def test_a_judge_of_actions_reads_each_of_them_with_the_instruction_and_the_items():
    items = '{"sensitive": ["Ann is ill."], "needed": []}'
    flows = FLOWS.assign(vignette="Do it.\n\nAction: Look\nObservation: much", items=items)
    variants = {name: list_variants("s", ["{scenario} {seen}"] * 2, 2, 3) for name in ("act", "main")}
    rates = {"usd_per_million_input": 150.0, "usd_per_million_output": 600.0}
    judge = {"arm": "coder.disclosure", "model": "j", "engine": "openai", "gpus": 0, "rates": rates}
    rows = [
        asked(arm="act", task="act", n_templates=1),
        asked(arm="act", task="act", model="n"),
        asked(),
    ]
    row = estimate(rows, {"d": flows}, variants, judge).iloc[-1]
    assert (row["arm"], row["model"], row["flows"]) == ("coder.disclosure", "j", 8)
    assert row["prompts"] == 4 * 3 + 4 * 6  # what is asked again is not read again
    shown = len(ACTS_TEMPLATE) + len("Do it.\n\nSensitive items:\n- Ann is ill.")
    assert row["input_tokens"] == round(36 * shown / CHARACTERS_PER_TOKEN) + 36 * (
        WRAPPER_TOKENS + ACTION_TOKENS
    )
    assert row["usd"] == pytest.approx((row["input_tokens"] * 150 + row["output_tokens"] * 600) / 1e6)
    assert "this many requests at most" in as_text(estimate(rows, {"d": flows}, variants, judge))
    assert "at most" not in as_text(estimate(rows, {"d": flows}, variants))


def test_dollars_are_input_and_output():
    rates = {"usd_per_million_input": 150.0, "usd_per_million_output": 600.0}
    row = plan(asked(engine="openai", gpus=0, rates=rates)).iloc[0]
    expected = (row["input_tokens"] * 150 + row["output_tokens"] * 600) / 1e6
    assert row["usd"] == pytest.approx(expected)
    assert pd.isna(row["gpu_minutes"])


def test_a_cost_without_its_rates_is_missing_not_0_and_a_planted_model_costs_nothing():
    for rates in ({}, {"usd_per_million_input": 1.0}, {"usd_per_million_output": 1.0}):
        row = plan(asked(engine="openai", rates=rates)).iloc[0]
        assert pd.isna(row["usd"])
        assert pd.isna(row["gpu_minutes"])
    row = plan(asked(engine="planted", rates={"tokens_per_second": 1, "usd_per_million_input": 9})).iloc[0]
    assert (row["gpu_minutes"], row["usd"]) == (0, 0)


def total_line(text: str) -> list[str]:
    return next(line for line in text.splitlines() if line.strip().startswith("total")).split()


def test_the_text_ends_with_totals_of_what_is_known():
    prices = {"usd_per_million_input": 1e4, "usd_per_million_output": 0.0}
    frame = plan(
        asked(rates={"tokens_per_second": 0.01}),
        asked(model="api", engine="openai", gpus=0, rates=prices),
        asked(model="other", rates={}),
    )
    text = as_text(frame)
    tokens = int(frame["input_tokens"][0])
    assert total_line(text) == [
        "total",
        "72",
        f"{3 * tokens:,}",
        f"{72 * ANSWER_TOKENS:,}",
        f"{tokens / 0.01 / 60:,.0f}",
        f"{tokens / 100:,.2f}",
    ]
    other = next(line for line in text.splitlines() if " other " in line)
    assert other.split()[-2:] == ["-", "-"]
    assert "nan" not in text.lower()
    assert "<na>" not in text.lower()
    # What is not known has a total that is not 0; without a pilot and traces, nothing is said of them.
    text = as_text(plan(asked(), asked(model="n")))
    assert total_line(text)[-2:] == ["-", "-"]
    assert "phi" not in plan(asked())
    assert "How many wordings a model needs shows in its answers" in text
    assert not [name for name in plan(asked()) if "trace" in name or "most" in name]
    assert "most" not in text


def test_the_papers_study_takes_228096_prompts_of_each_open_model(
    build_study, folder, iot_flows, iot_variants
):
    study = build_study(load_yaml(folder / "config/pets2026.yaml"))
    rows = [ask for ask in study.asked() if ask["arm"] == "main"]
    frame = estimate(rows, {"iot": iot_flows}, {"main": iot_variants}).set_index("model")
    assert frame.loc["llama-3.1-8b-instruct", "prompts"] == 228_096
    assert frame.loc["gpt-4o-mini", "prompts"] == 6912 * 9
    assert frame.loc["gpt-4o-mini", "usd"] == pytest.approx(1.1, abs=0.3)
    # 79 to 90 tokens a prompt were measured, without the ten of a chat template.
    tokens = frame.loc["llama-3.1-8b-instruct", "input_tokens"] / 228_096 - WRAPPER_TOKENS
    assert 79 < tokens < 90.5
    assert frame.drop("gpt-4o-mini")["gpu_minutes"].notna().all()


def pilot() -> dict[tuple[str, str], tuple[pd.DataFrame, pd.DataFrame]]:
    """Return answers about 40 flows in six templates and two orders."""
    rng, n = np.random.default_rng(1), 40
    x = rng.normal(0, 1, (n, 1, 1)) + rng.normal(0, 0.8, (n, 6, 1)) + rng.normal(0, 0.5, (n, 6, 2))
    variants = [f"{template}_{order}" for template in range(6) for order in range(2)]
    flows = {"flow": np.repeat(np.arange(n), 12), "variant": variants * n}
    answers = pd.DataFrame({**flows, "level": np.round(x).ravel(), "status": "ok"})
    return {
        ("main", "m"): (
            answers,
            pd.DataFrame({"variant": variants, "template_no": np.repeat(np.arange(6), 2)}),
        )
    }


def test_existing_answers_say_what_phi_the_planned_templates_have_and_how_many_are_needed():
    (answers, prompts), frame = pilot()["main", "m"], add_precision(plan(asked()), pilot(), 0.9)
    design = DesignSize(frame["templates"][0], frame["orders"][0])
    phi, needed = frame["phi"][0], frame["templates_needed"][0]
    of = [design, design._replace(templates=needed), design._replace(templates=needed - 1)]
    found = coefficients(level_matrix(answers), template_numbers(prompts), of)
    assert phi == found[0].phi
    assert found[2].phi < 0.9 <= found[1].phi
    line = next(line for line in as_text(frame).splitlines() if line.strip().startswith("main"))
    assert line.split()[-2:] == [f"{phi:.2f}", str(needed)]


def test_what_the_pilot_did_not_ask_is_missing():
    frame = add_precision(plan(asked(model="other")), pilot(), 0.5)
    assert frame[["phi", "templates_needed"]].isna().all(axis=None)
    assert "nan" not in as_text(frame).lower()
    assert "<na>" not in as_text(frame).lower()


def test_traces_are_counted_as_expected_and_at_most():
    rates = {"usd_per_million_input": 0.0, "usd_per_million_output": 1e6, "trace_share": 0.25}
    frame = plan(
        asked(engine="openai", rates=rates, budget=100),
        asked(model="off", engine="openai", rates=rates, budget=0),
        asked(model="gpu", rates={"tokens_per_second": 10, "output_tokens_per_second": 2}, budget=100),
        asked(model="slow", rates={"tokens_per_second": 10}, budget=100),
    )
    assert frame["trace_tokens"].tolist() == [24 * 25, 0, 24 * 50, 24 * 50]
    assert frame["trace_tokens_most"].tolist() == [2400, 0, 2400, 2400]
    answers = 24 * ANSWER_TOKENS
    assert frame["usd"].tolist()[:2] == [answers + 600, answers]
    assert frame["usd_most"].tolist()[:2] == [answers + 2400, answers]
    tokens = frame["input_tokens"][2]
    assert frame["gpu_minutes"][2] == pytest.approx(tokens / 600 + 1200 / 120)
    assert frame["gpu_minutes_most"][2] == pytest.approx(tokens / 600 + 2400 / 120)
    assert pd.isna(frame["gpu_minutes"][3])
    assert "at most" in as_text(frame)
