"""How people differ: the crossed model against a dense solution, and shares of people below a model."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.arrays import Floats
from cinorms.core.errors import DataError
from cinorms.stats import persons
from cinorms.stats.persons import Crowd, CrowdAnswers, among, contrasts, fit_people

from .made import assert_same

LEVELS = ["a", "b", "c"]
N = len(LEVELS)


def logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def drawn_people(rng: np.random.Generator, n: int) -> Floats:
    """Return what people add to the logit at each level: two classes, strictness, and weights of their own."""
    strict = rng.random(n)[:, None] < 0.4
    base = np.where(strict, [[-1.5, -1.5, 1.5]], [[0.3, 0.0, 0.5]])
    return np.asarray(base + rng.normal(0, 1.0, (n, 1)) + rng.normal(0, 0.6, (n, N)))


class Planted:
    """People and a model who answer yes or no to flows, and what is true of them."""

    def __init__(
        self, seed: int, people: int = 150, flows: int = 120, per_person: int = 40, wordings: int = 5
    ) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.level, self.flow = np.arange(flows) % N, rng.normal(0, 0.5, flows)
        who = np.repeat(np.arange(people), per_person)
        asked = np.concatenate([rng.choice(flows, per_person, replace=False) for _ in range(people)])
        self.people = self.answers(asked, who, drawn_people(rng, people)[who, self.level[asked]])
        self.own, own = drawn_people(rng, 1)[0], rng.normal(0, 0.7, flows)
        asked = np.tile(np.arange(flows), wordings)
        wording = np.repeat(np.arange(wordings), flows)
        shift = rng.normal(0, 0.3, wordings)[wording]
        self.model = self.answers(asked, wording, self.own[self.level[asked]] + own[asked] + shift)

    def answers(self, asked: np.ndarray, who: np.ndarray, logit: Floats) -> CrowdAnswers:
        """Return a yes or no to each flow that was asked."""
        yes = (self.rng.random(len(asked)) < logistic(logit + self.flow[asked])).astype(float)
        return CrowdAnswers(np.arange(len(self.level)), asked, who, self.level[asked], yes, LEVELS)

    def share_below(self) -> Floats:
        """Return the true share of people below the model: in the mean and each weight."""
        crowd = drawn_people(self.rng, 4000)
        of_flows = [self.flow[self.level == k] for k in range(N)]
        everybody = np.stack([logistic(crowd[:, [k]] + of_flows[k]).mean(axis=1) for k in range(N)], axis=1)
        noise = np.hypot(0.7, 0.3) * self.rng.standard_normal(400)
        model = np.array([logistic(self.own[k] + of_flows[k][:, None] + noise).mean() for k in range(N)])
        return np.asarray((everybody @ contrasts(N).T < contrasts(N) @ model).mean(axis=0))


@pytest.fixture(scope="module")
def planted() -> Planted:
    return Planted(7, people=20, flows=24, per_person=12, wordings=3)


@pytest.fixture(scope="module")
def crowd(planted: Planted) -> Crowd:
    return fit_people(planted.people)


COVARIANCE = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.4], [0.2, 0.4, 1.5]]) * 0.04


def test_the_posterior_equals_that_of_the_whole_matrix():
    """Two surveys of other flows by other people: Henderson's equations for all of them, solved at once."""
    one, mean, of_flow, rest = Planted(8, 6, 9, per_person=7).people, np.array([0.2, 0.5, 0.6]), 0.04, 0.2
    flow, who = (np.concatenate([codes, codes + n]) for codes, n in ((one.flow, 9), (one.who, 6)))
    level, y = np.tile(one.level, 2), np.concatenate([one.y, 1 - one.y])
    blocks = persons._blocks(flow, who, level, 12, 18, N)
    found = persons._expect(blocks, mean, y, level, of_flow, rest, COVARIANCE)
    z = np.zeros((len(y), 18 + 12 * N))
    z[np.arange(len(y)), flow] = z[np.arange(len(y)), 18 + who * N + level] = 1
    prior = np.diag(np.full(z.shape[1], 1 / of_flow))
    prior[18:, 18:] = np.kron(np.eye(12), np.linalg.inv(COVARIANCE))
    variance = np.linalg.inv(z.T @ z / rest + prior)
    effect = variance @ z.T @ (y - mean[level]) / rest
    of_people = variance[18:, 18:].reshape(12, N, 12, N)[np.arange(12), :, np.arange(12)]
    expected = (
        effect[:18],
        effect[18:].reshape(12, N),
        of_people,
        np.diag(variance)[:18],
        np.trace(z @ variance @ z.T),
    )
    assert len(blocks) == 2
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_what_was_planted_is_estimated():
    """On a line, where the model is the one that made the answers."""
    rng = np.random.default_rng(3)
    people, flows = 200, 90
    effect = rng.multivariate_normal(np.zeros(N), COVARIANCE, people)
    level, flow = np.arange(flows) % N, rng.normal(0, 0.15, flows)
    who = np.repeat(np.arange(people), 45)
    asked = np.concatenate([rng.choice(flows, 45, replace=False) for _ in range(people)])
    y = np.array([0.2, 0.5, 0.6])[level[asked]] + flow[asked] + effect[who, level[asked]]
    y += rng.normal(0, 0.3, len(who))
    found = fit_people(CrowdAnswers(np.arange(flows), asked, who, level[asked], y, LEVELS))
    assert found.covariance == pytest.approx(COVARIANCE, abs=0.015)
    assert (found.sd_flow, found.sd_residual) == (pytest.approx(0.15, abs=0.03), pytest.approx(0.3, abs=0.01))
    assert found.mean == pytest.approx([0.2, 0.5, 0.6], abs=0.08)
    # Draws spread as people do; posterior means alone too little.
    assert found.draw(50, rng).var(axis=(0, 1)) == pytest.approx(np.diag(COVARIANCE), abs=0.015)


def some_of(answers: CrowdAnswers, rows: np.ndarray) -> CrowdAnswers:
    return answers._replace(**{name: getattr(answers, name)[rows] for name in ("flow", "who", "level", "y")})


def test_too_little_to_tell(planted, crowd):
    with pytest.raises(DataError, match="9 people answered; at least 10"):
        fit_people(some_of(planted.people, planted.people.who < 9))
    fit_people(some_of(planted.people, planted.people.who < 10))
    with pytest.raises(DataError, match="the flows have one level of the factor"):
        fit_people(planted.people._replace(level=planted.people.level * 0))
    with pytest.raises(DataError, match="everybody gave the same answer"):
        fit_people(planted.people._replace(y=planted.people.y * 0))
    # In one wording the model has no valid answer to a level.
    model = some_of(planted.model, (planted.model.who != 0) | (planted.model.level != 1))
    with pytest.raises(DataError, match="no valid answer, in some wording"):
        among(crowd, planted.people, model, seed=1)


def test_shares_of_people_below_a_model(planted, crowd):
    # The second model was asked in one wording, about other flows too, and has the levels in another order.
    few = some_of(planted.model, planted.model.who == 0)
    few = few._replace(flows=few.flows + 3, level=(few.level + 1) % 3, levels=["c", "a", "b"])
    assert_same(
        pd.concat([among(crowd, planted.people, model, seed=1) for model in (planted.model, few)]),
        """
        what    level  value      average    share     conf_low  conf_high  n_people  n_flows
        mean    -      0.388889   0.428751   0.468625  0.074688  0.837500   20        24
        weight  a      0.041667   -0.144060  0.753125  0.087188  1          20        24
        weight  b      -0.020833  -0.140238  0.680250  0.024375  1          20        24
        weight  c      -0.020833  0.284298   0.255625  0         0.825000   20        24
        mean    -      0.333333   0.428874   0.350000  0.025000  0.787812   20        21
        weight  a      0.142857   -0.140768  0.832875  0.199375  1          20        21
        weight  b      0.142857   -0.135993  0.843125  0.287187  1          20        21
        weight  c      -0.285714  0.276761   0.123375  0         0.362812   20        21
        """,
    )


def test_a_stricter_model_is_above_fewer_people(planted, crowd):
    drawn = np.random.default_rng(1).random(len(planted.model.y))
    models = [planted.model._replace(y=(drawn < yes).astype(float)) for yes in (0.2, 0.6)]
    few, many = (among(crowd, planted.people, model, seed=1)["share"][0] for model in models)
    assert few < many - 0.1


@pytest.mark.slow
def test_intervals_of_shares_cover_the_true_share():
    """In 60 planted studies with four shares each; docs/method/stats/people.md has more of them."""
    covered = []
    for seed in range(60):
        study = Planted(seed)
        table = among(fit_people(study.people), study.people, study.model, seed)
        true = study.share_below()
        covered.append((table["conf_low"].to_numpy() <= true) & (true <= table["conf_high"].to_numpy()))
    assert 0.92 < np.mean(covered) < 0.99
