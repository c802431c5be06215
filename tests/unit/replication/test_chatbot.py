"""Table 9 of the chatbot survey's paper, next to what its published ratings give."""

from pathlib import Path

import pandas as pd
import pytest

from cinorms.analyses.linear import Fitted, terms_of
from cinorms.human.survey import load_survey
from cinorms.published.releases import load_release, read_numbers
from cinorms.replication.comparison import compare
from cinorms.stats.linear_mixed import fit_linear_mixed
from cinorms.vignettes.designs import load_dataset

from ...shared_ratings import CHATBOT_BASELINES, CHATBOT_FACTORS, chatbot, needs_ratings

ROOT = Path(__file__).parents[3]
OUTCOMES = {"people": "appropriate_score", "people-concern": "concern_score"}


@pytest.fixture(scope="module")
def printed() -> pd.DataFrame:
    numbers = read_numbers(load_release(ROOT / "resources/published/chatbot2025.yaml"))
    term, _, kind = zip(*numbers["cell"].str.rpartition(": ").to_numpy(), strict=True)
    return numbers.assign(term=term, kind=kind)


def test_two_printed_rows_are_copies_of_others(printed):
    rows = printed[printed["item"] == "Table 9, appropriateness"].set_index(["term", "kind"])["printed"]
    assert rows["China"].equals(rows["Big tech company"])
    assert rows["The European Union"].equals(rows["University computer scientist"])
    informed = rows["Informed that your data was collected"].astype(float)
    assert informed["Est"] / informed["SE"] == pytest.approx(-0.52, abs=0.005)
    assert informed["t"] == -5.42


def test_the_dataset_has_the_levels_that_the_table_names(printed):
    dataset = load_dataset(ROOT / "resources/vignettes/chatbot.yaml")
    assert dataset.n_flows() == 7 * 3 * 8 * 5 * 3 * 2 * 2 == 10_080
    terms = {(factor, level) for factor, levels in dataset.factors.items() for level in levels[1:]}
    named = printed["where"].str.extract(r"factor=(.*?)(?:; level=(.*))?$").dropna()
    assert set(named.itertuples(index=False, name=None)) == terms
    survey = load_survey(ROOT / "resources/ratings/chatbot.yaml")
    spelled = {level for factor in survey.factors.values() for level in factor.levels.values()}
    assert spelled <= {level for levels in dataset.factors.values() for level in levels}


@needs_ratings
def test_what_of_table_9_the_ratings_give(printed):
    """All but the intercepts, purpose, and the two rows that are copies: within 0.05, standard errors within 0.01."""
    spelled = {
        name: factor.levels
        for name, factor in load_survey(ROOT / "resources/ratings/chatbot.yaml").factors.items()
        if factor.levels
    }
    data, parts = chatbot().replace({name: dict(levels) for name, levels in spelled.items()}), []
    for arm, outcome in OUTCOMES.items():
        fit = fit_linear_mixed(data, outcome, CHATBOT_FACTORS, "rater", ["rater"], CHATBOT_BASELINES)
        parts.append(terms_of(Fitted(fit, "", fit.n, 0)).assign(arm=arm))
        if arm == "people":
            assert (fit.sd_group**2, fit.sd_residual**2) == pytest.approx((253.5, 718.9), abs=0.05)
    table = pd.concat(parts)
    found = compare(printed[read_columns(printed)], {"table9": table})
    found = found.assign(
        kind=printed["kind"],
        off=(found["computed_full"].astype(float) - found["printed"].astype(float)).abs(),
    )
    purpose = printed["where"].str.contains("factor=purpose")
    copied = printed["where"].str.contains("arm=people; factor=location")
    rest = found[~purpose & ~copied & (printed["term"] != "Intercept")]
    assert rest.loc[rest["kind"] == "Est", "off"].max() < 0.05
    assert rest.loc[rest["kind"] == "SE", "off"].max() < 0.01
    assert found.loc[purpose & (found["kind"] == "Est"), "off"].max() > 1
    at = table[table["arm"] == "people"].set_index("level")["estimate"]
    assert at[["China", "the European Union", "not informed", "not removed"]].round(2).tolist() == [
        -1.13,
        -0.40,
        -4.16,
        -2.04,
    ]
    assert at.iloc[0] == pytest.approx(41.01, abs=0.005)


def read_columns(printed: pd.DataFrame) -> list[str]:
    return [name for name in printed if name not in ("term", "kind")]
