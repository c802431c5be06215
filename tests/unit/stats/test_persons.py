"""How people differ: the crossed model against a dense solution, and shares of people below a model."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.arrays import Floats
from cinorms.core.errors import DataError
from cinorms.stats import persons
from cinorms.stats.persons import Crowd, CrowdAnswers, among, contrasts, fit_people
from cinorms.vignettes.designs import factor_columns, load_dataset

from ...shared_ratings import FOLDER, ROOT, confaide, needs_ratings
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
    one, of_flow, rest = Planted(8, 6, 9, per_person=7).people, 0.04, 0.2
    flow, who = (np.concatenate([codes, codes + n]) for codes, n in ((one.flow, 9), (one.who, 6)))
    level, y = np.tile(one.level, 2), np.concatenate([one.y, 1 - one.y])
    left = y - np.array([0.2, 0.5, 0.6])[level]
    blocks = persons._blocks(flow, who, level, 12, 18, N)
    root = np.linalg.cholesky(COVARIANCE / rest)
    u, doubt, of_people, variances, log_det, _ = persons._posterior(blocks, left, of_flow / rest, root)
    z = np.zeros((len(y), 18 + 12 * N))
    z[np.arange(len(y)), flow] = z[np.arange(len(y)), 18 + who * N + level] = 1
    prior = np.diag(np.full(z.shape[1], 1 / of_flow))
    prior[18:, 18:] = np.kron(np.eye(12), np.linalg.inv(COVARIANCE))
    variance = np.linalg.inv(z.T @ z / rest + prior)
    effect = variance @ z.T @ left / rest
    everybody = variance[18:, 18:].reshape(12, N, 12, N)[np.arange(12), :, np.arange(12)]
    of_answers = np.eye(len(y)) + z @ np.linalg.inv(prior) @ z.T / rest
    assert len(blocks) == 2
    for ours, theirs in (
        (u, effect[:18]),
        (of_people, effect[18:].reshape(12, N)),
        (variances * rest, everybody),
        (doubt * rest, np.diag(variance)[:18]),
        (log_det, np.linalg.slogdet(of_answers)[1]),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


REFERENCE = pd.read_csv(ROOT / "tests/reference/people_reference.csv")


def answers_of(data: pd.DataFrame) -> CrowdAnswers:
    """Return a table of flow, person, level and y as answers."""
    codes = {name: np.unique(data[name], return_inverse=True) for name in ("flow", "person", "level")}
    flow, who, level = (of_rows.astype(np.int64) for _, of_rows in codes.values())
    return CrowdAnswers(codes["flow"][0], flow, who, level, data["y"].to_numpy(float), [*codes["level"][0]])


def simulated_raters() -> pd.DataFrame:
    """Return 40 people who differ in strictness alone: the greatest likelihood has correlations of 1."""
    ratings = pd.read_csv(ROOT / "resources/ratings/planted_people.csv")
    level = factor_columns(load_dataset(ROOT / "resources/vignettes/iot.yaml"))["recipient"]
    y = (ratings["rating"] + 2) / 4
    return pd.DataFrame(
        {"flow": ratings["flow"], "person": ratings["rater"], "level": level[ratings["flow"]].array, "y": y}
    )


def planted_people() -> pd.DataFrame:
    people = Planted(3, people=40).people
    return pd.DataFrame({"flow": people.flow, "person": people.who, "level": people.level, "y": people.y})


def education() -> pd.DataFrame:
    """Return the answers of 494 people on students' data."""
    rows = pd.read_csv(FOLDER / "hcomp2016/ratings_long.csv").query("code < 3")
    person = 100 * rows["survey"] + rows["rater"]
    return pd.DataFrame(
        {"flow": rows["question"], "person": person, "level": rows["principle"], "y": 2.0 - rows["code"]}
    )


def confaide_2a() -> pd.DataFrame:
    """Return five ratings of each flow: seven levels of the information type for 26 people."""
    rows = confaide("2a")
    level, y = -rows["type"].cat.codes, (rows["value"] + 2) / 4
    return pd.DataFrame({"flow": rows["flow"], "person": rows["rater"], "level": level, "y": y})


@pytest.mark.parametrize(
    "read",
    [
        simulated_raters,
        planted_people,
        pytest.param(education, marks=needs_ratings),
        pytest.param(confaide_2a, marks=needs_ratings),
    ],
)
def test_variances_equal_those_of_lme4(read):
    fit = fit_people(answers_of(read()))
    expected = REFERENCE[REFERENCE["data"] == read.__name__].set_index(["quantity", "level"])["value"]
    ours = np.sqrt(np.diag(fit.covariance))
    assert ours == pytest.approx(expected["sd"].to_numpy(), rel=1e-3)
    correlation = (fit.covariance / np.outer(ours, ours))[np.tril_indices(len(ours), -1)]
    assert correlation == pytest.approx(expected["correlation"].to_numpy(), abs=2e-3)
    assert fit.mean == pytest.approx(expected["mean"].to_numpy(), abs=1e-3)
    assert (fit.sd_flow, fit.sd_residual) == pytest.approx(
        expected[["sd_flow", "sd_residual"]].to_numpy(), rel=1e-3
    )


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
    for y in (planted.people.who % 2.0, planted.people.flow % 5.0, planted.people.level / 2):
        with pytest.raises(DataError, match="flows and people may explain every answer"):
            fit_people(planted.people._replace(y=y))
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
        mean    -      0.388889   0.430037   0.469250  0.074688  0.825000   20        24
        weight  a      0.041667   -0.143565  0.755875  0.087500  1          20        24
        weight  b      -0.020833  -0.138077  0.677250  0.024375  1          20        24
        weight  c      -0.020833  0.281642   0.257750  0         0.812812   20        24
        mean    -      0.333333   0.430037   0.348500  0.025000  0.775312   20        21
        weight  a      0.142857   -0.143565  0.835750  0.199375  1          20        21
        weight  b      0.142857   -0.138077  0.848500  0.275000  1          20        21
        weight  c      -0.285714  0.281641   0.122000  0         0.375000   20        21
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
