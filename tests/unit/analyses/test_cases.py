"""The cases A to D of PETS Figure 1: consistent or not, near to the expected value or not."""

import pandas as pd
import pytest

from cinorms.analyses.deltas import CASES, cases, cases_of_flows
from cinorms.entries.entry import Selected
from cinorms.norms import assessment
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry
from ...scales import ACCEPTABILITY

#: Answers to seven flows, and what is expected of each (in points from -100 to 100, 50 a level).
ANSWERS = [[1, 1, 1], [2, 2, 2], [2, 2, 1], [-2, 2, 0], [0, 0, 1], [1, 1, 1], [1, None, None]]
EXPECTED = [75.0, 0.0, 0.0, 0.0, 0.0, None, 50.0]


def found(by_flow: bool = False, **options: float) -> pd.DataFrame:
    rows = [
        {"flow": flow, "variant": str(i), "level": level, "status": "refusal" if level is None else "ok"}
        for flow, levels in enumerate(ANSWERS)
        for i, level in enumerate(levels)
    ]
    answers = pd.DataFrame(rows).astype({"level": "Int8", "variant": "category", "status": "category"})
    one = Selected("main", "a", assessment.assess(answers, "strict", ACCEPTABILITY))
    dataset = DatasetFactors("d", ("sender",), expected_range=(-100, 100))
    entry = make_entry("analyses", "cases", options, [one.pair], factors_of={"main": dataset})
    flows = range(len(ANSWERS))
    vignettes = pd.DataFrame(
        {"flow": flows, "sender": "s", "vignette": "v", "expected": pd.array(EXPECTED, "Float64")}
    )
    return (cases_of_flows if by_flow else cases)([one], entry, vignettes={"main": vignettes}, expected=None)


def test_a_flow_is_placed_by_its_bias_and_the_spread_of_its_answers():
    table = found(by_flow=True)
    assert table["case"].tolist() == ["A", "B", "C", "D", "A", "consistent", "no_answers"]
    assert table["bias"].tolist()[:5] == pytest.approx([-0.5, 2, 5 / 3, 0, 1 / 3])  # at the limit is near
    assert table["spread"].tolist()[:4] == pytest.approx([0, 0, (2 / 9) ** 0.5, (8 / 3) ** 0.5])


def test_the_shares_are_of_all_flows_and_add_up():
    table = found().set_index("case")
    assert table.index.tolist() == list(CASES)
    assert table["flows"].tolist() == [2, 1, 1, 1, 1, 1]
    assert table["share"].sum() == pytest.approx(1)
    assert table["of"].eq(7).all()


def test_the_limits_are_options():
    assert found(by_flow=True, near=0.4)["case"].tolist()[0] == "B"
    assert found(by_flow=True, little=0.4)["case"].tolist()[2] == "D"
    assert found(by_flow=True, t_val=1)["case"].tolist()[6] == "no_answers"  # one answer has no spread
