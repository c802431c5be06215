"""What a fitted crowd of people says: how people differ, and what share of them is below a model.

A person's own value is known with noise: the observed values spread too widely, the shrunken ones too little. So shares
are taken over draws of each person's value from its posterior, which spread as people do, and intervals over draws
of people, of their values, and of the model's value over its wordings and flows.
"""

from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.errors import DataError
from cinorms.stats.arrays import Floats, Ints
from cinorms.stats.persons import Crowd, CrowdAnswers, CrowdClasses, choose, fit_classes, held_out

DRAWS = 400
#: Draws of a person's value that an interval takes together: with one, the noise of the draw would count too.
VALUES = 4
#: Ends of the distribution of people, and of an interval.
TAILS, INTERVAL = (0.05, 0.95), (0.025, 0.975)


def contrasts(n_levels: int) -> Floats:
    """Return what makes of answers by level the mean answer, then each level less the mean of the others."""
    weights = (np.eye(n_levels) * n_levels - 1) / (n_levels - 1)
    return np.vstack([np.full(n_levels, 1 / n_levels), weights])


def _sums(people: CrowdAnswers, rows: Any = slice(None)) -> tuple[Floats, Floats]:
    """Return sums and numbers of answers by person and level."""
    size = (int(people.who.max()) + 1, len(people.levels))
    sums, counts = np.zeros(size), np.zeros(size)
    np.add.at(sums, (people.who[rows], people.level[rows]), people.y[rows])
    np.add.at(counts, (people.who[rows], people.level[rows]), 1.0)
    return sums, counts


def _observed(sums: Floats, counts: Floats) -> Floats:
    """Return each person's mean answer, over all answers, and the weights of the levels (people x contrasts)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        by_level, mean = sums / counts, sums.sum(axis=1) / counts.sum(axis=1)
    return np.column_stack([mean, by_level @ contrasts(sums.shape[1])[1:].T])


def structure(fit: Crowd, people: CrowdAnswers, most_classes: int, seed: int) -> pd.DataFrame:
    """Return the rows of kind ``people_structure``."""
    rng = np.random.default_rng(seed)
    both, halves = _sums(people), _halves(people, rng)
    seen, (a, b) = _observed(*both), (_observed(*part) for part in halves)
    weigh = contrasts(len(people.levels))
    drawn = fit.draw(DRAWS, rng) @ weigh.T
    noise = np.einsum("ci,pij,cj->pc", weigh, fit.posterior, weigh).mean(axis=0)
    variance = np.einsum("ci,ij,cj->c", weigh, fit.covariance, weigh)
    low, high = np.quantile(drawn, TAILS, axis=(0, 1))
    observed_low, observed_high = np.nanquantile(seen, TAILS, axis=0)
    table = pd.DataFrame(
        {
            "what": ["mean", *["weight"] * len(people.levels)],
            "level": [None, *people.levels],
            "estimate": weigh @ fit.mean,
            "sd": np.sqrt(variance),
            "low": low,
            "high": high,
            "observed_sd": np.nanstd(seen, axis=0, ddof=1),
            "observed_low": observed_low,
            "observed_high": observed_high,
            "reliability": 1 - noise / variance,
            "halves": [_correlation(x, y) for x, y in zip(a.T, b.T, strict=True)],
        }
    )
    parts = [table, *_classes(people, both, halves, most_classes, seed)]
    size = {"n_people": len(both[0]), "n_flows": len(people.flows)}
    return pd.concat(parts, ignore_index=True).assign(**size, status="ok", reason="")


def _correlation(x: Floats, y: Floats) -> float:
    there = ~np.isnan(x + y)
    if there.sum() < 3 or np.ptp(x[there]) == 0 or np.ptp(y[there]) == 0:
        return float("nan")
    return float(np.corrcoef(x[there], y[there])[0, 1])


def _classes(people: CrowdAnswers, both: Any, halves: Any, most: int, seed: int) -> list[pd.DataFrame]:
    """Return the classes of people, and how well each number of them predicts unseen answers."""
    classes, tried = _chosen(both, halves, most, seed)
    chosen = len(classes.share)
    one, other = (classes.member(*part).argmax(axis=1) for part in halves)
    rows = []
    for number in range(chosen):
        here = one == number
        kept = float((other[here] == number).mean()) if here.any() else np.nan
        about = {"what": "class", "class": number + 1, "share": classes.share[number], "reliability": kept}
        means = zip(people.levels, classes.profile[number], strict=True)
        rows += [about | {"level": level, "estimate": mean} for level, mean in means]
    scores = [
        {"what": "classes", "class": n, "estimate": score, "sd": error, "share": float(n == chosen)}
        for n, (score, error) in enumerate(tried, start=1)
    ]
    return [pd.DataFrame(rows), pd.DataFrame(scores)]


def choose_classes(people: CrowdAnswers, most: int, seed: int) -> CrowdClasses:
    """Return the classes that `structure` reports."""
    return _chosen(_sums(people), _halves(people, np.random.default_rng(seed)), most, seed)[0]


def _halves(people: CrowdAnswers, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the sums of two random halves of the answers."""
    half = rng.random(len(people.y)) < 0.5
    return _sums(people, half), _sums(people, ~half)


def _chosen(
    both: tuple[Floats, Floats], halves: tuple[Any, Any], most: int, seed: int
) -> tuple[CrowdClasses, list[tuple[float, float]]]:
    """Return the classes of the number that predicts best, and how well each number of them predicts."""
    tried = [held_out(halves[0], halves[1], n, seed) for n in range(1, most + 1)]
    return fit_classes(both[0], both[1], choose(tried), seed), tried


def among(
    fit: Crowd, people: CrowdAnswers, model: CrowdAnswers, classes: CrowdClasses, seed: int
) -> pd.DataFrame:
    """Return the rows of kind ``model_among_people`` of one model; ``classes`` are those of `choose_classes`."""
    value, drawn_value, shared = _model_values(fit, people, model, seed)
    rng = np.random.default_rng(seed)
    n = len(people.levels)
    level_flow = np.array([fit.flow[shared.flow[shared.level == k]].mean() for k in range(n)])
    crowd = fit.draw(DRAWS, rng) + level_flow
    average = fit.mean + level_flow
    weigh = contrasts(len(people.levels))
    far = np.sqrt(((crowd - average) ** 2).mean(axis=2))
    of_people = np.concatenate([crowd @ weigh.T, far[:, :, None]], axis=2)
    away = _without_noise(np.vstack([value, drawn_value]), average)
    of_model = np.append(weigh @ value, away[0])
    drawn = np.column_stack([drawn_value @ weigh.T, away[1:]])
    below = (of_people < of_model).mean(axis=(0, 1))
    again = rng.integers(0, crowd.shape[1], crowd.shape[:2])
    shares = np.stack([_share(of_people, d, again[d], drawn[d]) for d in range(DRAWS)])
    low, high = np.quantile(shares, INTERVAL, axis=0)
    table = pd.DataFrame(
        {
            "what": ["mean", *["weight"] * n, "distance"],
            "level": [None, *people.levels, None],
            "value": of_model,
            "average": [*(weigh @ average), 0.0],
            "share": below,
            "conf_low": np.minimum(low, below),
            "conf_high": np.maximum(high, below),
        }
    )
    row = _nearest(people, np.vstack([value, drawn_value]), away, classes)
    size = {"n_people": crowd.shape[1], "n_flows": len(np.unique(shared.flow)), "status": "ok", "reason": ""}
    return pd.concat([table, pd.DataFrame([row])], ignore_index=True).assign(**size)


def positions(fit: Crowd, people: CrowdAnswers, model: CrowdAnswers | None, seed: int) -> pd.DataFrame:
    """Return the mean answer and the weights of every person (one draw of each), or those of a model with intervals.

    Columns: what, level, person, value, conf_low, conf_high.
    """
    weigh = contrasts(len(people.levels))
    what, levels = ["mean", *["weight"] * len(people.levels)], [None, *people.levels]
    names = pd.DataFrame({"what": what, "level": levels})
    if model is None:
        drawn = fit.draw(1, np.random.default_rng(seed))[0] @ weigh.T
        parts = [names.assign(person=number, value=values) for number, values in enumerate(drawn)]
        return pd.concat(parts, ignore_index=True).assign(conf_low=np.nan, conf_high=np.nan)
    value, drawn, _ = _model_values(fit, people, model, seed)
    low, high = np.quantile(drawn @ weigh.T, INTERVAL, axis=0)
    return names.assign(person=np.full(len(names), np.nan), value=weigh @ value, conf_low=low, conf_high=high)


def _nearest(people: CrowdAnswers, values: Floats, away: Floats, of_people: CrowdClasses) -> dict[str, Any]:
    """Return the row of the class that is nearest to the value, the first of ``values``, of which the others are draws.

    ``away`` is how far they are from the average person.
    """
    share, classes = of_people
    gap = np.column_stack([_without_noise(values, profile) for profile in classes])
    nearest = int(gap[0].argmin())
    profile = classes[nearest]
    low, high = int(profile.argmin()), int(profile.argmax())
    words = (
        f"{share[nearest]:.0%} of people, with mean answers from {profile[low]:.2f} ({people.levels[low]}) to "
        f"{profile[high]:.2f} ({people.levels[high]})"
    )
    nearer = float((gap[1:, nearest] < away[1:]).mean())
    about = {"what": "class", "class": nearest + 1, "level": words}
    return about | {"value": gap[0, nearest], "average": away[0], "share": nearer}


def _share(of_people: Floats, draw: int, people: Ints, value: Floats) -> Floats:
    """Return the share of ``people``, drawn again, whose value is below ``value``, over a few draws of their values."""
    few = of_people[(draw + np.arange(VALUES) * (DRAWS // VALUES)) % DRAWS]
    return np.asarray((few[:, people] < value).mean(axis=(0, 1)))


def _without_noise(values: Floats, other: Floats) -> Floats:
    """Return the distance of the value, in the first row, and of its draws from ``other``.

    Noise makes every distance longer: the value has it once, a draw of the value twice.
    """
    noise = float(((values[1:] - values[0]) ** 2).mean())
    square = ((values - other) ** 2).mean(axis=1) - np.append(noise, np.full(len(values) - 1, 2 * noise))
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))


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
