"""What the thresholds discard: worked examples, and the printed Tables 2 and 3 from the published answers."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cinorms.stats import survivorship

from ...scales import ACCEPTABILITY
from .made import norms_of

MODELS = {
    "gpt-4o-mini-8B": "gpt-4o-mini-8B",
    "llama-3.1-8B": "Meta-Llama-3.1-8B-Instruct",
    "tulu-2-7B": "tulu-2-7b",
    "tulu-2-13B": "tulu-2-13b",
    "tulu-2-dpo-7B": "tulu-2-dpo-7b",
    "tulu-2-dpo-13B": "tulu-2-dpo-13b",
    "tulu-2-7B-AWQ": "tulu-2-7B-AWQ",
    "tulu-2-13B-AWQ": "tulu-2-13B-AWQ",
}

FLOWS = [
    [1, 1, 1, 1],  # all agree
    [1, 1, 1, -2],  # 75%
    [1, 1, -2, 0],  # 50%
    [1, 1, -2, -2],  # a tie
    [1, None, None, None],  # one valid answer
    [None, None, None, None],
]


@pytest.fixture
def table():
    return norms_of(FLOWS)


def test_discarded_flows_by_hand(table):
    tried = [Thresholds(t_val, t_maj, "strict") for t_val in (0, 2) for t_maj in ("plurality", 0.5, 0.67)]
    found = survivorship.discarded(table, tried).set_index(["t_val", "t_maj"])
    columns = ["flows", "below_t_val", "of", "no_majority", "tie", "discarded", "kept"]
    assert found.loc[(2, "plurality"), columns].tolist() == [6, 2, 4, 0, 1, 1, 3]
    assert found.loc[(2, "0.5"), columns].tolist() == [6, 2, 4, 0, 1, 1, 3]
    assert found.loc[(2, "0.67"), columns].tolist() == [6, 2, 4, 1, 1, 2, 2]
    assert found.loc[(0, "0.67"), columns].tolist() == [6, 1, 5, 1, 1, 2, 3]
    assert found.loc[(2, "0.67"), "share_discarded"] == 0.5
    (none,) = survivorship.discarded(table, [Thresholds(9, 0.5, "strict")]).itertuples()
    assert (none.status, none.of, math.isnan(none.share_discarded)) == ("no_flows", 0, True)


def test_lost_norms_by_hand(table):
    found = survivorship.lost(table, 0, [("plurality", 0.67), (0.5, 0.67), (0.67, 0.67)], "strict")
    assert found["kept_from"].tolist() == [4, 4, 3]
    assert found["lost"].tolist() == [1, 1, 0]
    assert found["share_lost"].tolist() == [1 / 6, 1 / 6, 0]
    assert found["changed"].tolist() == [0, 0, 0]


def test_minority_by_hand():
    flows = [[1, 1, 1, -2, 0], [1, 1, 1, 1, 0], [2, 2, 2, 2, 2], [1, 2, None, 1, 2], [1, None, None, 1, 0]]
    found = survivorship.minority(norms_of(flows))
    assert found["n_minority"].tolist() == [2, 1, 0, 0, 1]
    assert found["share"].tolist()[:3] == [0.4, 0.2, 0]
    assert found["share"].iloc[4] == 1 / 3  # of the valid answers, not of the five that were asked for
    assert found["variance"].tolist()[:2] == [1.0, 0.0]
    assert found["deviation"].tolist()[:2] == [2.0, 1.0]
    assert found["max_deviation"].tolist()[:2] == [3.0, 1.0]
    assert found["single_dissent"].tolist() == [False, True, False, False, True]
    assert found["status"].tolist() == ["ok", "ok", "unanimous", "no_value", "ok"]
    assert found.loc[2:3, ["variance", "deviation", "max_deviation"]].isna().all(axis=None)
    assert np.isnan(found.loc[3, "share"])


def test_association_agrees_with_scipy_and_names_the_factor_that_was_filtered():
    # Sender "a" is always kept, "b" never; the recipient alternates and says nothing.
    flows = pd.DataFrame({"kept": [True] * 20 + [False] * 20, "recipient": ["x", "y"] * 20})
    flows = flows.assign(sender=np.where(flows["kept"], "a", "b"))
    found = survivorship.association(flows, ["sender", "recipient"]).set_index("factor")
    expected = chi2_contingency([[0, 20], [20, 0]], correction=False)
    assert found.loc["sender", "statistic"] == pytest.approx(expected.statistic)
    assert 10 ** found.loc["sender", "log10_p"] == pytest.approx(expected.pvalue)
    assert found.loc["sender", "cramers_v"] == pytest.approx(1)
    assert found.loc["recipient", "statistic"] == 0
    assert found["status"].tolist() == ["ok", "ok"]


@pytest.mark.parametrize(
    ("kept", "sender", "status"),
    [
        ([True] * 4, "aabb", "none_discarded"),
        ([False] * 4, "aabb", "all_discarded"),
        ([True, False] * 2, "aaaa", "one_level"),
        ([True, False] * 2, "aabb", "low_expected"),
        ([], "", "no_flows"),
    ],
)
def test_association_says_why_there_is_no_test(kept, sender, status):
    flows = pd.DataFrame({"kept": pd.array(kept, dtype=bool), "sender": list(sender)})
    found = survivorship.association(flows, ["sender"]).iloc[0]
    assert found["status"] == status
    assert (np.isnan(found["log10_p"]), found["dof"]) == (
        (False, 1) if status == "low_expected" else (True, 0)
    )


@pytest.fixture(scope="module")
def published_norms(published):
    return {
        printed: assessment.assess(published(name), "papers", ACCEPTABILITY)
        for printed, name in MODELS.items()
    }


def test_more_answers_differ_over_all_flows_than_over_those_with_a_norm(published_norms):
    """As docs/method/stats/trust.md says of a flow that is asked once."""
    norms = published_norms["tulu-2-dpo-7B"]
    kept = (assessment.status(norms, Thresholds(11, 0.5, "papers")) == "kept").to_numpy()
    differ = [1 - part.mean() for part in (norms["share"], norms.loc[kept, "share"])]
    assert differ == pytest.approx([0.51, 0.40], abs=0.005)


def test_minority_analysis_equals_the_columns_the_authors_published(published_frame, published_norms, iot):
    for printed, name in MODELS.items():
        theirs = published_frame[published_frame["model"] == name].set_index("Scenario").loc[iot["vignette"]]
        ours = survivorship.minority(published_norms[printed])
        assert (
            theirs["most_common"].to_numpy() == published_norms[printed]["value"].to_numpy(dtype=float)
        ).all()
        assert (theirs["minority_count_common"].to_numpy() == ours["n_minority"]).all()
        assert (theirs["single_dissent_common"].to_numpy() == ours["single_dissent"]).all()
        # They write 0 where there is no minority; here it is missing.
        for column, name_here in (
            ("minority_var_common", "variance"),
            ("deviation_from_majority_common", "deviation"),
            ("max_diff_common", "max_deviation"),
        ):
            assert theirs[column].to_numpy() == pytest.approx(ours[name_here].fillna(0), abs=1e-12)
