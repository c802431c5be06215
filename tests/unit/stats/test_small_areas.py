"""People's mean for every flow: coverage over flows, and held-out raters of ConfAIde's stories."""

import numpy as np
import pytest

from cinorms.stats.samples import Sample
from cinorms.stats.small_areas import estimate_flows

from .people import rated


def planted(rng, flows, raters, per_flow, n_rated, agreement):
    """Return people's norms, their ratings of some flows, and a model's answers to all."""
    norms = rng.normal(0, 40, flows)
    model = agreement * norms + np.sqrt(1 - agreement**2) * rng.normal(0, 40, flows)
    cells = rated(rng, norms, raters, per_flow, slope=0.0).cells
    cells[rng.permutation(flows)[n_rated:]] = np.nan
    return norms, Sample(cells), model[:, None]


def test_a_flow_without_ratings_gets_the_prediction():
    norms, people, model = planted(np.random.default_rng(1), 100, 40, 10, 50, 0.95)
    table = estimate_flows(people, model).table
    unrated = table["n_raters"] == 0
    assert unrated.sum() == 50
    assert (table.loc[unrated, "estimate"] == table.loc[unrated, "predicted"]).all()
    assert (table.loc[unrated, "weight"] == 0).all()
    assert np.corrcoef(table.loc[unrated, "estimate"], norms[unrated])[0, 1] > 0.85
    between = (table["estimate"] - table["predicted"]) * (table["direct"] - table["estimate"])
    assert (between[~unrated] >= 0).all()


def test_a_model_that_agrees_is_worth_raters_and_one_that_does_not_is_not():
    worth = []
    for agreement in (0.95, 0.0):
        _, people, model = planted(np.random.default_rng(2), 98, 26, 5, 98, agreement)
        fit = estimate_flows(people, model)
        worth.append((fit.table["n_effective"].median(), fit.explained))
    assert worth[0][0] > 8
    assert worth[0][1] > 0.7
    assert worth[1][0] < 7
    assert worth[1][1] < 0.1


def test_what_cannot_be_estimated_has_a_status():
    _, people, model = planted(np.random.default_rng(3), 20, 10, 4, 4, 0.9)
    assert set(estimate_flows(people, model).table["status"]) == {"few_flows"}
    _, people, model = planted(np.random.default_rng(3), 20, 10, 4, 20, 0.9)
    model[3] = np.nan
    assert estimate_flows(people, model).table["status"].tolist().index("no_predictor") == 3
    alone = Sample(people.means[:, None])
    table = estimate_flows(alone, model).table
    assert set(table["status"]) == {"one_rater", "no_predictor"}
    assert table["estimate"].isna().all()


@pytest.mark.parametrize(
    ("flows", "raters", "per_flow", "n_rated", "agreement"),
    [(98, 46, 20, 40, 0.8), (98, 26, 5, 98, 0.8), (98, 26, 5, 40, 0.0), (98, 12, 3, 98, 0.95)],
)
def test_coverage_over_flows_is_nominal(flows, raters, per_flow, n_rated, agreement):
    rng, hits = np.random.default_rng(4), []
    for _ in range(60):
        norms, people, model = planted(rng, flows, raters, per_flow, n_rated, agreement)
        table = estimate_flows(people, model).table
        hits.append(((table["conf_low"] <= norms) & (norms <= table["conf_high"])).mean())
    assert 0.93 <= np.mean(hits) <= 0.97


@pytest.mark.parametrize("from_2a", [True, False], ids=["predicted by the 2a ratings", "by nothing"])
def test_held_out_people_and_flows_of_confaide_are_covered(confaide_people, from_2a):
    """Half the raters rate half the flows; the other raters' means of all flows are held out."""
    cells, rng, hits = confaide_people["2b"].cells, np.random.default_rng(5), []
    predictor = confaide_people["2a"].means[:, None] if from_2a else np.zeros((98, 0))
    for _ in range(60):
        mixed = rng.permutation(cells.shape[1])
        few = cells[:, mixed[:23]].copy()
        few[rng.permutation(98)[49:]] = np.nan
        table, other = estimate_flows(Sample(few), predictor).table, Sample(cells[:, mixed[23:]])
        # The held-out mean has an error of its own.
        reach = (table["conf_high"] - table["estimate"]) / table["std_err"]
        error = (table["estimate"] - other.means).abs() / np.sqrt(
            table["std_err"] ** 2 + other.moderated_noise[0]
        )
        hits.append((error <= reach)[other.sizes >= 3].mean())
    assert 0.93 <= np.mean(hits) <= 0.97
