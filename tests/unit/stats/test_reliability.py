"""Reliability: a textbook alpha, planted effects, leaving out a template."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cinorms.core.errors import DataError
from cinorms.norms import assessment
from cinorms.stats import reliability

from ...scales import ACCEPTABILITY
from .made import answers_of, assert_same, crossed, matrix, norms_of, planted

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", four observers and twelve units.
TEXTBOOK = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def alpha_of(units):
    return reliability.alpha(assessment.counted(norms_of(units))[0].astype(float))


def test_alpha_of_the_textbook_example():
    observers = [line.split() for line in TEXTBOOK.strip().splitlines()]
    units = [[None if v == "." else int(v) - 3 for v in unit] for unit in zip(*observers, strict=True)]
    found = alpha_of(units)
    assert found.estimate == pytest.approx(0.815, abs=5e-4)
    assert found.n_flows == 11  # the last unit has one value only


def test_alpha_at_its_ends_and_where_it_is_undefined():
    assert alpha_of([[1, 1], [-2, -2]]).estimate == 1
    assert alpha_of([[1, 1], [1, 1]]) == reliability.FlowEstimate(None, 2, "no_variance")
    none = reliability.FlowEstimate(None, 2, "no_variance")
    for whole, without in (
        (none, [none._replace(estimate=0.5)] * 2),
        (none._replace(estimate=0.5), [none] * 2),
    ):
        assert whole.over(without) == whole
    assert alpha_of([[1, None], [None, None]]) == reliability.FlowEstimate(None, 0, "no_flows")


def test_order_disagreement_by_hand():
    x = np.array([[[1, 1, 1], [1, -1, 0]], [[2, 1, 1], [1, np.nan, -1]]])
    found = reliability.order_disagreement(*matrix(x), 0.0).set_index("measure")
    assert found["n_cells"].tolist() == [3, 3]
    assert found["share"].tolist() == [2 / 3, 1 / 3]
    one = reliability.order_disagreement(*matrix(x[:, :, :1]), 0.0)
    assert one["status"].tolist() == ["one_order"] * 2
    none = reliability.order_disagreement(*matrix(np.full((2, 1, 2), np.nan)), 0.0)
    assert none["status"].tolist() == ["no_cells"] * 2


CYCLE = ["01234", "12340", "23401", "34012", "40123"]


def test_a_respondent_who_takes_the_last_option_is_found_out():
    answers = answers_of([[int(order[-1]) - 2 for order in CYCLE]] * 3, [CYCLE] * 3)
    found = reliability.position_effects(answers, ACCEPTABILITY)
    assert found["share"].tolist() == [0, 0, 0, 0, 1]
    assert found["expected"].to_numpy() == pytest.approx([0.2] * 5)
    assert found["excess"].iloc[4] == pytest.approx(0.8)


def test_the_expectation_is_the_mean_over_all_deals_of_a_flows_answers():
    orders = [["01234", "43210", "20134"], ["10234", "01243", "34012"]]
    flows = [[2, -2, 0], [1, 1, -1]]
    found = reliability.position_effects(answers_of(flows, orders), ACCEPTABILITY)["expected"].to_numpy()
    share = np.zeros(5)
    for levels, shown in zip(flows, orders, strict=True):
        deals = list(itertools.permutations(levels))
        for deal in deals:
            for level, order in zip(deal, shown, strict=True):
                share[order.index(str(level + 2))] += 1 / len(deals) / 6
    assert found == pytest.approx(share)


def test_position_effects_without_orders_or_answers():
    assert set(reliability.position_effects(answers_of([[1, 2]]), ACCEPTABILITY)["status"]) == {"no_order"}
    assert set(reliability.position_effects(answers_of([[None]], [["01234"]]), ACCEPTABILITY)["status"]) == {
        "no_answers"
    }
    with pytest.raises(DataError, match="order '01233'"):
        reliability.position_effects(answers_of([[1]], [["01233"]]), ACCEPTABILITY)


def to_answers(levels):
    """Return the answers of a matrix flows x variants."""
    answers = levels.rename_axis("flow").reset_index().melt("flow", None, "variant", "level")
    status = np.where(answers["level"].isna(), "refusal", "ok")
    return answers.assign(status=status, order="01234").astype({"level": "Int8"})


def test_the_panel_of_a_small_study():
    rng = np.random.default_rng(3)
    levels, templates = matrix(crossed(rng, 12, 17, 2, 0.6, 0.4, 0.4, 0.8))
    levels = levels.round().clip(-2, 2).mask(rng.random(levels.shape) < 0.2)
    prompts = pd.DataFrame({"variant": levels.columns, "template_no": templates.to_numpy()})
    assert_same(
        reliability.panel(to_answers(levels), prompts, ACCEPTABILITY, people=True),
        """
        measure                            estimate   conf_low  conf_high  n    status
        wordings: number                   17         -         -          12   ok
        wordings: worth                    17         -         -          12   ok
        wordings: most alike, 0 and 2      1          -         -          12   ok
        alpha                              0.405813   0.331582  0.480044   12   ok
        icc_1                              0.44785    0.36662   0.52908    12   ok
        valid                              0.801471   -         -          12   ok
        orders: differ                     0.615385   -         -          130  ok
        orders: sign_flip                  0.0769231  -         -          130  ok
        """,
    )
    one_template = reliability.panel(to_answers(levels[["0_0", "0_1"]]), prompts, ACCEPTABILITY)
    assert one_template["measure"][0] == "alpha"
    nothing = reliability.panel(to_answers(levels)[:0], prompts, ACCEPTABILITY).set_index("measure")
    assert nothing.loc["valid", ["n", "status"]].tolist() == [0, "no_flows"]


def test_alpha_and_the_intraclass_correlation_have_the_interval_of_leaving_out_one_template():
    x = planted(np.random.default_rng(3), 30, 6, 2, 1, 0.2, 0.1, 0.3)
    levels, templates = matrix(np.clip(np.round(x), -2, 2))
    prompts = pd.DataFrame({"variant": levels.columns, "template_no": templates.to_numpy()})

    def panel(part):
        answers = to_answers(levels[levels.columns[templates.isin(part)]])
        return reliability.panel(answers, prompts, ACCEPTABILITY, people=True).set_index("measure")

    whole, parts = panel(range(6)), [panel({*range(6)} - {t})["estimate"] for t in range(6)]
    for measure in ("alpha", "icc_1"):
        estimate, low, high = whole.loc[measure, ["estimate", "conf_low", "conf_high"]]
        reach = stats.t.ppf(0.975, 5) * np.sqrt(5) * np.std([part[measure] for part in parts])
        assert (low, high) == pytest.approx((estimate - reach, min(estimate + reach, 1)))


def test_the_intraclass_correlation_by_its_definition():
    """Three flows with 2, 3 and 2 ratings; mean squares by hand: between 5.25 of 2 degrees of freedom, within of 4."""
    levels = pd.DataFrame([[2, 1, np.nan], [-1, 0, -2], [np.nan, 1, 1], [np.nan] * 3])
    grand = 2 / 7
    between = (2 * (1.5 - grand) ** 2 + 3 * (-1 - grand) ** 2 + 2 * (1 - grand) ** 2) / 2
    within = (0.5 + 2 + 0) / 4
    k = (7 - 17 / 7) / 2
    one = reliability.intraclass(levels)
    assert one.estimate == pytest.approx((between - within) / (between + (k - 1) * within))
    balanced = pd.DataFrame([[2, 1], [-1, 0], [0, 1]], dtype=float)
    between, within = 2 * balanced.mean(axis=1).var(), 0.5
    assert reliability.intraclass(balanced).estimate == pytest.approx((between - within) / (between + within))
    assert [reliability.intraclass(balanced[:n]).status for n in (1, 2)] == ["no_flows", "ok"]
    assert reliability.intraclass(balanced[[0]]).status == "no_flows"
    assert reliability.intraclass(balanced * 0).status == "no_variance"
