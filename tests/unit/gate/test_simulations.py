"""How often the gate errs on planted models."""

import itertools

import pytest

from . import simulation

pytestmark = pytest.mark.slow
RUNS = 1500
#: Two and a half standard errors of a share of 5%.
SLACK = 2.5 * (0.05 * 0.95 / RUNS) ** 0.5


@pytest.mark.parametrize("templates", [2, 3, 5, 11])
def test_models_with_the_same_norms_rarely_fail(templates):
    """400 runs, 12 claims. TIGHT allows next to no difference: what fails then is chance."""
    runs = 400 if templates > 2 else 50
    usual, tight = simulation.false_failures(templates, runs, simulation.USUAL, simulation.TIGHT)
    assert max(usual["fail"], tight["fail"]) <= 0.05
    likely = {2: 1, 3: 0.95, 5: 0, 11: 0.75}
    assert usual["undecided" if templates < 5 else "pass"] >= likely[templates]


@pytest.mark.parametrize("templates", [3, 5, 11, 30])
def test_the_power_to_find_a_shift_rises_and_errors_stay_at_five_per_cent(templates):
    steps = (0.0, 0.15, 0.25, 0.35, 0.5)
    found = [simulation.shares(templates, simulation.Planted(shift=step), "shift", RUNS) for step in steps]
    passed, failed = ([each[name] for each in found] for name in ("pass", "fail"))
    assert all(a >= b - SLACK for a, b in itertools.pairwise(passed))
    assert all(a <= b + SLACK for a, b in itertools.pairwise(failed))
    # At the margin both errors have their nominal size; beyond it passes, and within it failures, are rarer.
    assert max(passed[2:]) <= 0.05 + SLACK
    assert max(failed[:3]) <= 0.05 + SLACK
    if templates >= 11:
        assert passed[0] > 0.85
        assert failed[-1] > 0.9
    if templates == 3:
        assert found[2]["undecided"] > 0.85


@pytest.mark.parametrize("templates", [3, 5, 11])
def test_norms_on_the_other_side_and_refusals_beyond_the_limit_rarely_pass(templates):
    flipped = simulation.shares(templates, simulation.Planted(flipped=0.08), "flips", runs=100)
    assert flipped["pass"] <= 0.05
    for rise in (0.02, 0.04):
        refusing = simulation.shares(templates, simulation.Planted(refusals=rise), "refusals", RUNS)
        assert refusing["pass"] <= 0.05 + SLACK
