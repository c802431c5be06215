"""Privacy bias; delta: worked by hand, against plain code and scipy, with what can be missing, and ConfAIde's."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import ConfigError, DataError
from cinorms.norms.assessment import assess, held
from cinorms.norms.distances import METRICS, bias_table, delta_table, embed, mean_values
from cinorms.norms.thresholds import Thresholds
from cinorms.published import frames
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.expectations import from_vignettes
from cinorms.vignettes.reading import read_vignettes

from ...scales import ACCEPTABILITY, LEVELS
from ..stats.made import norms_of

#: ConfAIde's numbers for the five levels (PETS section 5.3).
CONFAIDE_POINTS = (-100.0, -50.0, 0.0, 50.0, 100.0)


def bias_of(values, expected, points=LEVELS, rows=slice(None), **factors):
    """Return a table as from `bias_table` of some rows of the flows; None is a flow without a majority."""
    status = ["no_majority" if value is None else "kept" for value in values]
    numbers = pd.array([pd.NA if v is None else float(v) for v in values], dtype="Float64")
    held = pd.DataFrame({"flow": np.arange(len(values)), "value": numbers, "status": status})
    return bias_table(
        held, held[["flow"]].assign(**factors).iloc[rows], LEVELS, points, expected_of(expected)
    )


def expected_of(values):
    numbers = pd.array([pd.NA if v is None else float(v) for v in values], dtype="Float64")
    return pd.DataFrame({"flow": np.arange(len(values)), "expected": numbers, "expected_source": "line 2"})


def metrics_of(values, expected, points=LEVELS):
    found = delta_table(bias_of(values, expected, points), LEVELS, points).set_index("metric")
    assert found.index.tolist() == list(METRICS)
    return found


def test_every_flow_has_its_norm_or_its_reason():
    norms = norms_of([[2, 2, 2], [-1, -1, 0], [1, -1, None], [-2, -1, 1, 1, 0], [None, None]])
    values = held(norms, Thresholds(1, 0.5, "strict"))
    assert values["status"].tolist() == ["kept", "kept", "tie", "no_majority", "below_t_val"]
    assert values["value"].fillna(9).tolist() == [2, -1, 9, 9, 9]


def test_the_mean_over_variants_by_hand():
    norms = norms_of([[2, -1, None, 1], [None], [-2]])
    means = mean_values(norms)
    assert means["status"].tolist() == ["kept", "below_t_val", "kept"]
    assert means["value"][0] == pytest.approx(2 / 3)
    assert means["value"].isna().tolist() == [False, True, False]
    assert mean_values(norms, t_val=3)["status"].tolist() == ["kept", "below_t_val", "below_t_val"]


def test_an_embedding_can_put_the_ends_further_out():
    # Neutral to somewhat is 1, somewhat to strongly is 3; between two levels it is a straight line.
    assert embed([-2, 0, 0.5, 1, 1.5, 2], LEVELS, (-4, -1, 0, 1, 4)).tolist() == [-4, 0, 0.5, 1, 2.5, 4]
    with pytest.raises(DataError, match=r"outside the answer scale -2\.\.2"):
        embed([0, 50], LEVELS, CONFAIDE_POINTS)


def test_flows_are_joined_by_number_not_by_row():
    assert bias_of([0, 0, 0, 0], [-2, -1, 0, 1], rows=[3, 1])["delta"].tolist() == [-1, 1]
    held = pd.DataFrame({"flow": [2], "value": [1.0], "status": "kept"})
    with pytest.raises(DataError, match="flow 2 is expected twice"):
        bias_table(held, held[["flow"]], LEVELS, LEVELS, expected_of([0, 0, 1]).iloc[[2, 2]])


def test_a_factor_named_as_a_column_of_the_result_is_refused():
    with pytest.raises(ConfigError, match="'delta' already"):
        bias_of([1], [1], delta=["x"])
    with pytest.raises(ConfigError, match="'unit' is a column of the result"):
        delta_table(bias_of([1], [1], sender=["a"], unit=["b"]), LEVELS, LEVELS, ["unit"])


def test_every_metric_of_a_slice_worked_by_hand():
    # deltas: 2, 0, -1, 3; absolute: 2, 0, 1, 3
    found = metrics_of([1, -2, -1, 2], [-1, -2, 0, -1])["value"]
    assert found["mean_absolute"] == 1.5
    assert found["mean_signed"] == 1
    # PETS: the root of the mean square of |delta| - 1.5: .5, -1.5, -.5, 1.5
    assert found["variance_absolute"] == pytest.approx((0.25 + 2.25 + 0.25 + 2.25) / 4)
    assert found["std_absolute"] == pytest.approx(np.sqrt(5 / 4))
    assert found["variance_signed"] == pytest.approx((1 + 1 + 4 + 4) / 4)
    assert found["std_signed"] == pytest.approx(np.sqrt(2.5))
    assert found["median_absolute"] == 1.5
    assert found["q25_absolute"] == 0.75
    assert found["q95_signed"] == pytest.approx(2.85)
    assert found["q05_signed"] == pytest.approx(-0.85)
    assert found["maximum_absolute"] == 3
    assert found["share_zero"] == 0.25
    # held {-2, -1, 1, 2}, expected {-2, -1, -1, 0}: sorted distances 0, 0, 2, 2
    assert found["wasserstein"] == 1
    # shares held .25 .25 0 .25 .25, expected .25 .5 .25 0 0
    assert found["total_variation"] == 0.5
    two = delta_table(bias_of([0, 1], [0, 0]), (0, 1), (0, 1)).set_index("metric")["value"]
    assert two["total_variation"] == 0.5


def test_kl_divergence_in_bits_and_undefined_where_infinite():
    # held: 1/4 at -1, 3/4 at 1; expected: 1/2 each
    found = metrics_of([-1, 1, 1, 1], [-1, -1, 1, 1]).loc["kl_divergence"]
    assert found["value"] == pytest.approx(0.25 * np.log2(0.5) + 0.75 * np.log2(1.5))
    assert (found["unit"], found["status"], found["reason"]) == ("bits", "ok", "")
    # A level that is expected and never held costs nothing.
    assert metrics_of([1, 1], [1, -1]).loc["kl_divergence", "value"] == 1
    infinite = metrics_of([1, 2], [1, 1])
    assert infinite.loc["kl_divergence", "value"] is pd.NA
    assert infinite.loc["kl_divergence", "status"] == "undefined"
    assert "infinite" in infinite.loc["kl_divergence", "reason"]
    assert (infinite["status"].drop("kl_divergence") == "ok").all()


def test_numbers_between_levels_count_as_the_nearest_level_in_distributions():
    # .4 -> 0, -.4 -> 0, 1.5 -> 2 and -1.5 -> -2 (halfway: even), .5 -> 0
    found = metrics_of([0, 0, 2, -2, 0], [0.4, -0.4, 1.5, -1.5, 0.5])
    assert found.loc["total_variation", "value"] == 0
    assert found.loc["kl_divergence", "value"] == 0
    assert found.loc["wasserstein", "value"] == pytest.approx((0.4 + 0.4 + 0.5 + 0.5 + 0.5) / 5)
    assert found.loc["share_zero", "value"] == 0
    # A rounding error does not carry a number over the middle.
    near = metrics_of([0], [0.5 + 1e-12])["value"]
    assert near[["total_variation", "kl_divergence"]].tolist() == [0, 0]
    in_points = metrics_of([0, 0, 2, -2, 0], [0.4, -0.4, 1.5, -1.5, 0.5], CONFAIDE_POINTS)
    assert in_points.loc["total_variation", "value"] == 0


def test_units_follow_the_embedding():
    levels = metrics_of([1], [0])
    assert levels.loc[["median_signed", "q95_absolute"], "value"].tolist() == [1, 1]
    units = levels["unit"]
    assert units[["mean_signed", "variance_signed", "share_zero"]].tolist() == [
        "levels",
        "levels squared",
        "share",
    ]
    points = metrics_of([1], [0], CONFAIDE_POINTS)
    assert points.loc["mean_signed", ["value", "unit"]].tolist() == [50, "points (-100 to 100)"]
    assert points.loc["share_zero", "unit"] == "share"


@pytest.mark.parametrize(
    ("values", "expected", "status", "n", "n_missing", "words"),
    [
        ([], [], "no_flows", 0, 0, "no flows"),
        ([1, 0], [None, None], "no_expected", 0, 2, "none of the 2 flows has an expected value"),
        ([None, None], [None, None], "no_expected", 0, 2, "none of the 2 flows has an expected value"),
        ([None, None], [1, None], "no_norms", 0, 2, "none of the 2 flows has a value"),
        ([1, None], [None, 1], "no_pairs", 0, 2, "none has both"),
        ([1, None, 2], [0, 1, None], "ok", 1, 2, "of 3 flows 1 have no value, 1 no expected value"),
        ([1, 0], [1, 0], "ok", 2, 0, ""),
    ],
)
def test_what_is_missing_is_told_and_never_zero(values, expected, status, n, n_missing, words):
    found = metrics_of(values, expected)
    assert set(found["status"]) == {status} or (
        status == "ok" and set(found["status"]) <= {"ok", "undefined"}
    )
    assert found["n"].unique().tolist() == [n]
    assert found["n_missing"].unique().tolist() == [n_missing]
    assert words in found.loc["mean_signed", "reason"]
    assert found["value"].isna().all() == (status != "ok")


def test_slices_by_factors_have_the_metrics_of_their_flows():
    sender = pd.Categorical(["lock", "camera", "lock", "lock", "tv"], categories=["tv", "lock", "camera"])
    table = bias_of([2, 1, None, 0, 1], [0, 1, 1, 0, None], sender=sender, recipient=list("xxyxx"))
    found = delta_table(table, LEVELS, LEVELS, ["sender"])
    assert found.columns.tolist() == [
        "sender", "metric", "value", "unit", "n", "n_missing", "status", "reason",
    ]  # fmt: skip
    means = found[found["metric"] == "mean_signed"].set_index("sender")
    assert means.index.tolist() == ["tv", "lock", "camera"]  # in the order of the dataset
    assert means["status"].tolist() == ["no_expected", "ok", "ok"]
    assert means["value"].tolist()[1:] == [1, 0]
    assert means["n"].tolist() == [0, 2, 1]
    assert means["n_missing"].tolist() == [1, 1, 0]
    both = delta_table(table, LEVELS, LEVELS, ["sender", "recipient"])
    assert len(both) == 4 * len(METRICS)  # only combinations that exist


@pytest.mark.slow
def test_signed_mean_deltas_of_confaide_are_those_published(folder, tmp_path, mirror):
    frame = frames.read_frame(mirror / "responses" / "pivot_prompt_df_confaide.pkl.lzma")
    dataset = load_dataset(folder / "resources/vignettes/confaide_2a.yaml")
    vignettes = read_vignettes(dataset, tmp_path, mirror)
    expected = from_vignettes(vignettes, (-2, 2), dataset.expected_range)
    theirs = frame.groupby("model")["bias"].mean()
    assert len(theirs) == 8
    for model, mean in theirs.items():
        answers = frames.to_answers(frame, model, vignettes)
        means = mean_values(assess(answers, "strict", ACCEPTABILITY))
        table = bias_table(means, means[["flow"]], LEVELS, CONFAIDE_POINTS, expected)
        found = delta_table(table, LEVELS, CONFAIDE_POINTS).set_index("metric").loc["mean_signed"]
        assert (found["n"], found["value"]) == (20, pytest.approx(mean, abs=1e-9))
