"""Marginal means: averages over the design, equal to R, silent where nothing can be told."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.stats.marginal_means import marginal_means

from .made import level

REFERENCE = pd.read_csv(Path(__file__).parents[2] / "reference" / "hypotheses_reference.csv")


def design(**factors):
    """Return the full product of the factors, the first the fastest (as R's expand.grid)."""
    product = pd.MultiIndex.from_product(list(factors.values())[::-1], names=list(factors)[::-1])
    frame = product.to_frame(index=False)[list(factors)]
    frame.insert(0, "flow", np.arange(len(frame)))
    return frame.assign(template=0)


def twice(frame):
    """Return the rows of two templates with the same values."""
    return pd.concat([frame.assign(template=t) for t in (0, 1)], ignore_index=True)


def small(sizes=(3, 4, 5)):
    names = {f: [f"{f.lower()}{i + 1}" for i in range(n)] for f, n in zip("ABC", sizes, strict=False)}
    frame = design(**names)
    return frame.assign(value=level(frame["flow"], 2))


def asked(frame, value, n_templates):
    """Return a row per flow and template with the value ``value(flow, template)``."""
    rows = frame.drop(columns="template").merge(pd.DataFrame({"template": range(n_templates)}), how="cross")
    return rows.assign(value=value(rows["flow"].to_numpy(), rows["template"].to_numpy()))


def means_of(values, factors, linked=()):
    return marginal_means(values, factors, linked)


def test_marginal_means_of_a_complete_design_are_rs():
    found = means_of(small(), ["A", "B", "C"]).set_index("level")["mean"]
    expected = REFERENCE[REFERENCE["test"] == "marginal_mean"].set_index("item")["value"]
    assert sorted(found.index) == sorted(expected.index)
    assert found[expected.index].tolist() == pytest.approx(expected.tolist(), rel=1e-12, abs=1e-12)


def test_a_flow_weighs_the_same_however_many_of_its_answers_are_valid():
    frame = design(A=["x", "y"], B=["p", "q"])
    rows = asked(frame, lambda flow, v: np.where(flow == 0, 2.0, 0.0), 4)
    rows.loc[(rows["flow"] == 0) & (rows["template"] != 0), "value"] = np.nan
    found = means_of(rows, ["A", "B"]).set_index("level")
    assert found.loc["x", "mean"] == pytest.approx((2 + 0) / 2)
    assert found["status"].tolist() == ["ok"] * 4


def test_the_order_of_rows_changes_no_bit():
    rows = asked(small(), lambda flow, t: level(flow * 11 + t, 3), 11).iloc[::2]
    for seed in range(5):
        mixed = rows.sample(frac=1, random_state=seed)
        pd.testing.assert_frame_equal(
            means_of(mixed, ["A", "B", "C"]), means_of(rows, ["A", "B", "C"]), check_exact=True
        )


def test_missing_cells_move_a_marginal_mean():
    # Without interaction: A adds 1, B adds 0, 1, 2. The cell (y, r) has no answer.
    frame = design(A=["x", "y"], B=["p", "q", "r"])
    frame["value"] = (frame["A"] == "y") * 1.0 + frame["B"].map({"p": 0, "q": 1, "r": 2}) - 1
    frame.loc[(frame["A"] == "y") & (frame["B"] == "r"), "value"] = np.nan
    frame = twice(frame)
    means = means_of(frame, ["A", "B"]).set_index("level")
    assert means.loc["y", ["n", "n_missing", "status"]].tolist() == [2, 1, "incomplete"]
    assert "1 of 3 combinations" in means.loc["y", "reason"]
    assert means.loc["y", "mean"] - means.loc["x", "mean"] == pytest.approx(0.5)  # not 1


def test_levels_come_in_the_order_of_their_categories():
    frame = small().astype({"A": pd.CategoricalDtype(["a3", "a1", "a2", "unused"])})
    assert means_of(frame, ["A", "B"])["level"].tolist()[:3] == ["a3", "a1", "a2"]


def linked_design():
    frame = design(pair=["home|rest", "gym|sport", "club|music"], B=["p", "q"])
    frame[["place", "inference"]] = frame["pair"].str.split("|", expand=True).to_numpy()
    return frame.assign(value=[2, 0, 1, 1, -1, 0])


def test_linked_factors_are_one_joint_factor():
    frame = linked_design()
    found = means_of(frame, ["place", "inference", "B"], linked=[["place", "inference"]])
    assert found["factor"].unique().tolist() == ["place + inference", "B"]
    assert found["level"].tolist() == ["club + music", "gym + sport", "home + rest", "p", "q"]
    assert found["mean"].tolist()[:3] == pytest.approx([0.5, -0.5, 1.5])


def test_factors_that_are_linked_without_saying_so_get_no_means_of_their_own():
    frame = twice(linked_design())
    means = means_of(frame, ["place", "inference", "B"]).set_index("factor")
    for factor in ("place", "inference"):
        assert (means.loc[factor, "status"] == "not_separable").all()
        assert means.loc[factor, "mean"].isna().all()
    assert means.loc["B", "status"].tolist() == ["ok", "ok"]


def test_statuses_with_reasons():
    frame = small()
    frame.loc[frame["A"] == "a3", "value"] = np.nan
    frame["D"] = "only"
    frame = twice(frame)
    means = means_of(frame, ["A", "B", "D"]).set_index("level")
    assert means.loc["a3", "status"] == "no_answers"
    assert means.loc["only", "status"] == "incomplete"
    assert (means.loc[means["status"] != "ok", "reason"] != "").all()
    assert means.loc["a3", ["mean", "std_err", "conf_low", "conf_high"]].isna().all()


def test_a_level_without_answers_in_some_templates_says_so():
    """Level y has no answer in five of eleven, where the wording says more."""
    wording = np.where(np.arange(11) < 5, -2.0, 1.0)
    rows = asked(design(A=["x", "y"], B=["p", "q", "r"]), lambda flow, t: wording[t], 11)
    rows.loc[(rows["A"] == "y") & (rows["template"] < 5), "value"] = np.nan
    means = means_of(rows, ["A", "B"]).set_index("level")
    assert means.loc["y", ["templates", "status"]].tolist() == [6, "incomplete"]
    assert "5 of 11 templates have no value" in means.loc["y", "reason"]
    assert means.loc["x", "status"] == "ok"


def test_intervals_have_the_spread_of_wordings():
    rng = np.random.default_rng(2)
    frame = small((2, 8, 25))
    of_context, of_wording = rng.normal(0, 0.7, 200), rng.normal(0, 0.4, 30)
    rows = asked(frame, lambda flow, t: of_context[flow // 2] + of_wording[t], 30)
    found = means_of(rows, ["A", "B", "C"]).iloc[0]
    assert found["std_err"] == pytest.approx(np.sqrt(of_wording.var(ddof=1) / 30))
    assert found["conf_high"] - found["mean"] > 1.96 * found["std_err"]
