"""The plan's numbers by hand; what has no rate has no cost, which is not the same as costing nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.answers.coding.prompt import ACTS_TEMPLATE
from cinorms.core.yaml_files import load_yaml
from cinorms.norms.assessment import level_matrix
from cinorms.prompts.variants import fill, list_variants
from cinorms.stats.generalizability import DesignSize, phi
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


PRICES = {"usd_per_million_input": 150.0, "usd_per_million_output": 600.0}


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


@pytest.mark.parametrize(
    ("changes", "flows", "templates", "system"),
    [
        ({}, FLOWS, TEMPLATES, ""),
        ({"select": {"sender": ["a"]}, "n_templates": 1, "system": "So."}, FLOWS[:2], TEMPLATES[:1], "So."),
    ],
)
def test_tokens_are_those_of_the_prompts_as_they_are_sent(changes, flows, templates, system):
    texts = [system + fill(t, v, OPTIONS) for t in templates for v in flows["vignette"]] * 3
    row = plan(asked(**changes)).iloc[0]
    numbers = row[["flows", "templates", "orders", "prompts"]].tolist()
    assert numbers == [len(flows), len(templates), 3, len(texts)]
    characters = sum(map(len, texts))
    assert row["input_tokens"] == round(characters / CHARACTERS_PER_TOKEN) + WRAPPER_TOKENS * len(texts)
    assert row["output_tokens"] == len(texts) * ANSWER_TOKENS


def test_costs_are_tokens_times_rates_and_without_a_rate_missing_not_0():
    frame = plan(
        asked(rates={"tokens_per_second": 10}),
        asked(rates={"tokens_per_second": 10}, gpus=2),
        asked(engine="openai", gpus=0, rates=PRICES),
        asked(engine="openai", rates={}),
        *(asked(engine="openai", rates={name: rate}) for name, rate in PRICES.items()),
        asked(engine="planted", rates={"tokens_per_second": 1, "usd_per_million_input": 9}),
    )
    tokens = frame["input_tokens"][0]
    paid = (tokens * 150 + 24 * ANSWER_TOKENS * 600) / 1e6
    nan = float("nan")
    assert frame["gpu_minutes"].astype(float).tolist() == pytest.approx(
        [tokens / 600, tokens / 300, nan, nan, nan, nan, 0], nan_ok=True
    )
    assert frame["usd"].astype(float).tolist() == pytest.approx(
        [nan, nan, paid, nan, nan, nan, 0], nan_ok=True
    )


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


@pytest.fixture(scope="module")
def whole() -> pd.DataFrame:
    """Return a plan with all there is: actions and their judge, traces, existing answers of the model m in arm main."""
    items = '{"sensitive": ["Ann is ill."], "needed": []}'
    flows = FLOWS.assign(vignette="Do it.\n\nAction: Look\nObservation: much", items=items)
    variants = {name: list_variants("s", ["{scenario} {seen}"] * 2, 2, 3) for name in ("act", "main")}
    judge = {"arm": "coder.disclosure", "model": "j", "engine": "openai", "gpus": 0, "rates": PRICES}
    prices = {"usd_per_million_input": 0.0, "usd_per_million_output": 1e6, "trace_share": 0.25}
    gpu = {"tokens_per_second": 0.1, "output_tokens_per_second": 0.02}
    rows = [
        asked(arm="act", task="act", n_templates=1),
        asked(arm="act", task="act", model="n", engine="openai", rates=PRICES, budget=0),
        asked(engine="openai", rates=prices, budget=100),
        asked(model="gpu", rates=gpu, budget=100),
        asked(model="slow", rates={"tokens_per_second": 10}, budget=100),
    ]
    return add_precision(estimate(rows, {"d": flows}, variants, judge), pilot(), 0.9)


def test_a_judge_of_actions_reads_each_of_them_with_the_instruction_and_the_items(whole):
    row = whole.iloc[-1]
    assert (row["flows"], row["prompts"]) == (8, 4 * 3 + 4 * 6)  # what is asked again is not read again
    shown = len(ACTS_TEMPLATE) + len("Do it.\n\nSensitive items:\n- Ann is ill.")
    read = WRAPPER_TOKENS + ACTION_TOKENS
    assert row["input_tokens"] == round(36 * shown / CHARACTERS_PER_TOKEN) + 36 * read
    assert row["usd"] == pytest.approx((row["input_tokens"] * 150 + row["output_tokens"] * 600) / 1e6)


def test_existing_answers_say_what_phi_the_planned_templates_have_and_how_many_are_needed(whole):
    (answers, prompts), row = pilot()["main", "m"], whole.iloc[2]
    design, needed = DesignSize(row["templates"], row["orders"]), row["templates_needed"]
    of = [design, design._replace(templates=needed), design._replace(templates=needed - 1)]
    found = [phi(level_matrix(answers), template_numbers(prompts), design) for design in of]
    assert row["phi"] == found[0]
    assert found[2] < 0.9 <= found[1]


def test_the_text_has_totals_of_what_is_known_and_says_what_its_columns_are(whole):
    plain = plan(asked(rates={"tokens_per_second": 0.01}), asked(model="other"))
    lines = "\n".join([as_text(plain), as_text(whole), as_text(plan())]).splitlines()
    expected = Path(__file__).with_name("plans.txt").read_text(encoding="utf-8")
    assert [line.rstrip() for line in lines] == expected.splitlines()


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
