"""Whether answers depend on the flow: right size for respondents that do not read it, power for those that do."""

from dataclasses import replace

import numpy as np
import pytest

from cinorms.core.labels import share
from cinorms.stats.flow_dependence import SIGNIFICANT, VERDICTS, Dependence, dependence

from ...scales import ACCEPTABILITY
from .made import assert_same, crossed, matrix

FLOWS, TEMPLATES, ORDERS = 24, 6, 5


def asked(levels: np.ndarray, draws: int = 199, seed: int = 1) -> Dependence:
    return dependence(*matrix(levels.reshape(-1, TEMPLATES, ORDERS)), ACCEPTABILITY, seed, draws)


def uniform(chance: np.random.Generator) -> np.ndarray:
    return chance.integers(-2, 3, (FLOWS, TEMPLATES * ORDERS))


def first_option(chance: np.random.Generator) -> np.ndarray:
    """Take the first option shown; each of the five levels is first once among the orders of a template."""
    start = chance.integers(0, 5, (FLOWS, TEMPLATES, 1))
    return ((start + np.arange(ORDERS)) % 5 - 2).reshape(FLOWS, -1)


def template_habit(chance: np.random.Generator) -> np.ndarray:
    """Give each template an answer of its own, whatever the flow."""
    return np.repeat(chance.integers(-2, 3, (1, TEMPLATES)), ORDERS, axis=1).repeat(FLOWS, axis=0)


@pytest.mark.parametrize("respondent", [uniform, first_option, template_habit])
def test_a_respondent_that_does_not_read_the_flow_is_seldom_said_to(respondent):
    found = [asked(respondent(np.random.default_rng(seed)), draws=49, seed=seed) for seed in range(30)]
    assert np.mean([one.verdict == "depends" for one in found]) <= 0.1
    if respondent is uniform:
        assert 0.35 < np.mean([one.p for one in found]) < 0.65
        assert np.mean([one.share for one in found]) == pytest.approx(0, abs=0.01)


def test_some_answers_depend_somewhat():
    rng = np.random.default_rng(3)
    levels, templates = matrix(crossed(rng, 12, 5, 2, 0.6, 0.4, 0.4, 0.8))
    levels = levels.round().clip(-2, 2).mask(rng.random(levels.shape) < 0.2)
    # Of one template the single answers are exchanged.
    found = [
        dependence(x, templates, ACCEPTABILITY, 1, 99) for x in (levels, levels[::-1], levels[["0_0", "0_1"]])
    ]
    assert_same(
        found,
        """
        flows  valid     top_share  share     p     status
        12     0.808333  0.278351   0.486014  0.01  ok
        12     0.808333  0.278351   0.486014  0.01  ok
        12     0.833333  0.4        0.643335  0.05  ok
        """,
    )


def test_a_respondent_with_norms_is_found_out():
    chance = np.random.default_rng(3)
    norm = chance.integers(-2, 3, (FLOWS, 1))
    found = asked(np.clip(norm + chance.integers(-1, 2, (FLOWS, TEMPLATES * ORDERS)) * 0.6, -2, 2).round())
    assert (found.verdict, found.p) == ("depends", 1 / 200)
    says = f"the flow explains {share(found.share, 1)} of the variance: {VERDICTS['depends']}"
    assert found.words == says
    assert replace(found, valid=0.89).words == f"{says}; answers that are missing can look like this"
    alike = replace(found, status="alike_templates").words
    assert alike == f"{says}; wordings that are alike can look like this"
    assert replace(found, share=0.006, top_share=0.99).verdict == "depends"
    assert [replace(found, valid=valid).verdict for valid in (0.5, 0.49)] == ["depends", "depends_few"]
    assert replace(found, valid=0.89, p=0.5).words == VERDICTS["no_dependence"]
    assert found.share > 0.5


def test_verdicts_that_need_no_test():
    same = np.full((FLOWS, TEMPLATES * ORDERS), 2.0)
    assert asked(same).verdict == "one_answer"
    assert asked(same).status == "no_variance"
    same[0, 0] = 1
    assert asked(same).verdict == "no_dependence"
    nothing = np.full((FLOWS, TEMPLATES * ORDERS), np.nan)
    for none in (nothing, nothing[:0]):
        assert (asked(none).verdict, asked(none).valid) == ("no_answers", 0.0)
    chance = np.random.default_rng(6)
    few = np.repeat(chance.integers(-2, 3, (FLOWS, 1)), TEMPLATES * ORDERS, axis=1).astype(float)
    few[:, 5:] = np.nan
    assert asked(few).verdict == "depends_few"
    assert {"one_answer", "no_answers", "depends_few", "depends", "no_dependence"} == set(VERDICTS)


def test_answers_that_are_random_but_the_same_in_every_order_do_not_depend_on_the_flow():
    """Single answers exchanged would say so of nearly every such respondent."""
    rng = np.random.default_rng(12)
    found = [
        asked(np.repeat(rng.integers(-2, 3, (FLOWS, TEMPLATES)), ORDERS, axis=1).astype(float), draws=99).p
        for _ in range(20)
    ]
    assert np.mean(np.array(found) < SIGNIFICANT) <= 0.15
