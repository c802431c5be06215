"""How people differ, and what share of them is below a model: a crossed linear mixed model of flows and people.

``y = m_k + u_f + theta_pk + e`` for the answer of person p to flow f, which has level k of a factor: ``m`` are fixed,
``u`` (flows) normal with one variance, ``theta_p`` (a number per level) normal with any covariance. The likelihood is
maximised with its exact gradient, as lme4 does. Why linear also for yes and no: docs/method/stats/people.md.

A person's own value is known with noise: the observed values spread too widely, the shrunken ones too little. So shares
are taken over draws of each person's value from its posterior, which spread as people do, and intervals over draws
of people, of their values, and of the model's value over its wordings and flows.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from cinorms.core.arrays import Floats, Ints
from cinorms.core.errors import DataError

#: The gradient per answer at which the fit ends, or the gain per answer too small for a double to show, and its steps.
STOP = {"gtol": 1e-7, "ftol": 1e-14, "maxiter": 2000, "maxfun": 4000, "maxcor": 50}
#: Standard deviations are sought up to so many times the residual one: without residuals they have no end.
WIDEST = 1e3
#: People that are needed for a covariance between levels.
FEWEST_PEOPLE = 10
#: Draws of what is known with noise.
DRAWS = 400
#: Draws of a person's value that an interval takes together: with one, the noise of the draw would count too.
VALUES = 4
#: Ends of an interval.
INTERVAL = (0.025, 0.975)


class CrowdAnswers(NamedTuple):
    """Valid answers on a line from 0, the lowest option, to 1: codes of flow and of person (or wording), and level."""

    flows: Ints
    flow: Ints
    who: Ints
    level: Ints
    y: Floats
    levels: list[str]


class Crowd(NamedTuple):
    """The fitted model: ``mean`` per level, and of each person the posterior mean (people x levels) and covariance."""

    mean: Floats
    effect: Floats
    posterior: Floats
    covariance: Floats
    flow: Floats
    sd_flow: float
    sd_residual: float

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Return ``n`` draws of every person's mean answer at each level (n x people x levels), without clipping."""
        root = np.linalg.cholesky(self.posterior + 1e-12 * np.eye(len(self.mean)))
        noise = rng.standard_normal((n, *self.effect.shape))
        return np.asarray(self.mean + self.effect + np.einsum("pij,npj->npi", root, noise))


def fit_people(people: CrowdAnswers) -> Crowd:
    """Fit the model.

    Raises ``DataError`` where there are too few people, or nothing in which they differ.
    """
    flow, person, level, y = people.flow, people.who, people.level, people.y
    n_people, n_levels, n_flows = (int(codes.max(initial=-1)) + 1 for codes in (person, level, flow))
    if n_people < FEWEST_PEOPLE:
        raise DataError(f"{n_people} people answered; at least {FEWEST_PEOPLE} are needed")
    if n_levels < 2:
        raise DataError("the flows have one level of the factor; nothing can weigh more or less")
    if float(np.ptp(y)) == 0:
        raise DataError("everybody gave the same answer to everything")
    blocks = _blocks(flow, person, level, n_people, n_flows, n_levels)
    n, cells = len(y), np.tril_indices(n_levels)

    def evaluate(x: Floats) -> tuple[float, Floats, Crowd]:
        """Return minus the log-likelihood and its gradient, at the best residual variance, and the model there.

        ``x`` is the means, the logarithm of the flows' standard deviation, and the root of people's covariance.
        """
        mean, of_flow, root = x[:n_levels], float(np.exp(2 * x[n_levels])), np.zeros((n_levels, n_levels))
        root[cells] = x[n_levels + 1 :]
        left = y - mean[level]
        u, doubt, effect, posterior, log_det, expected = _posterior(blocks, left, of_flow, root)
        residual = left - u[flow] - effect[person, level]
        rest = max(float(left @ residual) / n, 1e-12)
        sums = np.bincount(person * n_levels + level, residual, n_people * n_levels).reshape(-1, n_levels)
        by_flow = float(((u**2 / rest + doubt) / of_flow - 1).sum())
        by_root = (sums.T @ sums @ root / rest - expected)[cells]
        gradient = np.concatenate([np.bincount(level, residual, n_levels) / rest, [by_flow], by_root])
        sds = (of_flow * rest) ** 0.5, rest**0.5
        model = Crowd(mean, effect, posterior * rest, root @ root.T * rest, u, *sds)
        return (np.log(rest) + log_det / n) / 2, -gradient / n, model

    mean = np.bincount(level, y, n_levels) / np.bincount(level, minlength=n_levels)
    start = np.concatenate([mean, [-0.5], np.linalg.cholesky(0.3 * np.eye(n_levels) + 0.2)[cells]])
    ends = [np.inf] * n_levels + [np.log(WIDEST)] + [WIDEST] * len(cells[0])
    bounds = scipy.optimize.Bounds(-np.array(ends), np.array(ends))
    found = scipy.optimize.minimize(
        lambda x: evaluate(x)[:2], start, jac=True, method="L-BFGS-B", bounds=bounds, options=STOP
    )
    model = evaluate(found.x)[2]
    if not found.success or model.sd_residual < 2 / WIDEST * float(np.std(y)):
        raise DataError("the variances were not found; flows and people may explain every answer exactly")
    return model


class _Block(NamedTuple):
    """Flows and people that are connected by answers: rows of the data, flows, people, and how often they meet."""

    rows: Ints
    flows: Ints
    people: Ints
    counts: Floats
    of_flow: Ints
    of_effect: Ints


def _blocks(
    flow: Ints, person: Ints, level: Ints, n_people: int, n_flows: int, n_levels: int
) -> list[_Block]:
    label = _connected(flow, person, n_flows, n_people)
    blocks = []
    for number in np.unique(label):
        rows = np.flatnonzero(label[flow] == number)
        flows, of_flow = np.unique(flow[rows], return_inverse=True)
        people, at = np.unique(person[rows], return_inverse=True)
        of_effect = at * n_levels + level[rows]
        counts = np.zeros((len(flows), len(people) * n_levels))
        np.add.at(counts, (of_flow, of_effect), 1.0)
        blocks.append(_Block(rows, flows, people, counts, of_flow, of_effect))
    return blocks


def _connected(flow: Ints, person: Ints, n_flows: int, n_people: int) -> Ints:
    """Return for each flow which group of flows it is in that are connected by people."""
    size = n_flows + n_people
    graph = scipy.sparse.coo_array((np.ones(len(flow)), (flow, n_flows + person)), shape=(size, size))
    return np.asarray(scipy.sparse.csgraph.connected_components(graph)[1], dtype=np.int64)[:n_flows]


def _posterior(
    blocks: list[_Block], left: Floats, of_flow: float, root: Floats
) -> tuple[Floats, Floats, Floats, Floats, float, Floats]:
    """Return of flows the means and variances, of people the means and covariances, given the answers, and two sums.

    All variances are in units of the residual one. The sums are the logarithm of the determinant of the answers'
    covariance, and half its derivative in ``root``. Flows are eliminated first: the matrix that is inverted has a row
    for each person and level.
    """
    k, log_det, expected = len(root), 0.0, np.zeros_like(root)
    n_flows, n_people = sum(len(block.flows) for block in blocks), sum(len(block.people) for block in blocks)
    u, doubt = np.zeros(n_flows), np.zeros(n_flows)
    effect, posterior = np.zeros((n_people, k)), np.zeros((n_people, k, k))
    for block in blocks:
        counts, m = block.counts, len(block.people)
        rows, size = left[block.rows], m * k
        own = of_flow / (1 + of_flow * counts.sum(axis=1))
        shared = counts * own[:, None]
        known = np.diag(counts.sum(axis=0)) - counts.T @ shared
        inner = root.T @ (known.reshape(-1, k) @ root).reshape(m, k, size)
        factor = scipy.linalg.cho_factor(inner.reshape(size, size) + np.eye(size))
        half = root @ scipy.linalg.cho_solve(factor, np.eye(size)).reshape(m, k, size)
        variance = (half.reshape(-1, k) @ root.T).reshape(size, size)
        by_flow = np.bincount(block.of_flow, rows, len(own))
        theta = variance @ (np.bincount(block.of_effect, rows, size) - shared.T @ by_flow)
        u[block.flows] = own * by_flow - shared @ theta
        doubt[block.flows] = own + ((shared @ variance) * shared).sum(axis=1)
        effect[block.people] = theta.reshape(m, k)
        posterior[block.people] = variance.reshape(m, k, m, k)[np.arange(m), :, np.arange(m)]
        log_det += 2 * float(np.log(np.diag(factor[0])).sum()) - float(np.log(own / of_flow).sum())
        expected += np.einsum("pkx,xpj->kj", known.reshape(m, k, size), half.reshape(size, m, k))
    return u, doubt, effect, posterior, log_det, expected


def contrasts(n_levels: int) -> Floats:
    """Return what makes of answers by level the mean answer, then each level less the mean of the others."""
    weights = (np.eye(n_levels) * n_levels - 1) / (n_levels - 1)
    return np.vstack([np.full(n_levels, 1 / n_levels), weights])


def among(fit: Crowd, people: CrowdAnswers, model: CrowdAnswers, seed: int) -> pd.DataFrame:
    """Return the rows of kind ``model_among_people`` of one model."""
    value, drawn_value, shared = _model_values(fit, people, model, seed)
    rng = np.random.default_rng(seed)
    n = len(people.levels)
    level_flow = np.array([fit.flow[shared.flow[shared.level == k]].mean() for k in range(n)])
    weigh = contrasts(n)
    of_people = (fit.draw(DRAWS, rng) + level_flow) @ weigh.T
    of_model, drawn = weigh @ value, drawn_value @ weigh.T
    below = (of_people < of_model).mean(axis=(0, 1))
    again = rng.integers(0, of_people.shape[1], of_people.shape[:2])
    shares = np.stack([_share(of_people, d, again[d], drawn[d]) for d in range(DRAWS)])
    low, high = np.quantile(shares, INTERVAL, axis=0)
    return pd.DataFrame(
        {
            "what": ["mean", *["weight"] * n],
            "level": [None, *people.levels],
            "value": of_model,
            "average": weigh @ (fit.mean + level_flow),
            "share": below,
            "conf_low": np.minimum(low, below),
            "conf_high": np.maximum(high, below),
            "n_people": of_people.shape[1],
            "n_flows": len(np.unique(shared.flow)),
            "status": "ok",
            "reason": "",
        }
    )


def _share(of_people: Floats, draw: int, people: Ints, value: Floats) -> Floats:
    """Return the share of ``people``, drawn again, whose value is below ``value``, over a few draws of their values."""
    few = of_people[(draw + np.arange(VALUES) * (DRAWS // VALUES)) % DRAWS]
    return np.asarray((few[:, people] < value).mean(axis=(0, 1)))


def _model_values(
    fit: Crowd, people: CrowdAnswers, model: CrowdAnswers, seed: int
) -> tuple[Floats, Floats, Any]:
    """Return the model's mean answer at each level, draws of it over wordings and flows, and its rows about them."""
    place = pd.Index(people.flows).get_indexer(pd.Index(model.flows))[model.flow]
    level = pd.Index(people.levels).get_indexer(pd.Index(model.levels))[model.level]
    here = (place >= 0) & (level >= 0)
    rows = pd.DataFrame({"flow": place, "who": model.who, "level": level, "y": model.y})[here]
    cells = rows.groupby(["level", "flow"], as_index=False)["y"].mean()
    means = rows.pivot_table("y", "who", "level")
    if sorted(cells["level"].unique()) != list(range(len(people.levels))) or means.isna().any(axis=None):
        raise DataError(
            "the model has no valid answer, in some wording, to any flow of a level that people answered"
        )
    value = cells.groupby("level")["y"].mean().to_numpy()
    rng, k = np.random.default_rng(seed + 1), len(people.levels)
    left = cells["y"] - fit.flow[cells["flow"]]
    by_level = left.groupby(cells["level"])
    of_flows = np.sqrt((by_level.var().fillna(0.0) / by_level.size()).to_numpy())
    drawn = value + of_flows * rng.standard_normal((DRAWS, k))
    wordings = means.to_numpy()
    t = len(wordings)
    if t > 1:
        # Few wordings: Student's t, the same factor for all levels.
        root = (wordings - wordings.mean(axis=0)) / np.sqrt(t * (t - 1))
        wide = np.sqrt((t - 1) / rng.chisquare(t - 1, (DRAWS, 1)))
        drawn = drawn + wide * (rng.standard_normal((DRAWS, t)) @ root)
    return value, drawn, cells
