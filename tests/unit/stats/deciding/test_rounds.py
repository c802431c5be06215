"""Rounds: whom they ask, and that the stated risk holds for respondents whose every answer is known."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from cinorms.inference.until_decided import make_design
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cinorms.prompts.orders import order_codes, places_of
from cinorms.stats.deciding.prediction import indicators, of_places, tendencies
from cinorms.stats.deciding.rounds import AskedDesign, Calibration, DecidingRule, Rounds, replay
from cinorms.stats.deciding.schedule import BLOCK, NOT_ASKED

from ....scales import ACCEPTABILITY

Ints = npt.NDArray[np.intp]

RULE = DecidingRule(Thresholds(6, 0.5, "strict"), 0.05, 120)
LEVELS = 5


def design(seed: int = 1, middle: int = 10) -> AskedDesign:
    """Return a design of three factors; ``middle`` is the number of levels of the second."""
    factors = np.array(list(product(range(8), range(middle), range(9))))
    names = list(product(range(7), range(3)))
    return AskedDesign(
        flows=np.arange(len(factors)),
        factors=factors,
        variants=[f"{t}_{o}" for t, o in names],
        template_no=np.array([t for t, _ in names]),
        order_no=np.array([o for _, o in names]),
        n_levels=LEVELS,
        seed=seed,
    )


def respondent(seed: int, noise: float = 0.7) -> Ints:
    """Return answers with planted norms, template effects, a hesitant part and some invalid answers."""
    made, rng = design(), np.random.default_rng(seed)
    norm = sum(rng.normal(0, 1, made.factors[:, j].max() + 1)[made.factors[:, j]] for j in range(3))
    norm = norm + rng.normal(0, 0.5, len(norm))
    shift = rng.normal(0, 0.4, 7)[made.template_no]
    spread = np.where(rng.random(len(norm)) < 0.3, 3 * noise, noise)
    latent = norm[:, None] + shift + spread[:, None] * rng.logistic(0, 0.5, (len(norm), len(shift)))
    codes = np.digitize(latent, [-1.5, -0.4, 0.4, 1.5])
    return np.where(rng.random(codes.shape) < 0.05, LEVELS, codes)


def verdicts(codes: Ints, thresholds: Thresholds = RULE.thresholds) -> Ints:
    return design().verdict(codes, thresholds)


@cache
def asked_of(seed: int) -> npt.NDArray[np.bool_]:
    return replay(design(seed), RULE, respondent(seed))


def test_a_flow_meets_every_template_before_it_meets_one_again():
    made = design()
    order = made.order()
    assert (np.sort(order, axis=1) == np.arange(21)).all()
    for turn in range(3):
        met = np.sort(made.template_no[order[:, 7 * turn : 7 * turn + 7]], axis=1)
        assert (met == np.arange(7)).all()


def test_whatever_number_is_asked_templates_and_orders_are_balanced():
    made = design()
    order = made.order()
    for number in (1, 3, 6, 12):
        asked = order[:, :number].ravel()
        templates = np.bincount(made.template_no[asked], minlength=7)
        orders = np.bincount(made.order_no[asked], minlength=3)
        assert np.ptp(templates) <= 7
        assert np.ptp(orders) <= 0.02 * orders.mean()


def test_the_order_of_a_flow_does_not_depend_on_the_order_of_the_flows():
    made = design()
    turned = replace(made, flows=made.flows[::-1])
    assert (made.order() == turned.order()[::-1]).all()
    assert (made.pilot(100) == turned.pilot(100)[::-1]).all()


@pytest.mark.parametrize("consensus", ["strict", "papers"])
@pytest.mark.parametrize("t_maj", ["plurality", 0.5, 0.67])
def test_the_verdict_on_everything_is_that_of_the_assessment(consensus, t_maj):
    codes = respondent(4)[:300]
    names = design().variants
    answers = pd.DataFrame(
        {
            "flow": np.repeat(np.arange(len(codes)), len(names)),
            "variant": names * len(codes),
            "level": pd.array(np.where(codes == LEVELS, 0, codes - 2).ravel(), dtype="Int8"),
            "status": np.where(codes == LEVELS, "refusal", "ok").ravel(),
        }
    )
    thresholds = Thresholds(19, t_maj, consensus)  # type: ignore[arg-type]
    norms = assessment.assess(answers, thresholds.consensus, ACCEPTABILITY)
    kept = (assessment.status(norms, thresholds) == "kept").to_numpy()
    value = norms["value"].to_numpy(dtype=np.int64, na_value=0) + 2
    assert 0 < kept.sum() < len(kept)
    assert (verdicts(codes, thresholds) == np.where(kept, value, LEVELS)).all()


def test_the_stated_risk_holds_and_prompts_are_saved():
    codes, asked = respondent(1), asked_of(1)
    changed = verdicts(np.where(asked, codes, NOT_ASKED)) != verdicts(codes)
    assert changed.mean() <= RULE.risk
    assert asked.mean() < 0.85


def drawn_to_places(pulls: list[float], seed: int) -> tuple[AskedDesign, Ints]:
    """Return a small design with the places of the options, and answers that are drawn to some of these places."""
    made, rng = design(middle=5), np.random.default_rng(seed)
    orders = order_codes("balanced", 1, made.flows[:, None], made.template_no, made.order_no, LEVELS)
    places = places_of(orders, LEVELS)
    norm = sum(rng.normal(0, 1, made.factors[:, j].max() + 1)[made.factors[:, j]] for j in range(3))
    below = 1 / (1 + np.exp(norm[:, None, None] - np.array([-2.0, -0.7, 0.7, 2.0])))
    own = np.diff(below, axis=2, prepend=0, append=1)
    p = own * np.array(pulls)[places]
    edges = p.cumsum(axis=2) / p.sum(axis=2, keepdims=True)
    codes = (rng.random((*places.shape[:2], 1)) > edges[:, :, :-1]).sum(axis=2)
    return replace(made, places=places), codes


def test_the_pull_of_each_place_is_found():
    made, codes = drawn_to_places([4, 1, 1, 1, 2], 1)
    assert made.places is not None
    seen = indicators(codes, LEVELS + 1)
    found = of_places(seen, tendencies(seen), made.places)
    first, second, last = (found[:, :, :LEVELS][made.places == place].mean() for place in (0, 1, 4))
    assert first > last + 0.3 > second + 0.6
    assert (found[:, :, LEVELS] == 0).all()
    unmoved = indicators(respondent(1)[: len(made.flows)], LEVELS + 1)
    assert np.abs(of_places(unmoved, tendencies(unmoved), made.places)).max() < 0.1


def test_known_places_save_prompts_of_a_model_that_is_drawn_to_some():
    made, codes = drawn_to_places([12, 1, 1, 1, 3], 1)
    known, unknown = (replay(each, RULE, codes) for each in (made, replace(made, places=None)))
    assert known.mean() < unknown.mean() - 0.01
    changed = verdicts(np.where(known, codes, NOT_ASKED)) != verdicts(codes)
    assert changed.mean() <= RULE.risk


def test_every_flow_has_the_block_and_the_pilot_has_all():
    made, asked = design(1), asked_of(1)
    assert (asked & made.first_block() == made.first_block()).all()
    assert asked[made.pilot(RULE.pilot)].all()
    assert asked.sum(axis=1).min() == BLOCK
    in_order = np.take_along_axis(asked, made.order(), axis=1)
    assert (np.diff(in_order.astype(int), axis=1) <= 0).all()


def test_rounds_are_a_function_of_the_answers_to_what_they_asked():
    codes, asked = respondent(1), asked_of(1)
    other = np.where(asked, codes, (codes + 2) % LEVELS)
    assert (replay(design(1), RULE, other) == asked).all()


def test_a_pilot_of_all_flows_asks_everything_in_one_round():
    rounds = Rounds(design(), RULE._replace(pilot=10_000))
    assert rounds.todo.all()
    rounds.take(respondent(1))
    assert not rounds.todo.any()


def test_respondents_who_answer_at_random_are_asked_almost_everything():
    codes = np.random.default_rng(5).integers(0, 2, (360, 21))
    asked = replay(design(middle=5), RULE, codes)
    changed = verdicts(np.where(asked, codes, NOT_ASKED)) != verdicts(codes)
    assert changed.mean() <= RULE.risk
    assert asked.mean() > 0.8


def test_a_calibration_finds_how_much_too_sure_predictions_are():
    rng = np.random.default_rng(1)
    predicted = rng.uniform(0.001, 0.2, 20_000)
    odds = 4 * predicted / (1 - predicted)
    wrong = rng.random(len(predicted)) < odds / (1 + odds)
    found = Calibration.fit(predicted, wrong, 1.0).risk(np.array([0.02, 0.05]))
    assert found == pytest.approx([0.075, 0.174], rel=0.15)


def test_a_small_pilot_leaves_a_higher_bound():
    predicted, wrong = np.full(4_000, 0.02), np.arange(4_000) % 20 == 0
    small = Calibration.fit(predicted[:200], wrong[:200], 1.0).risk(np.array([0.02]))
    large = Calibration.fit(predicted, wrong, 1.0).risk(np.array([0.02]))
    assert small > large > 0.05


@pytest.mark.slow
def test_a_model_whose_answers_agree_needs_a_third_of_the_prompts(published, iot):
    """On published answers of one model; `benchmarks/deciding.py` does it for all eight."""
    thresholds = Thresholds(10, 0.5, "strict")
    levels = assessment.level_matrix(published("Meta-Llama-3.1-8B-Instruct"))
    variants = pd.DataFrame({"variant": levels.columns})
    variants[["template_no", "order_no"]] = variants["variant"].str.split("_", expand=True).astype(int)
    flows = iot.set_index("flow").loc[levels.index].reset_index()
    factors = ["sender", "infotype", "recipient", "transmission"]
    made = make_design(flows, factors, variants, ACCEPTABILITY, seed=1)
    codes = ACCEPTABILITY.places(levels.to_numpy(), missing=len(ACCEPTABILITY.levels))
    asked = replay(made, DecidingRule(thresholds, 0.02, 400), codes)
    stopped, full = (made.verdict(seen, thresholds) for seen in (np.where(asked, codes, NOT_ASKED), codes))
    assert asked.mean() < 0.29
    assert (stopped == full).mean() > 0.995
