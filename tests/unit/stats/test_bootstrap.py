"""Bootstrap intervals: known variances, coverage, and statuses."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.stats import bootstrap


def crossed(rng, flows, variants, flow=1.0, variant=0.3, noise=1.0, missing=0.0):
    x = (
        rng.normal(0, flow**0.5, (flows, 1))
        + rng.normal(0, variant**0.5, (1, variants))
        + rng.normal(0, noise**0.5, (flows, variants))
    )
    x[rng.random(x.shape) < missing] = np.nan
    return pd.DataFrame(x, columns=[f"{i:02d}_0" for i in range(variants)])


def components(x):
    """Return the plain variances of row means, column means and residuals (divided by their numbers)."""
    row, column = x.mean(axis=1), x.mean(axis=0)
    rest = x - row[:, None] - column + x.mean()
    return row.var(), column.var(), (rest**2).mean()


def test_the_standard_error_is_the_one_of_the_two_way_layout():
    levels = crossed(np.random.default_rng(1), 200, 40)
    rows, columns, rest = components(levels.to_numpy())
    found = bootstrap.group_means(levels, None, seed=1, draws=4000).iloc[0]
    assert found["estimate"] == pytest.approx(levels.to_numpy().mean())
    assert found["std_err"] == pytest.approx(np.sqrt(rows / 200 + columns / 40 + rest / 8000), rel=0.05)
    fixed = bootstrap.group_means(levels, None, seed=1, resample="variants", draws=4000).iloc[0]
    assert fixed["std_err"] == pytest.approx(np.sqrt(columns / 40), rel=0.05)
    assert found["low"] < found["estimate"] < found["high"]


def test_row_and_column_order_never_matter_and_the_seed_does():
    levels = crossed(np.random.default_rng(2), 30, 8, missing=0.2)
    groups = pd.Series(list("ab") * 15)
    mixed = levels.sample(frac=1, random_state=1).sample(frac=1, axis=1, random_state=2)
    first = bootstrap.group_means(levels, groups, seed=3, draws=200)
    pd.testing.assert_frame_equal(first, bootstrap.group_means(mixed, groups, seed=3, draws=200))
    assert (first["low"] != bootstrap.group_means(levels, groups, seed=4, draws=200)["low"]).all()
    pd.testing.assert_frame_equal(
        bootstrap.flow_intervals(levels, 3, draws=50), bootstrap.flow_intervals(mixed, 3, draws=50)
    )


def test_group_means_are_means_of_valid_answers():
    levels = crossed(np.random.default_rng(3), 40, 6, missing=0.3)
    groups = pd.Series(["a"] * 10 + ["b"] * 30)
    means = bootstrap.group_means(levels, groups, seed=1, draws=100).set_index("group")
    assert means.loc["a", "estimate"] == pytest.approx(np.nanmean(levels.iloc[:10]))
    assert means.loc["b", "n_answers"] == levels.iloc[10:].notna().to_numpy().sum()


def test_flow_intervals_by_hand():
    levels = pd.DataFrame(
        [[1, 1, 1, 1], [2, 2, 2, -2], [1, -1, 1, -1], [1, np.nan, np.nan, np.nan], [np.nan] * 4],
        index=[3, 5, 7, 8, 9],
        columns=list("abcd"),
        dtype=float,
    )
    found = bootstrap.flow_intervals(levels, seed=1, draws=4000).set_index("flow")
    assert found.loc[3, ["estimate", "low", "high", "std_err", "stability"]].tolist() == [1, 1, 1, 0, 1]
    # -2 is drawn Binomial(4, 1/4) times; 2 stays most frequent if that is 0 or 1.
    assert found.loc[5, "stability"] == pytest.approx(0.75**4 + 4 * 0.25 * 0.75**3, abs=0.03)
    assert found.loc[5, "std_err"] == pytest.approx(np.sqrt(3 / 4), rel=0.05)
    assert np.isnan(found.loc[7, "stability"])
    assert found["status"].tolist() == ["ok", "ok", "ok", "one_variant", "no_answers"]
    assert found["n_valid"].tolist() == [4, 4, 4, 1, 0]
    assert found.loc[8, "estimate"] == 1
    assert found.loc[[8, 9], ["low", "high", "std_err"]].isna().all(axis=None)


def test_what_has_no_interval_says_why():
    levels = crossed(np.random.default_rng(1), 4, 3)
    levels.iloc[2] = np.nan
    found = bootstrap.group_means(levels, pd.Series(["a", "a", "b", "c"]), seed=1, draws=50).set_index(
        "group"
    )
    assert found["status"].tolist() == ["ok", "no_answers", "one_flow"]
    assert found.loc[["b", "c"], ["low", "high"]].isna().all(axis=None)
    one = bootstrap.group_means(levels[["00_0"]], None, seed=1, draws=50)
    assert one["status"].tolist() == ["one_variant"]
    none = bootstrap.group_means(levels.iloc[:0], None, seed=1, draws=50)
    assert none["status"].tolist() == ["no_flows"]
    assert bootstrap.flow_intervals(levels.iloc[:0], seed=1).empty


def test_mistakes_are_named():
    levels = crossed(np.random.default_rng(1), 4, 3)
    with pytest.raises(ConfigError, match="flow 3 has none"):
        bootstrap.group_means(levels, pd.Series(["a"] * 3), seed=1)
    with pytest.raises(ConfigError, match="resample 'rows'"):
        bootstrap.group_means(levels, None, seed=1, resample="rows")


def coverage(simulations, flows, variants, draws):
    """Return how often the 95% interval holds the mean of the population, which is 0."""
    rng = np.random.default_rng(11)
    hits = 0
    for i in range(simulations):
        levels = crossed(rng, flows, variants, missing=0.1)
        found = bootstrap.group_means(levels, None, seed=i, draws=draws).iloc[0]
        hits += found["low"] <= 0 <= found["high"]
    return hits / simulations


def naive_coverage(simulations, flows, variants):
    """Return the same of the usual interval that takes all answers as independent."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(simulations):
        x = crossed(rng, flows, variants, missing=0.1).to_numpy()
        x = x[~np.isnan(x)]
        hits += abs(x.mean()) <= 1.96 * x.std() / np.sqrt(len(x))
    return hits / simulations


def test_intervals_cover_where_the_usual_ones_do_not():
    assert coverage(150, 40, 30, 300) >= 0.89
    assert naive_coverage(150, 40, 30) < 0.6


@pytest.mark.slow
def test_coverage_is_close_to_nominal():
    assert coverage(1500, 60, 33, 800) == pytest.approx(0.95, abs=0.025)
