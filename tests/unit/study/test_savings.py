"""The plan says what asking until decided is expected to save, and when it saves nothing."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.scales import papers_scale
from cinorms.norms.thresholds import Thresholds
from cinorms.prompts.orders import as_categorical, order_codes
from cinorms.prompts.variants import list_variants
from cinorms.stats.deciding.rounds import DecidingRule
from cinorms.study.plan import Replayed, expected_savings, replay_pilot

PLAN = pd.DataFrame({"arm": ["main"], "model": ["m"], "flows": [1000], "prompts": [33_000]})


RULE = DecidingRule(Thresholds(4, 0.5, "strict"), 0.05, 150).plain()
TEMPLATES = [f"{number}. {{scenario}} {{options}}" for number in range(4)]
VARIANTS = list_variants("p", TEMPLATES, 4, 3)
FLOWS = pd.DataFrame(
    {
        "flow": range(600),
        "sender": [f"s{i % 12}" for i in range(600)],
        "topic": [f"t{i // 12}" for i in range(600)],
    }
)
ASK = {
    "arm": "main",
    "model": "m",
    "asking": RULE,
    "scale": papers_scale("acceptability").known,
    "n_templates": 4,
    "factors": ["sender", "topic"],
    "seed": 1,
}


def lines(
    asking: dict[str, object] | None, replayed: dict[tuple[str, str], Replayed | None] | None = None
) -> list[str]:
    return expected_savings([{"arm": "main", "model": "m", "asking": asking}], PLAN, replayed or {})


def answers(flows: range, odd: float) -> pd.DataFrame:
    """Return answers that follow the sender, but for a share of ``odd`` ones."""
    rng = np.random.default_rng(3)
    flow = np.repeat(np.array(flows), len(VARIANTS))
    level = (flow % 12) % 5 - 2
    other = rng.random(len(flow)) < odd
    numbers = VARIANTS["template_no"].to_numpy(), VARIANTS["order_no"].to_numpy()
    orders = as_categorical(order_codes("balanced", 1, np.array(flows)[:, None], *numbers, 5).ravel(), 5)
    level[other] = rng.integers(-2, 3, other.sum())
    return pd.DataFrame(
        {
            "flow": flow,
            "variant": pd.Categorical(list(VARIANTS["variant"]) * len(flows)),
            "order": orders,
            "level": pd.array(level, dtype="Int8"),
            "status": "ok",
        }
    )


def test_a_range_and_where_it_is_from():
    (line,) = lines({"risk": 0.01, "pilot": 100})
    assert "33,000 prompts at most; 8,910 to 23,100 expected" in line
    assert "published models (replayed at risk 0.015" in line
    (line,) = lines({"risk": 0.01, "pilot": 500})  # a large pilot is the least that is asked
    assert "16,500 to 23,100 expected" in line
    (line,) = lines({"risk": 0.01, "pilot": 1000})
    assert "saves nothing" in line
    assert lines(None) == []  # an arm that asks everything


def test_the_answers_of_a_pilot_study_are_replayed():
    clear, odd = (replay_pilot(ASK, answers(range(400), share), VARIANTS, FLOWS) for share in (0.1, 0.6))
    assert clear is not None
    assert odd is not None
    assert clear.flows == odd.flows == 250
    assert clear.asked < 0.4 < odd.asked <= 1
    assert clear.agreed >= 0.95


def test_the_plan_states_what_the_pilot_study_would_have_needed():
    (line,) = lines({"risk": 0.05, "pilot": 200}, {("main", "m"): Replayed(250, 0.25, 0.996)})
    # 200 of 1,000 flows are asked all 33 variants, the others a quarter of them.
    assert "33,000 prompts at most; 13,200 expected" in line
    assert "250 flows needed 25% of their prompts, and 99.6% of them kept" in line


@pytest.mark.parametrize("flows", [range(150), range(0)])
def test_a_pilot_study_of_too_few_flows_cannot_tell(flows):
    assert replay_pilot(ASK, answers(flows, 0.1), VARIANTS, FLOWS) is None


def test_a_pilot_study_that_asked_other_variants_cannot_tell():
    part = answers(range(400), 0.1)
    assert replay_pilot(ASK, part[part["variant"] != "3_2"], VARIANTS, FLOWS) is None
    (line,) = lines({"risk": 0.05, "pilot": 100}, {("main", "m"): None})
    assert "8,910 to 23,100 expected" in line
    assert "the pilot study has asked other variants, or too few flows" in line
