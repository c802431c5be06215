"""People's means, assisted by a model: coverage, gain, and no gain."""

import numpy as np
import pandas as pd
import pytest

from cinorms.stats.assisted import estimate_flows, slices
from cinorms.stats.samples import Sample

from ...shared_ratings import FOLDER, needs_ratings
from .people import rated

FLOWS = 2000


def design(seed, agreement):
    """Return flows with two factors, people's norms, and a model whose answers correlate so much with them."""
    rng = np.random.default_rng(seed)
    flows = pd.DataFrame({"flow": np.arange(FLOWS), "a": rng.choice(list("xyz"), FLOWS)})
    norms = rng.normal(0, 1, FLOWS) + (flows["a"] == "y")
    model = agreement * norms + np.sqrt(1 - agreement**2) * rng.normal(0, 1, FLOWS) + 0.5
    return flows.assign(model=model), norms.to_numpy()


def survey(rng, norms, raters, per_rater):
    """Return ratings: each rater rates flows drawn at random, and is more or less strict."""
    flow = np.concatenate([rng.choice(FLOWS, per_rater, replace=False) for _ in range(raters)])
    rater = np.repeat(np.arange(raters), per_rater)
    rating = norms[flow] + rng.normal(0, 0.3, raters)[rater] + rng.normal(0, 0.7, len(flow))
    return pd.DataFrame({"flow": flow, "rater": rater, "rating": rating})


def test_people_alone_get_their_plain_mean():
    flows, norms = design(1, 0.9)
    ratings = survey(np.random.default_rng(1), norms, 20, 10)
    table = slices(flows, ratings, ["a"]).set_index("level")
    assert table.loc["all flows", "plain"] == pytest.approx(ratings["rating"].mean())
    of_y = ratings["flow"].map(flows["a"]) == "y"
    assert table.loc["y", "plain"] == pytest.approx(ratings.loc[of_y, "rating"].mean())
    assert table.loc["y", "n_ratings"] == of_y.sum()
    assert table.loc["all flows", "n_raters"] == 20


def test_a_model_that_agrees_counts_as_more_ratings_and_one_that_does_not_changes_nothing():
    gain = {}
    for agreement in (0.9, 0.0):
        flows, norms = design(2, agreement)
        table = slices(flows, survey(np.random.default_rng(2), norms, 100, 20))
        gain[agreement] = (table["n_effective"] / table["n_ratings"]).iloc[0]
        assert table["weight"].iloc[0] == pytest.approx(agreement, abs=0.15)
    assert gain[0.9] > 1.2
    assert gain[0.0] == pytest.approx(1, abs=0.05)


def test_a_model_that_answers_everything_alike_is_left_out():
    flows, norms = design(3, 0.5)
    table = slices(flows.assign(model=3.0), survey(np.random.default_rng(3), norms, 30, 10), ["a"])
    assert (table["weight"] == 0).all()
    assert table["estimate"].to_numpy() == pytest.approx(table["plain"].to_numpy())


def test_one_rater_gives_no_interval():
    flows, norms = design(4, 0.5)
    table = slices(flows, survey(np.random.default_rng(4), norms, 1, 30))
    assert table["status"].tolist() == ["one_rater"]
    assert table["estimate"].isna().all()


def test_a_level_that_nobody_rated_has_no_numbers():
    flows, norms = design(4, 0.5)
    ratings = survey(np.random.default_rng(4), norms, 10, 30)
    some = slices(flows, ratings[ratings["flow"].map(flows["a"]) != "z"], ["a"]).set_index("level")
    assert some["status"].tolist() == ["ok", "ok", "ok", "no_ratings"]
    assert some.loc["z", ["n_ratings", "n_raters"]].tolist() == [0, 0]
    assert some.loc["z", ["plain", "estimate", "conf_low", "weight"]].isna().all()


def same_flows(rng, norms, raters, flows):
    """Return ratings of which every rater has the same flows, drawn at random."""
    flow, rater = (
        np.tile(rng.choice(len(norms), flows, replace=False), raters),
        np.repeat(np.arange(raters), flows),
    )
    rating = norms[flow] + rng.normal(0, 0.3, raters)[rater] + rng.normal(0, 0.7, len(flow))
    return pd.DataFrame({"flow": flow, "rater": rater, "rating": rating})


def test_intervals_hold_where_all_raters_rate_the_same_drawn_flows():
    flows, norms = design(7, 0.0)
    rng, hits = np.random.default_rng(7), []
    for _ in range(60):
        row = slices(flows, same_flows(rng, norms, 60, 30)).iloc[0]
        hits.append(row["conf_low"] <= norms.mean() <= row["conf_high"])
    assert np.mean(hits) >= 0.88  # over raters alone: 0.42


def test_where_all_flows_are_rated_only_the_raters_are_a_sample():
    flows, norms = design(8, 0.0)
    ratings = same_flows(np.random.default_rng(8), norms[:40], 25, 40)
    row = slices(flows[:40], ratings).iloc[0]
    by_rater = ratings.groupby("rater")["rating"].mean()
    assert row["std_err"] == pytest.approx(by_rater.std() / np.sqrt(25))


def test_a_model_that_may_have_seen_the_ratings_gives_no_estimate():
    flows, norms = design(9, 0.9)
    ratings = survey(np.random.default_rng(9), norms, 20, 10)
    usual, seen = (slices(flows, ratings, ["a"], seen=seen) for seen in (False, True))
    assert (seen["status"] == "may_have_seen").all()
    assert (
        seen[["estimate", "std_err", "conf_low", "conf_high", "weight", "n_effective"]].isna().all(axis=None)
    )
    people = ["plain", "plain_low", "plain_high", "n_ratings"]
    assert seen[people].equals(usual[people])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agreement", "raters", "per_rater"), [(0.9, 15, 10), (0.9, 60, 20), (0.0, 60, 20), (-0.5, 15, 10)]
)
def test_coverage_is_nominal_whatever_the_model_answers(agreement, raters, per_rater):
    flows, norms = design(6, agreement)
    rng, hits, runs = np.random.default_rng(6), [], 400
    truth = [norms.mean(), *pd.Series(norms).groupby(flows["a"]).mean()]
    for _ in range(runs):
        table = slices(flows, survey(rng, norms, raters, per_rater), ["a"])
        hits.append((table["conf_low"] <= truth) & (truth <= table["conf_high"]))
    assert 0.93 <= np.mean(hits) <= 0.97


# --- Chatbot vignettes rated by 300 people


def held_out(chatbot_people, model, n, runs, seed=1):
    """Return how often the estimate from n people holds the mean of the others, and the mean gain."""
    rng, hits, gains = np.random.default_rng(seed), [], []
    flows = chatbot_people.drop_duplicates("flow").assign(model=model)
    people = chatbot_people["rater"].unique()
    for _ in range(runs):
        few = chatbot_people["rater"].isin(rng.choice(people, n, replace=False))
        one, other = (slices(flows, chatbot_people[part], ["consent"]) for part in (few, ~few))
        # The others' mean has an error of its own.
        theirs = (other["plain_high"] - other["plain_low"]) / 2 / 1.97
        reach = (one["conf_high"] - one["estimate"]) / one["std_err"] * np.hypot(one["std_err"], theirs)
        hits.append(((one["estimate"] - other["plain"]).abs() <= reach).mean())
        gains.append((one["n_effective"] / one["n_ratings"]).mean())
    return np.mean(hits), np.mean(gains)


def best_of_factors(chatbot_people):
    """Return, per rated flow, what the main effects of the seven factors say: no model of them can know more."""
    factors = list(chatbot_people.columns[1:8])
    flows = chatbot_people.drop_duplicates("flow")
    x, rated = (pd.get_dummies(table[factors]).to_numpy(float) for table in (flows, chatbot_people))
    return x @ np.linalg.lstsq(rated, chatbot_people["rating"], rcond=None)[0]


def test_in_the_chatbot_survey_even_the_best_model_gains_nothing(chatbot_people):
    """The factors explain a hundredth of the variance of ratings; people's own strictness is a quarter of it."""
    _, gain = held_out(chatbot_people, best_of_factors(chatbot_people), 100, 3)
    assert 0.95 <= gain <= 1.1


@pytest.mark.slow
@pytest.mark.parametrize("best", [True, False], ids=["best model", "unrelated model"])
def test_coverage_of_held_out_people_of_the_chatbot_survey(chatbot_people, best):
    n_flows = chatbot_people["flow"].nunique()
    model = best_of_factors(chatbot_people) if best else np.random.default_rng(7).normal(0, 20, n_flows)
    coverage, _ = held_out(chatbot_people, model, 100, 60)
    assert 0.92 <= coverage <= 0.98


def planted(rng, flows, raters, per_flow, n_rated, agreement):
    """Return people's norms, their ratings of some flows, and a model's answers to all."""
    norms = rng.normal(0, 40, flows)
    model = agreement * norms + np.sqrt(1 - agreement**2) * rng.normal(0, 40, flows)
    cells = rated(rng, norms, raters, per_flow, slope=0.0).cells
    cells[rng.permutation(flows)[n_rated:]] = np.nan
    return norms, Sample(cells), model[:, None]


def test_a_flow_without_ratings_gets_the_prediction():
    norms, people, model = planted(np.random.default_rng(1), 100, 40, 10, 50, 0.95)
    table = estimate_flows(people, model)
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
        table = estimate_flows(people, model)
        worth.append((table["n_effective"].median(), table["explained"].iloc[0]))
    assert worth[0][0] > 8
    assert worth[0][1] > 0.7
    assert worth[1][0] < 7
    assert worth[1][1] < 0.1


def test_what_cannot_be_estimated_has_a_status():
    _, people, model = planted(np.random.default_rng(3), 20, 10, 4, 4, 0.9)
    assert set(estimate_flows(people, model)["status"]) == {"few_flows"}
    _, people, model = planted(np.random.default_rng(3), 20, 10, 4, 20, 0.9)
    model[3] = np.nan
    assert estimate_flows(people, model)["status"].tolist().index("no_predictor") == 3
    alone = Sample(people.means[:, None])
    table = estimate_flows(alone, model)
    assert set(table["status"]) == {"one_rater", "no_predictor"}
    assert table["estimate"].isna().all()


@pytest.mark.parametrize(
    ("flows", "raters", "per_flow", "n_rated", "agreement"),
    [
        (98, 46, 20, 40, 0.8),
        (98, 12, 3, 98, 0.95),
        pytest.param(98, 26, 5, 98, 0.8, marks=pytest.mark.slow),
        pytest.param(98, 26, 5, 40, 0.0, marks=pytest.mark.slow),
    ],
)
def test_coverage_over_flows_is_nominal(flows, raters, per_flow, n_rated, agreement):
    rng, hits = np.random.default_rng(4), []
    for _ in range(60):
        norms, people, model = planted(rng, flows, raters, per_flow, n_rated, agreement)
        table = estimate_flows(people, model)
        hits.append(((table["conf_low"] <= norms) & (norms <= table["conf_high"])).mean())
    assert 0.93 <= np.mean(hits) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("from_2a", [True, False], ids=["predicted by the 2a ratings", "by nothing"])
def test_held_out_people_and_flows_of_confaide_are_covered(confaide_people, from_2a):
    """Half the raters rate half the flows; the other raters' means of all flows are held out."""
    cells, rng, hits = confaide_people["2b"].cells, np.random.default_rng(5), []
    predictor = confaide_people["2a"].means[:, None] if from_2a else np.zeros((98, 0))
    for _ in range(60):
        mixed = rng.permutation(cells.shape[1])
        few = cells[:, mixed[:23]].copy()
        few[rng.permutation(98)[49:]] = np.nan
        table, other = estimate_flows(Sample(few), predictor), Sample(cells[:, mixed[23:]])
        # The held-out mean has an error of its own.
        reach = (table["conf_high"] - table["estimate"]) / table["std_err"]
        error = (table["estimate"] - other.means).abs() / np.sqrt(
            table["std_err"] ** 2 + other.moderated_noise[0]
        )
        hits.append((error <= reach)[other.sizes >= 3].mean())
    assert 0.93 <= np.mean(hits) <= 0.97


@needs_ratings
def test_flows_that_nobody_rated_from_factors_alone():
    """A third of the flows and a third of the people of the survey of 2016 are held out, and predicted."""
    asked = pd.read_csv(FOLDER / "hcomp2016/ratings_long.csv").query("code < 3")
    flows = asked.drop_duplicates("question").sort_values("question")
    factors = flows[["sender", "recipient", "attribute", "principle"]].astype(str)
    predictors = pd.get_dummies(factors, drop_first=True, dtype=float).to_numpy()
    cells = asked.assign(y=3.0 - 2 * asked["code"]).pivot_table("y", "question", "rater").to_numpy()
    rng = np.random.default_rng(1)
    flow, rater = (rng.random(n) < 1 / 3 for n in cells.shape)
    known = np.where(flow[:, None] | rater, np.nan, cells)
    people = Sample(known, (~np.isnan(known)).astype(float))
    error = {}
    for name, x in (("factors", predictors), ("nothing", np.zeros((len(cells), 1)))):
        table = estimate_flows(people, x)
        for where, rows in (("unrated", flow), ("rated", ~flow)):
            held = cells[rows][:, rater]
            n = (~np.isnan(held)).sum(axis=1)
            held, n, part = held[n > 3], n[n > 3], table[rows][n > 3]
            noise = np.nanvar(held, axis=1, ddof=1).mean() / n
            away = np.nanmean(held, axis=1) - part["estimate"]
            covered = np.abs(away) < 1.96 * np.sqrt(part["std_err"] ** 2 + noise)
            assert 0.93 < covered.mean() < 0.98
            error[name, where] = float(np.sqrt((away**2 - noise).mean()))
    # From -1 (no) to 1 (yes); factors help most where nobody was asked.
    assert error["factors", "unrated"] < 0.5 * error["nothing", "unrated"]
    assert error["factors", "rated"] < 0.9 * error["nothing", "rated"]
