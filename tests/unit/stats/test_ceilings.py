"""Models and people, and two groups of people: numbers, bias, coverage, and a ceiling that noise explains."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cinorms.stats import pvalues
from cinorms.stats.ceilings import (
    METRICS,
    compare_groups,
    compare_pairs,
    correlation,
    distances,
    flow_differences,
    reliability,
)
from cinorms.stats.samples import Sample

from .made import assert_same
from .people import answered, rated

X = np.nan
# fmt: off
PEOPLE = Sample(np.array([
    [-100, -50, -100, X, -50], [50, 50, 100, X, X], [0, -100, X, 100, 50],
    [X, 50, 0, 50, 0], [-50, X, X, X, X], [X] * 5,
]))
MODEL = Sample(
    np.array([[-40.0, -25, 0, -50], [100, 75, 100, X], [50, 0, X, 25],
              [-50, 0, 50, 25], [-100, -75, -50, -100], [0] * 4]),
    np.array([[2, 1, 3, 3], [3, 3, 1, 0], [3, 2, 0, 3], [3, 3, 3, 3], [1, 1, 1, 1], [3, 3, 3, 3]]),
)
# fmt: on
#: A model that is far from these people.
FAR = Sample(MODEL.cells * 1.5 + np.array([[60], [140], [60], [30], [110], [0]]), MODEL.counts)


def test_distances_and_differences_of_a_small_table():
    exact = Sample.given([300, -200, -300, 250, -100, 0])
    tables = [distances(model, PEOPLE) for model in (MODEL, FAR, exact)]
    for table, model in zip(tables, (MODEL, FAR, exact), strict=True):
        d = (model.means - PEOPLE.means)[:5]
        plain = [d.mean(), np.abs(d).mean(), d.std(), np.sqrt((d**2).mean())]
        assert table["observed"].tolist() == pytest.approx(plain)
    # Labels that nobody drew have an interval over wordings, and no ceiling.
    labels = distances(MODEL, Sample.given(PEOPLE.means))
    assert (labels["conf_high"] > labels["conf_low"]).all()
    assert labels[["ceiling", "ceiling_all"]].isna().all(axis=None)
    assert labels[["verdict", "n_raters"]].drop_duplicates().to_numpy().tolist() == [["no_verdict", 0]]
    assert_same(
        pd.concat(tables),
        """
        metric         observed  estimate  conf_low  conf_high  ceiling  ceiling_all  verdict     n_flows  n_raters
        mean_signed    6.98214   6.98214   -35.3895  49.3537    15.2203  10.7624      undecided   5        5
        mean_absolute  26.9821   26.9821   4.66184   49.3024    32.9391  23.2914      no_verdict  5        5
        std_signed     28.3475   0         0         67.0775    40.2768  28.48        undecided   5        5
        rms            29.1947   0         0         70.6583    44.5658  31.5128      undecided   5        5
        mean_signed    88.3899   88.3899   42.3787   134.401    15.2203  10.7624      farther     5        5
        mean_absolute  88.3899   88.3899   52.269    124.511    32.9391  23.2914      no_verdict  5        5
        std_signed     66.5641   57.1941   0         100.826    40.2768  28.48        undecided   5        5
        rms            110.651   103.683   56.4505   152.913    44.5658  31.5128      farther     5        5
        mean_signed    -5.83333  -5.83333  -52.3492  40.6825    15.2203  10.7624      undecided   5        5
        mean_absolute  245.833   245.833   197.882   293.785    32.9391  23.2914      no_verdict  5        5
        std_signed     269.201   267.691   224.775   310.607    40.2768  28.48        farther     5        5
        rms            269.265   267.414   224.445   310.638    44.5658  31.5128      farther     5        5
        """,
    )
    assert_same(
        flow_differences(MODEL, PEOPLE),
        """
        difference  std_err  conf_low  conf_high  statistic  log10_p    n_raters  n_templates  status
        46.6667     25.2888  -5.34942  98.6828    1.84535    -1.11599   4         4            ok
        22.619      29.6511  -38.6928  83.9309    0.76284    -0.343659  3         3            ok
        15.625      32.4174  -51.8006  83.0506    0.481994   -0.197358  4         3            ok
        -18.75      25.0625  -70.3834  32.8834    -0.74813   -0.335918  4         4            ok
        -31.25      47.3431  -134.771  72.2707    -0.660075  -0.282273  1         4            ok
        -           -        -         -          -          -          0         4            no_people
        """,
    )


def found(model, people):
    return distances(model, people).set_index("metric")


def norms(seed, flows, apart):
    """Return people's norms for some flows, and those of a model that is shifted and otherwise different."""
    rng = np.random.default_rng(seed)
    people = rng.normal(-10, 45, flows)
    return people, people + rng.normal(apart / 3, apart, flows)


@pytest.mark.parametrize(
    ("model", "people", "status"),
    [
        (np.full((3, 2), np.nan), np.ones((3, 2)), "no_flows"),
        (np.ones((3, 1)), np.eye(3), "one_template"),
        (np.eye(3), np.ones((3, 1)), "one_rater"),
        (np.eye(3)[:1], np.eye(3)[:1], "one_flow"),
        (np.eye(3)[:2], np.eye(3)[:2], "ok"),
    ],
)
def test_what_cannot_be_computed_has_a_status(model, people, status):
    table = distances(Sample(model), Sample(people))
    assert set(table["status"]) == {status}
    assert table["conf_low"].isna().all() == (status != "ok")
    assert list(table["metric"]) == list(METRICS)
    assert (set(table["verdict"]) == {"no_verdict"}) == (status != "ok")


@pytest.mark.slow
def test_estimates_have_no_bias_where_the_observed_distance_has_a_large_one():
    rng, (people, model) = np.random.default_rng(2), norms(2, 40, 12)
    runs = [found(answered(rng, model, 8), rated(rng, people, 26, 5)) for _ in range(30)]
    d = model - people
    for name, square in (("rms", (d**2).mean()), ("std_signed", d.var())):
        observed, estimate = (
            np.array([run.loc[name, which] for run in runs]) for which in ("observed", "estimate")
        )
        assert (observed**2).mean() > square + 400
        # Squares below 0 count as 0, which moves the mean and not the median.
        assert np.median(estimate) == pytest.approx(np.sqrt(square), rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize(("raters", "per_flow"), [(26, 5), (46, 20)])
def test_the_ceiling_is_what_another_group_of_as_many_people_shows(raters, per_flow):
    rng, runs, observed = np.random.default_rng(3), [], []
    flow = rng.normal(0, 45, 60)
    for _ in range(60):
        one, other = (rated(rng, flow, raters, per_flow) for _ in range(2))
        runs.append(found(other, one))
        observed.append(runs[-1]["observed"].abs())
    ceilings = np.mean([run["ceiling"] for run in runs], axis=0)
    assert ceilings == pytest.approx(np.mean(observed, axis=0), rel=0.15)
    assert [run.loc["rms", "verdict"] for run in runs].count("farther") <= 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("apart", "flows", "raters", "per_flow", "options"),
    [(30, 20, 46, 20, True), (30, 98, 26, 5, True), (60, 20, 46, 20, False), (60, 98, 26, 5, False)],
)
def test_coverage_of_known_distances_is_nominal(apart, flows, raters, per_flow, options):
    """Planted people and a planted model with a known distance; raters and wordings are drawn anew in each run."""
    rng, runs = np.random.default_rng(6), 1000
    people, model = norms(7, flows, apart)
    truth = people
    if options:
        # What all such people say on average, on a scale of five options.
        big = np.random.default_rng(8)
        truth = np.concatenate(
            [rated(big, part, 20_000, 20_000, options=True).means for part in np.array_split(people, flows)]
        )
    d = model - truth
    known = {"mean_signed": d.mean(), "std_signed": d.std(), "rms": np.sqrt((d**2).mean())}
    hits, ends, absolute = dict.fromkeys(known, 0), [], []
    for _ in range(runs):
        table = found(answered(rng, model, 11), rated(rng, people, raters, per_flow, options=options))
        for name, value in known.items():
            hits[name] += table.loc[name, "conf_low"] <= value <= table.loc[name, "conf_high"]
        ends.append(table.loc["mean_absolute", ["conf_low", "conf_high"]].to_numpy(dtype=float))
        absolute.append(table.loc["mean_absolute", "observed"])
    low, high = np.array(ends).T
    expected = np.mean(absolute)
    hits["mean_absolute"] = int(((low <= expected) & (expected <= high)).sum())
    # 93% to 97%, and more than two standard errors of the simulation: it counts 16 coverages.
    assert {name: n for name, n in hits.items() if not 0.91 <= n / runs <= 0.985} == {}


def test_the_ceiling_is_that_of_halves_of_the_published_ratings(confaide_people):
    """20 raters per flow: two halves of 10 differ as the ceiling of 10 says."""
    cells, rng = confaide_people["2b"].cells, np.random.default_rng(9)
    halves = []
    for _ in range(100):
        mixed = np.array([rng.permutation(row[~np.isnan(row)]) for row in cells])
        d = mixed[:, :10].mean(axis=1) - mixed[:, 10:].mean(axis=1)
        halves.append([np.abs(d).mean(), np.sqrt((d**2).mean())])
    ceiling = found(Sample.given(np.zeros(98)), confaide_people["2b"])["ceiling"]
    assert np.mean(halves, axis=0) == pytest.approx(
        ceiling[["mean_absolute", "rms"]].to_numpy(dtype=float) * np.sqrt(2), rel=0.02
    )


def test_a_flow_has_welchs_test_of_many_units():
    rng = np.random.default_rng(1)
    x, y = rng.normal(0, 1, (3, 4000)), rng.normal(0.05, 2, (3, 4000))
    table = flow_differences(Sample(x), Sample(y))
    expected = stats.ttest_ind(x, y, axis=1, equal_var=False)
    assert table["statistic"].to_numpy() == pytest.approx(expected.statistic, rel=0.02)
    labels = flow_differences(Sample(x), Sample.given(y.mean(axis=1)))
    assert labels["std_err"].to_numpy() == pytest.approx(stats.sem(x, axis=1), rel=0.02)
    assert (labels["n_raters"] == 0).all()


def discoveries(table):
    return 10 ** pvalues.adjust(table["log10_p"], "bh") < 0.05


@pytest.mark.parametrize(("raters", "per_flow"), [(26, 5), (46, 20)])
def test_where_nothing_differs_five_in_a_hundred_tables_have_a_false_alarm(raters, per_flow):
    """Five options, few raters: the false discovery rate holds where every difference is noise."""
    rng, alarms, runs = np.random.default_rng(2), 0, 100
    flow = rng.uniform(-60, 60, 40)
    exact = np.concatenate([rated(rng, one[None], 20_000, 20_000, options=True).means for one in flow])
    for _ in range(runs):
        people = rated(rng, flow, raters, per_flow, options=True)
        alarms += discoveries(flow_differences(answered(rng, exact, 11), people)).any()
    assert alarms / runs <= 0.09


def test_what_cannot_be_tested_has_a_status():
    model = Sample(np.array([[1.0, 2.0], [np.nan, np.nan], [1.0, 1.0]]))
    people = Sample(np.array([[np.nan, np.nan], [0.0, 1.0], [0.0, 1.0]]))
    table = flow_differences(model, people)
    assert table["status"].tolist() == ["no_people", "no_model", "ok"]
    same = flow_differences(Sample(np.ones((2, 3))), Sample(np.zeros((2, 3))))
    assert set(same["status"]) == {"no_spread"}
    assert same["log10_p"].isna().all()


def test_correlations_of_small_tables():
    assert_same(
        [correlation(model, PEOPLE) for model in (MODEL, FAR)],
        """
        estimate  conf_low    conf_high  ceiling   reliability_model  reliability_people  n_flows  status
        0.86771   0.416936    0.97591    0.813009  0.952096           0.694241            5        ok
        0.820851  0.00572571  0.980607   0.819134  0.966496           0.694241            5        ok
        """,
    )


def test_the_ceiling_of_r_is_that_of_sides_that_agree_but_for_noise():
    rng = np.random.default_rng(5)
    true = rng.normal(0, 40, 400)
    model, people = (Sample(true[:, None] + rng.normal(0, sd, (400, n))) for n, sd in ((8, 40), (5, 60)))
    found = correlation(model, people)
    assert found["ceiling"] == pytest.approx(found["estimate"], abs=0.03)
    for side, noise in (("model", 40**2 / 8), ("people", 60**2 / 5)):
        assert found[f"reliability_{side}"] == pytest.approx(true.var() / (true.var() + noise), abs=0.04)


def test_r_is_pearsons_with_the_interval_of_a_jackknife_over_flows():
    x, y = np.random.default_rng(5).normal(0, 40, (2, 80))
    found = correlation(Sample.given(np.append(x, np.nan)), Sample.given(np.append(x + y, 1)))
    assert (found["n_flows"], found["estimate"]) == (80, pytest.approx(stats.pearsonr(x, x + y).statistic))
    z = np.arctanh([np.corrcoef(np.delete(x, i), np.delete(x + y, i))[0, 1] for i in range(80)])
    se = np.sqrt(79 / 80 * ((z - z.mean()) ** 2).sum())
    ours = (np.arctanh(found["conf_high"]) - np.arctanh(found["conf_low"])) / 2 / stats.t.ppf(0.975, 79)
    assert ours == pytest.approx(se, rel=0.05)


def test_what_has_no_correlation_or_no_ceiling():
    x = np.arange(9.0)
    assert reliability(Sample.given(x)) == 1
    assert np.isnan(reliability(Sample(x[:, None])))
    against = correlation(Sample(x[:, None]), Sample.given(-x))
    assert against["estimate"] == pytest.approx(-1)
    assert np.isnan([against["ceiling"], against["conf_low"]]).all()
    few, enough = (correlation(Sample.given(x[:n]), Sample.given(x[:n] ** 2)) for n in (3, 4))
    assert (few["status"], enough["status"]) == ("few_flows", "ok")
    for sides in ((x * 0, x), (x, x * 0)):
        flat = correlation(*map(Sample.given, sides))
        assert flat["status"] == "no_variance"
        assert np.isnan(flat["estimate"])


def by_measure(rows):
    return {row["measure"]: row for row in rows}


def test_groups_and_pairs_of_small_tables():
    copies = Sample(PEOPLE.cells + np.array([1, 0, -1, 0, 2]))
    assert_same(
        [*compare_groups(PEOPLE, FAR), *compare_groups(PEOPLE, copies)],
        """
        measure      estimate  expected  expected_low  expected_high  verdict      n  n_people  n_other  status
        mean_signed  -88.3899  0         -46.0112      46.0112        farther      5  5         4        ok
        rms          110.651   38.6444   12.3608       76.7918        farther      5  5         4        ok
        correlation  0.820851  0.819134  0.000486178   0.980404       as_expected  5  5         4        ok
        mean_signed  -0.5      0         -48.347       48.347         as_expected  5  5         5        ok
        rms          0.612372  44.5718   10.0638       98.4888        nearer       5  5         5        ok
        correlation  0.999987  0.692852  0.188755      0.907962       nearer       5  5         5        ok
        """,
    )
    first, second = np.array([-2.0, 1, 1, 2, 0, -1, 2, -2]), np.array([-2.0, 1, 2, 1, 1, -1, 2, 0])
    assert_same(
        compare_pairs(first, second, np.abs(first - second), np.array(list("aabbccdd"))),
        """
        status  measure      estimate  conf_low  conf_high  n  n_people
        ok      correlation  0.830474  0.489007  0.951232   8  4
        ok      same_answer  0.5       0         1          8  4
        ok      one_step     0.875     0.477194  1          8  4
        """,
    )


@pytest.mark.parametrize(
    ("flows", "one", "other", "options", "runs"),
    [
        (40, (15, 5), (20, 8), True, 60),
        pytest.param(98, (23, 5), (29, 12), True, 200, marks=pytest.mark.slow),
        pytest.param(60, (26, 5), (46, 20), False, 200, marks=pytest.mark.slow),
    ],
)
def test_a_second_group_is_where_the_ceiling_says(flows, one, other, options, runs):
    """Both groups are of the same people: 95% of groups are in the range, and the mean square is as expected."""
    rng, inside, squares = np.random.default_rng(3), [], []
    for _ in range(runs):
        norms = rng.normal(0, 44, flows)
        rows = compare_groups(*(rated(rng, norms, *size, options=options) for size in (one, other)))
        inside.append([row["verdict"] == "as_expected" for row in rows])
        rms = by_measure(rows)["rms"]
        squares.append((rms["estimate"] / rms["expected"]) ** 2)
    assert (np.mean(inside, axis=0) >= 0.95 - 2.5 * np.sqrt(0.95 * 0.05 / runs)).all()
    assert np.mean(squares) == pytest.approx(1, abs=0.1)


def test_flows_that_the_same_people_rated_err_together():
    """Where all rate everything, a strict group is strict throughout: chance reaches from near 0 to twice the mean."""
    rng = np.random.default_rng(4)
    norms = rng.normal(0, 44, 30)
    groups = (rated(rng, norms, 8, 8, rater=50.0, slope=0.0, rest=5.0) for _ in range(2))
    rms = by_measure(compare_groups(*groups))["rms"]
    assert rms["expected_low"] < 0.2 * rms["expected"] < 1.8 * rms["expected"] < rms["expected_high"]


def test_what_cannot_be_compared_has_a_status():
    rng = np.random.default_rng(6)
    group = rated(rng, rng.normal(0, 44, 20), 10, 4)
    for other, status in (
        (Sample(group.means[:, None]), "one_rater"),
        (Sample(group.cells * np.nan), "few_flows"),
    ):
        rows = compare_groups(group, other)
        assert {(row["status"], row["verdict"]) for row in rows} == {(status, "no_verdict")}
        assert not any("estimate" in row for row in rows)
    one_voice = Sample(np.tile(np.arange(6.0)[:, None], (1, 3)))
    other = Sample(one_voice.cells + np.array([[1.0], [-1], [1], [-1], [1], [-1]]))
    rms, related = (by_measure(compare_groups(one_voice, other))[name] for name in ("rms", "correlation"))
    assert (rms["estimate"], rms["expected"], rms["verdict"]) == (1, 0, "no_verdict")
    assert (related["expected"], related["verdict"]) == (1, "no_verdict")
    flat = by_measure(compare_groups(group, Sample(np.zeros((20, 3)))))
    assert (flat["rms"]["status"], flat["correlation"]["status"]) == ("ok", "no_variance")


def test_pairs_of_answers_have_intervals_over_people():
    who = np.repeat(np.arange(20), 10)
    first = np.random.default_rng(7).choice([-100.0, -50.0, 50.0, 100.0], len(who))
    # Ten people repeat every answer, ten none: only the number of people makes the share certain.
    second = np.where(who < 10, first, -first)
    steps = np.abs(first - second) / 50
    same = by_measure(compare_pairs(first, second, steps, who))["same_answer"]
    assert (same["conf_low"], same["conf_high"]) == pytest.approx((0.5 - 0.2401, 0.5 + 0.2401), abs=1e-3)
    assert np.isnan(by_measure(compare_pairs(first, second, steps))["same_answer"]["conf_low"])
    nobody = compare_pairs(first[:0], first[:0], first[:0], who[:0])
    assert {(row["status"], row["n"], row["n_people"]) for row in nobody} == {("no_pairs", 0, 0)}
    for sides in ((first * 0, second), (first, second * 0)):
        assert by_measure(compare_pairs(*sides, first * 0))["correlation"]["status"] == "no_variance"
    against = by_measure(compare_pairs(np.array([0.0, 1]), np.array([1.0, 0]), np.ones(2), who[:2]))
    assert against["correlation"]["estimate"] == -1
    assert np.isnan(against["correlation"]["conf_low"])
