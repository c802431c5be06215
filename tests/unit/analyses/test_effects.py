"""Marginal means: linked factors, those with one level, and intervals; the finding, and when nothing is named."""

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.shared import usual_factors
from cinorms.stats import wordings
from rewordings import interval

from .made import ANSWERS, DATASET, SMALL, VARIANTS, VIGNETTES, run


def test_marginal_means_join_linked_factors():
    linked = "place + inference"
    assert set(run("marginal_means", SMALL)["factor"]) == {"all flows", "sender", linked, "recipient"}
    assert set(run("marginal_means", SMALL, factors=["place"])["factor"]) == {"all flows", linked}


def test_a_factor_with_one_level_is_left_out_unless_all_have_one():
    doll = VIGNETTES[VIGNETTES["sender"] == "doll"]
    assert usual_factors(doll, DATASET) == ["place + inference", "recipient"]
    assert usual_factors(doll.head(1), DATASET) == ["sender", "place + inference", "recipient"]


def finding(answers, **options):
    return run("finding", named(answers), **options).iloc[0]


def named(answers):
    return dict(zip(("small", "large"), answers, strict=False))


def made(of_flow, noise=0.0, flows=VIGNETTES, templates=VARIANTS, seed=1):
    """Return answers: what ``of_flow`` gives each flow, with noise."""
    rng = np.random.default_rng(seed)
    flow = np.repeat(flows["flow"].to_numpy(), len(templates))
    level = np.repeat(np.asarray(of_flow, dtype=float), len(templates)) + rng.normal(0, noise, len(flow))
    return pd.DataFrame(
        {
            "flow": flow,
            "variant": pd.Categorical(np.tile(templates, len(flows))),
            "order": pd.Categorical(["01234"] * len(flow)),
            "level": pd.array(np.clip(np.rint(level), -2, 2), dtype="Int8"),
            "status": pd.Categorical(["ok"] * len(flow)),
            "rule": pd.Categorical(["exact"] * len(flow)),
        }
    )


def turned(answers):
    """Return the answers with those in one of four wordings turned round."""
    last = answers["variant"].astype(str).str.startswith("3_")
    return answers.assign(level=answers["level"].mask(last, -answers["level"]))


POLICE, DOLL = (VIGNETTES["recipient"] == "police").to_numpy(), (VIGNETTES["sender"] == "doll").to_numpy()


def test_the_finding_is_what_variance_components_and_marginal_means_say():
    answers = [made(np.where(POLICE, -1, 1), 0.8), made(np.where(POLICE, -2, 0.4), 0.8, seed=2)]
    row, models = finding(answers), named(answers)
    assert (row["status"], row["factor"], row["apart"], row["models"]) == ("ok", "recipient", 2, 2)
    shares = run("variance_components", models).pivot_table("share", "model", "source")
    assert row["share"] == pytest.approx(shares["recipient"].mean())
    assert (row["share_from"], row["share_to"]) == (shares["recipient"].min(), shares["recipient"].max())
    assert row["factors"] + row["combinations"] + row["rest"] == pytest.approx(1)
    counted = [frame["level"].gt(0).groupby(np.repeat(POLICE, len(VARIANTS))).mean() for frame in answers]
    assert (row["most_level"], row["least_level"]) == ("maker", "police")
    assert row["most"] == pytest.approx(np.mean([one[False] for one in counted]))
    assert (row["least_from"], row["least_to"]) == tuple(sorted(one[True] for one in counted))
    assert row["accepts"] == pytest.approx(np.mean([frame["level"].gt(0).mean() for frame in answers]))


@pytest.mark.parametrize(
    ("answers", "status", "factor"),
    [
        # Each recipient is as acceptable as the other: what counts is which sender it is with.
        ([made(np.where(POLICE == DOLL, 1, -1), 0.3)], "combinations", None),
        ([turned(made(np.where(POLICE, -1, 1), 0.3))], "not_apart", "recipient"),
        ([made(np.where(POLICE, -1, 1), templates=["0_0", "0_1"])], "no_interval", "recipient"),
        ([made(np.zeros(len(VIGNETTES)))], "no_variance", ""),
        ([ANSWERS["small"].assign(level=pd.NA, status="refusal").astype({"level": "Int8"})], "no_answers", ""),
        ([made(np.where(POLICE, -1, 1)[:-1], flows=VIGNETTES.iloc[:-1])], "not_crossed", ""),
    ],
)  # fmt: skip
def test_no_factor_is_named_that_does_not_stand_out(answers, status, factor):
    row = finding(answers)
    assert row["status"] == status
    if factor == "":
        assert pd.isna(row["factor"])
    elif factor:
        assert row["factor"] == factor


def test_accepted_shares_are_those_of_single_answers_with_the_interval_over_wordings():
    table = run("marginal_means", SMALL).set_index(["factor", "level"])
    joined = ANSWERS["small"].merge(VIGNETTES[["flow", "recipient"]], on="flow")
    joined["template"] = joined["variant"].astype(str).str.partition("_")[0]
    for level, part in [("all flows", joined), ("police", joined[joined["recipient"] == "police"])]:
        row = table.loc["all flows" if level == "all flows" else "recipient"].loc[level]
        valid = part[part["status"] == "ok"]
        yes = valid["level"].gt(0)
        assert (row["asked"], row["answers"]) == (len(part), len(valid))
        assert row["accepts"] == pytest.approx(yes.mean())
        # Each template's influence: what the share changes by without it, times the share of the others.
        n = valid.groupby("template").size()
        influence = (yes.groupby(valid["template"]).sum() - yes.mean() * n) / len(valid)
        units = wordings.Units(influence.to_numpy(float), (n / len(valid)).to_numpy(float))
        _, low, high = interval(yes.mean(), *wordings.spread(units))
        assert (row["accepts_low"], row["accepts_high"]) == pytest.approx((low, high))
