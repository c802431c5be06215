"""Where a model would stand among a fitted crowd of people: what share of them is below it.

A person's own value is known with noise: the observed values spread too widely, the shrunken ones too little. So shares
are taken over draws of each person's value from its posterior, which spread as people do, and intervals over draws
of people, of their values, and of the model's value over its wordings and flows.
"""

from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.arrays import Floats, Ints
from cinorms.core.errors import DataError
from cinorms.stats.persons import Crowd, CrowdAnswers

DRAWS = 400
#: Draws of a person's value that an interval takes together: with one, the noise of the draw would count too.
VALUES = 4
#: Ends of an interval.
INTERVAL = (0.025, 0.975)


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
