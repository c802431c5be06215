"""Marginal means and effects: averages over the design, equal to R, silent where nothing can be told."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.core.errors import ConfigError, DataError
from cinorms.stats import marginal_means

REFERENCE = pd.read_csv(Path(__file__).parents[2] / "reference" / "hypotheses_reference.csv")


def level(flow, model):
    """Return the same planted levels as hypotheses_reference.R."""
    u = (flow * 7919 + model * 104729 + flow * model * 31) % 1009 / 1009
    v = (flow * 613) % 257 / 257
    return np.clip(np.floor(5 * (0.6 * v + 0.4 * u) + 0.35 * model) - 3, -2, 2)


def design(**factors):
    """Return the full product of the factors, the first the fastest (as R's expand.grid)."""
    product = pd.MultiIndex.from_product(list(factors.values())[::-1], names=list(factors)[::-1])
    frame = product.to_frame(index=False)[list(factors)]
    frame.insert(0, "flow", np.arange(len(frame)))
    return frame


def small(sizes=(3, 4, 5)):
    names = {f: [f"{f.lower()}{i + 1}" for i in range(n)] for f, n in zip("ABC", sizes, strict=False)}
    frame = design(**names)
    return frame.assign(value=level(frame["flow"], 2))


def asked(frame, value, n_variants):
    """Return a row per flow and variant with the value ``value(flow, variant)``."""
    rows = frame.merge(pd.DataFrame({"variant": [f"{v}_0" for v in range(n_variants)]}), how="cross")
    v = rows["variant"].str.split("_").str[0].astype(int)
    return rows.assign(value=value(rows["flow"].to_numpy(), v.to_numpy()))


# --- against R


def test_marginal_means_and_effects_of_a_complete_design_are_rs():
    frame = small()
    means = marginal_means.marginal_means(frame, ["A", "B", "C"], seed=1, draws=50).set_index("level")["mean"]
    effects = marginal_means.amce(frame, ["A", "B", "C"], {}, seed=1, draws=50).set_index("level")["estimate"]
    for found, test in ((means, "marginal_mean"), (effects, "amce")):
        expected = REFERENCE[REFERENCE["test"] == test].set_index("item")["value"]
        assert sorted(found.index) == sorted(expected.index)
        assert found[expected.index].tolist() == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-12)


# --- what is averaged


def test_a_flow_weighs_the_same_however_many_of_its_answers_are_valid():
    frame = design(A=["x", "y"], B=["p", "q"])
    rows = asked(frame, lambda flow, v: np.where(flow == 0, 2.0, 0.0), 4)
    rows.loc[(rows["flow"] == 0) & (rows["variant"] != "0_0"), "value"] = np.nan
    found = marginal_means.marginal_means(rows, ["A", "B"], seed=1, draws=50).set_index("level")
    assert found.loc["x", "mean"] == pytest.approx((2 + 0) / 2)
    assert (found["status"] == "ok").all()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.sampled_from([-2, -1, 0, 1, 2, None]), min_size=24, max_size=24))
def test_an_effect_compares_only_within_the_same_context(values):
    frame = design(A=["x", "y"], B=["p", "q", "r"], C=["s", "t", "u", "v"]).assign(value=values)
    frame["value"] = frame["value"].astype("Int8")
    row = marginal_means.amce(frame, ["A", "B", "C"], {"A": "x"}, seed=1, draws=20).iloc[0]
    wide = frame.astype({"value": "Float64"}).pivot_table(index=["B", "C"], columns="A", values="value")
    wide = wide.reindex(columns=["x", "y"]).dropna().astype(float)
    assert row["n"] == len(wide)
    if len(wide):
        assert row["estimate"] == pytest.approx((wide["y"] - wide["x"]).mean())
    else:
        assert row["status"] in ("no_common_context", "no_answers")
        assert np.isnan(row["estimate"])


def test_missing_cells_do_not_move_an_effect_but_do_move_a_marginal_mean():
    # Without interaction: A adds 1, B adds 0, 1, 2. The cell (y, r) has no answer.
    frame = design(A=["x", "y"], B=["p", "q", "r"])
    frame["value"] = (frame["A"] == "y") * 1.0 + frame["B"].map({"p": 0, "q": 1, "r": 2}) - 1
    frame.loc[(frame["A"] == "y") & (frame["B"] == "r"), "value"] = np.nan
    effects = marginal_means.amce(frame, ["A", "B"], {"A": "x", "B": "p"}, seed=1, draws=20).set_index(
        "level"
    )
    assert effects["estimate"].tolist() == pytest.approx([1, 1, 2])
    assert effects.loc["y", ["n", "n_missing", "status"]].tolist() == [2, 1, "incomplete"]
    assert "1 of 3 combinations" in effects.loc["y", "reason"]
    means = marginal_means.marginal_means(frame, ["A", "B"], seed=1, draws=20).set_index("level")
    assert means.loc["y", ["n", "n_missing", "status"]].tolist() == [2, 1, "incomplete"]
    assert means.loc["y", "mean"] - means.loc["x", "mean"] == pytest.approx(0.5)  # not 1


def test_the_order_of_rows_changes_nothing():
    rows = asked(small(), lambda flow, v: level(flow, 2) * (v < 4) + v % 2, 6)
    rows.loc[::7, "value"] = np.nan
    mixed = rows.sample(frac=1, random_state=3)
    for one, other in (
        (marginal_means.marginal_means(f, ["A", "B", "C"], seed=1, draws=64) for f in (rows, mixed)),
        (marginal_means.amce(f, ["A", "B", "C"], {"A": "a2"}, seed=1, draws=64) for f in (rows, mixed)),
    ):
        pd.testing.assert_frame_equal(one, other)


def test_levels_come_in_the_order_of_their_categories():
    frame = small().astype({"A": pd.CategoricalDtype(["a3", "a1", "a2", "unused"])})
    assert marginal_means.marginal_means(frame, ["A", "B"], seed=1, draws=20)["level"].tolist()[:3] == [
        "a3",
        "a1",
        "a2",
    ]
    assert marginal_means.amce(frame, ["A", "B"], {}, seed=1, draws=20)["baseline"].iloc[0] == "a3"


def test_a_factor_left_out_is_averaged_over():
    frame = small()
    both = marginal_means.marginal_means(frame, ["A", "B"], seed=1, draws=20)
    alone = marginal_means.marginal_means(frame, ["A"], seed=1, draws=20)
    assert both["mean"].tolist()[:3] == pytest.approx(frame.groupby("A")["value"].mean().tolist())
    assert alone["mean"].tolist() == pytest.approx(both["mean"].tolist()[:3])


# --- linked factors


def linked_design():
    frame = design(pair=["home|rest", "gym|sport", "club|music"], B=["p", "q"])
    frame[["place", "inference"]] = frame["pair"].str.split("|", expand=True).to_numpy()
    return frame.assign(value=[2, 0, 1, 1, -1, 0])


def test_linked_factors_are_one_joint_factor():
    frame = linked_design()
    found = marginal_means.marginal_means(
        frame, ["place", "inference", "B"], 1, linked=[["place", "inference"]], draws=20
    )
    assert found["factor"].unique().tolist() == ["place + inference", "B"]
    assert found["level"].tolist() == ["club + music", "gym + sport", "home + rest", "p", "q"]
    assert found["mean"].tolist()[:3] == pytest.approx([0.5, -0.5, 1.5])


def test_the_baseline_of_linked_factors_can_be_named_by_its_parts():
    for baselines in ({"place + inference": "gym + sport"}, {"place": "gym", "inference": "sport"}):
        found = marginal_means.amce(
            linked_design(),
            ["place", "inference", "B"],
            baselines,
            seed=1,
            linked=[["place", "inference"]],
            draws=20,
        )
        assert found["baseline"].tolist() == ["gym + sport"] * 2 + ["p"]


def test_factors_that_are_linked_without_saying_so_get_no_effects_of_their_own():
    frame = linked_design()
    means = marginal_means.marginal_means(frame, ["place", "inference", "B"], 1, draws=20).set_index("factor")
    effects = marginal_means.amce(frame, ["place", "inference", "B"], {}, 1, draws=20).set_index("factor")
    for factor in ("place", "inference"):
        assert (means.loc[factor, "status"] == "not_separable").all()
        assert means.loc[factor, "mean"].isna().all()
        assert (effects.loc[factor, "status"] == "no_common_context").all()
        assert effects.loc[factor, ["estimate", "std_err", "conf_low"]].isna().all(axis=None)
    assert means.loc["B", "status"].tolist() == ["ok", "ok"]
    assert effects.loc["B", "status"] == "ok"


def test_half_a_linked_group_is_refused():
    with pytest.raises(ConfigError, match="name all of them or none"):
        marginal_means.marginal_means(linked_design(), ["place", "B"], 1, linked=[["place", "inference"]])


# --- where nothing can be told


def test_statuses_with_reasons():
    frame = small()
    frame.loc[frame["A"] == "a3", "value"] = np.nan
    frame["D"] = "only"
    means = marginal_means.marginal_means(frame, ["A", "B", "D"], 1, draws=20).set_index("level")
    effects = marginal_means.amce(frame, ["A", "B", "D"], {}, 1, draws=20).set_index("level")
    assert means.loc["a3", "status"] == effects.loc["a3", "status"] == "no_answers"
    assert effects.loc["only", "status"] == "constant"
    assert means.loc["only", "status"] == "incomplete"
    for table in (means, effects):
        without = table[~table["status"].isin(["ok"])]
        assert (without["reason"] != "").all()
        none = table[table["status"].isin(["no_answers", "constant"])]
        assert none[["std_err", "conf_low", "conf_high"]].isna().all(axis=None)


def test_data_without_any_value_have_no_numbers():
    frame = small().assign(value=np.nan)
    assert (marginal_means.marginal_means(frame, ["A", "B"], 1, draws=5)["status"] == "no_answers").all()
    assert (marginal_means.amce(frame, ["A", "B"], {}, 1, draws=5)["status"] == "no_answers").all()


def test_without_anything_to_draw_there_is_a_mean_and_no_interval():
    found = marginal_means.marginal_means(small(), ["A", "B"], 1, resample="variants", draws=20)
    assert (found["status"] == "no_interval").all()
    assert found["mean"].notna().all()
    assert found["conf_low"].isna().all()


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"factors": ["A", "Z"]}, ConfigError, "Z"),
        ({"factors": []}, ConfigError, "name columns"),
        ({"baselines": {"A": "a9"}}, ConfigError, "baseline 'a9'"),
        ({"resample": "flows"}, ConfigError, "resample 'flows'"),
    ],
)
def test_mistakes_are_named(change, error, match):
    given_values = {"values": small(), "factors": ["A", "B"], "baselines": {}, "seed": 1, "draws": 5} | change
    with pytest.raises(error, match=match):
        marginal_means.amce(**given_values)


def test_a_flow_without_a_level_is_refused():
    frame = small()
    frame.loc[3, "B"] = None
    with pytest.raises(DataError, match="factor 'B'"):
        marginal_means.marginal_means(frame, ["A", "B"], 1)


# --- intervals


def test_what_a_wording_adds_to_all_flows_cancels_in_an_effect():
    rng = np.random.default_rng(1)
    wording = rng.normal(0, 1, 20)
    rows = asked(small(), lambda flow, v: flow % 3 + wording[v], 20)  # A is the fastest: flow % 3
    effect = marginal_means.amce(rows, ["A", "B", "C"], {}, 1).iloc[0]
    assert effect["estimate"] == pytest.approx(1)
    assert effect["std_err"] == pytest.approx(0, abs=1e-9)
    mean = marginal_means.marginal_means(rows, ["A", "B", "C"], 1).iloc[0]
    assert mean["std_err"] == pytest.approx(wording.std() / np.sqrt(20), rel=0.1)


def test_intervals_have_the_spread_of_contexts_and_wordings():
    rng = np.random.default_rng(2)
    frame = small((2, 8, 25))
    of_context, of_wording = rng.normal(0, 0.7, 200), rng.normal(0, 0.4, 30)
    rows = asked(frame, lambda flow, v: of_context[flow // 2] + of_wording[v], 30)
    for resample, variance in (
        ("variants", of_wording.var() / 30),
        ("both", of_wording.var() / 30 + of_context.var() / 200),
    ):
        found = marginal_means.marginal_means(rows, ["A", "B", "C"], 1, resample=resample).iloc[0]
        assert found["std_err"] == pytest.approx(np.sqrt(variance), rel=0.08)
        assert found["conf_high"] - found["conf_low"] == pytest.approx(2 * 1.96 * found["std_err"], rel=0.1)


@pytest.mark.slow
def test_intervals_of_effects_cover_the_planted_ones():
    rng = np.random.default_rng(3)
    frame = small((3, 6, 8))
    planted = np.array([0.0, 0.4, -0.3])
    covered = []
    rows = asked(frame, lambda flow, v: flow + v, 20)
    flow, v = rows["flow"].to_numpy(), rows["variant"].str.split("_").str[0].astype(int).to_numpy()
    for _ in range(200):
        # Each level's effect varies between contexts and between wordings.
        context, wording = rng.normal(0, 0.4, (3, 48)), rng.normal(0, 0.3, (3, 20))
        rows["value"] = planted[flow % 3] + context[flow % 3, flow // 3] + wording[flow % 3, v]
        rows["value"] += rng.normal(0, 0.5, len(rows))
        found = marginal_means.amce(rows, ["A", "B", "C"], {"A": "a1"}, seed=1, draws=400).iloc[:2]
        covered += list((found["conf_low"] <= planted[1:]) & (planted[1:] <= found["conf_high"]))
    assert 0.90 <= np.mean(covered) <= 0.98
