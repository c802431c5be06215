"""How people differ: the crossed model against a dense solution, and shares of people below a model."""

import numpy as np
import pytest

from cinorms.core.arrays import Floats
from cinorms.core.errors import DataError
from cinorms.stats import persons
from cinorms.stats.persons import Crowd, CrowdAnswers, among, contrasts, fit_people

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
    return Planted(7, people=60, flows=60, per_person=30)


@pytest.fixture(scope="module")
def crowd(planted: Planted) -> Crowd:
    return fit_people(planted.people)


def test_the_posterior_equals_that_of_the_whole_matrix(planted, crowd):
    """Given the variances, effects are those of Henderson's equations, solved at once with flows and people."""
    people, rest = planted.people, crowd.sd_residual**2
    n_flows, n_people = len(people.flows), crowd.effect.shape[0]
    z = np.zeros((len(people.y), n_flows + n_people * N))
    z[np.arange(len(z)), people.flow] = 1
    z[np.arange(len(z)), n_flows + people.who * N + people.level] = 1
    prior = np.zeros((z.shape[1],) * 2)
    prior[:n_flows, :n_flows] = np.eye(n_flows) / crowd.sd_flow**2
    prior[n_flows:, n_flows:] = np.kron(np.eye(n_people), np.linalg.inv(crowd.covariance))
    variance = np.linalg.inv(z.T @ z / rest + prior)
    effect = variance @ z.T @ (people.y - crowd.mean[people.level]) / rest
    assert np.abs(effect[n_flows:].reshape(-1, N) - crowd.effect).max() < 0.01  # EM has nearly ended
    assert np.abs(effect[:n_flows] - crowd.flow).max() < 0.01
    own = variance[n_flows : n_flows + N, n_flows : n_flows + N]
    assert own == pytest.approx(crowd.posterior[0], abs=0.001)


def test_what_was_planted_is_estimated():
    """On a line, where the model is the one that made the answers."""
    rng = np.random.default_rng(3)
    people, flows = 200, 90
    covariance = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.4], [0.2, 0.4, 1.5]]) * 0.04
    effect = rng.multivariate_normal(np.zeros(N), covariance, people)
    level, flow = np.arange(flows) % N, rng.normal(0, 0.15, flows)
    who = np.repeat(np.arange(people), 45)
    asked = np.concatenate([rng.choice(flows, 45, replace=False) for _ in range(people)])
    y = np.array([0.2, 0.5, 0.6])[level[asked]] + flow[asked] + effect[who, level[asked]]
    y += rng.normal(0, 0.3, len(who))
    found = fit_people(CrowdAnswers(np.arange(flows), asked, who, level[asked], y, LEVELS))
    assert found.covariance == pytest.approx(covariance, abs=0.015)
    assert (found.sd_flow, found.sd_residual) == (pytest.approx(0.15, abs=0.03), pytest.approx(0.3, abs=0.01))
    assert found.mean == pytest.approx([0.2, 0.5, 0.6], abs=0.08)
    # Draws spread as people do; posterior means alone too little.
    assert found.draw(50, rng).var(axis=(0, 1)) == pytest.approx(np.diag(covariance), abs=0.015)


def test_groups_of_flows_that_nobody_connects_are_fitted_as_one(monkeypatch):
    """Two surveys of other flows by other people: in blocks or in one matrix, the numbers are the same."""
    people, n = 20, 18
    two = Planted(8, people, n, per_person=9).people
    flows = np.arange(2 * n)
    twice = CrowdAnswers(
        flows,
        np.concatenate([two.flow, two.flow + n]),
        np.concatenate([two.who, two.who + people]),
        np.tile(two.level, 2),
        np.tile(two.y, 2),
        LEVELS,
    )
    apart = fit_people(twice)
    assert apart.effect[:people] == pytest.approx(apart.effect[people:], abs=1e-9)
    monkeypatch.setattr(persons, "_connected", lambda flow, person, n_flows, n_people: np.zeros(n_flows, int))
    assert fit_people(twice).covariance == pytest.approx(apart.covariance, abs=1e-9)


def some_of(answers: CrowdAnswers, rows: np.ndarray) -> CrowdAnswers:
    parts = (x[rows] for x in (answers.flow, answers.who, answers.level, answers.y))
    return CrowdAnswers(answers.flows, *parts, LEVELS)


def test_too_little_to_tell(planted, crowd):
    with pytest.raises(DataError, match="9 people answered; at least 10"):
        fit_people(some_of(planted.people, planted.people.who < 9))
    # In one wording the model has no valid answer to a level.
    model = some_of(planted.model, (planted.model.who != 0) | (planted.model.level != 1))
    with pytest.raises(DataError, match="no valid answer, in some wording"):
        among(crowd, planted.people, model, seed=1)


def test_a_stricter_model_is_above_fewer_people(planted, crowd):
    model, shares = planted.model, []
    for yes in (0.2, 0.4, 0.6):
        y = (np.random.default_rng(1).random(len(model.y)) < yes).astype(float)
        other = CrowdAnswers(model.flows, model.flow, model.who, model.level, y, LEVELS)
        table = among(crowd, planted.people, other, seed=1).set_index("what")
        row = table.loc["mean"]
        assert row["conf_low"] <= row["share"] <= row["conf_high"]
        shares.append(row["share"])
    assert shares == sorted(shares)
    assert shares[0] < shares[2] - 0.1


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
