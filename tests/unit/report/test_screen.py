"""The first screen: its headline is true of the models, whatever the design; its numbers are those of tables."""

from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.labels import NOT_COMPARABLE
from cinorms.report.cards import make_card
from cinorms.report.findings import decides, how_sure, variance_shares
from cinorms.report.page import render
from cinorms.report.screen import Standing, asked, closing_lines, headline, standings, unequal
from cinorms.stats.again import FEWEST_TEMPLATES

from ...html_page import Page
from ...study_folder import FACTORS, MODELS, folder_of, make_results
from .test_texts import with_table

#: A model with a norm on 90 of 100 flows, of which 80 are expected again.
STRONG = Standing(
    "main", "a", False, False, 100, 11, 90, "ok", 80.0, 75.0, 85.0, {"no": 90, "yes": 0}, 3300, 3300, 0
)
WEAK = replace(STRONG, norms=30, again=20.0, low=15.0, high=25.0)
NEAR_HALF = replace(STRONG, again=52.0, low=45.0, high=60.0)
#: The numbers would praise it, but the interval is too wide to show them.
WIDE = replace(STRONG, status="wide", low=55.0, high=89.0)
FEW_WORDINGS = replace(STRONG, status="few_templates", templates=4, again=None, low=None, high=None)
NOTHING = replace(STRONG, norms=0, status="no_norms", again=None, low=None, high=None)
REFUSES = replace(NOTHING, valid=30, refused=3200)
ONE_ANSWER = replace(STRONG, ignores="nearly every flow gets the same answer")
BY_CHANCE = replace(STRONG, by_chance=75.0)
WEAK_BY_CHANCE = replace(WEAK, by_chance=22.0)
NOT_COMPUTED = replace(FEW_WORDINGS, status="not_computed", templates=11)
SURVIVE = "norms that would survive other wordings"
SURVIVE_NOT = "holds no norm that would survive other wordings"
CANNOT = "this study cannot tell"
DEPENDS_NOT = "nothing shows that the answers of"
ONE_OF_THREE = "One of three models holds [norms] on most flows"
TO_TELL = "to tell how many of these norms other wordings would give again, the study needs"


def test_answers_that_depend_on_the_flow_are_no_norms_where_chance_gives_as_many():
    verdicts = ["depends", "depends", "one_answer"]
    table = pd.DataFrame({"model": list("abc"), "verdict": verdicts, "valid": 1.0})
    found = {"flow_dependence": [table]}
    made = SimpleNamespace(tables_of=lambda kind, _: iter(found.get(kind, [])), nouns=lambda _: "models")
    said = how_sure(cast(Any, made), [STRONG, BY_CHANCE, replace(ONE_ANSWER, by_chance=90.0)])[0]
    assert said.startswith(
        "The answers of 2 of 3 models depend on the flow. That alone makes no norms: one of them holds norms that "
        "other wordings would give again on no more flows than chance gives. c: nearly every"
    )
    found["flow_dependence"] = [table.head(1)]
    assert how_sure(cast(Any, made), [STRONG])[0] == "The answers of a depend on the flow."


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([STRONG] * 3, "All three models hold [norms] on most flows"),
        ([STRONG], "a holds [norms] on most flows"),
        ([STRONG, WEAK, REFUSES], f"{ONE_OF_THREE}; two on fewer flows or none"),
        ([STRONG, WEAK, WEAK], f"{ONE_OF_THREE}; two on fewer flows"),
        ([STRONG, NOTHING], "One of two models holds [norms] on most flows; one on no flow"),
        ([WEAK, NOTHING], "On most flows, both models hold no norm that would survive other wordings"),
        ([REFUSES], "On most flows, a holds no norm that would survive other wordings"),
        ([STRONG, NEAR_HALF, WIDE], f"{ONE_OF_THREE}; for two, {CANNOT}"),
        ([WEAK, FEW_WORDINGS], f"On most flows, one of two models {SURVIVE_NOT}; for one, {CANNOT}"),
        ([WIDE, FEW_WORDINGS], "This study cannot tell whether norms of both models would survive other wordings"),
        ([STRONG, ONE_ANSWER], f"One of two models holds [norms] on most flows; {DEPENDS_NOT} one depend on the flow"),
        ([BY_CHANCE], "a holds [norms] on no more flows than chance gives"),
        ([STRONG, WEAK_BY_CHANCE, BY_CHANCE], f"{ONE_OF_THREE}; two on no more flows than chance gives"),
        ([ONE_ANSWER], "Nothing shows that the answers of a depend on the flow"),
        ([replace(STRONG, planted=True)] * 2, "Both respondents hold [norms] on most flows"),
    ],
)  # fmt: skip
def test_the_headline_counts_who_holds_norms_that_other_wordings_would_give_again(rows, said):
    assert headline(rows) == said.replace("[norms]", SURVIVE)


def test_models_asked_in_different_numbers_of_wordings_are_not_compared(results):
    assert unequal([STRONG, WEAK]) == ""
    for others in ([], [replace(STRONG, model="c")]):
        said = unequal([STRONG, *others, replace(WEAK, model="b", templates=3)])
        assert "in 11 wordings (b in 3 wordings)" in said
        assert NOT_COMPARABLE in said
    first, *rows = standings(results)
    said = asked(results, [replace(first, templates=2), *rows])
    assert f"(Paraphrases) and 2 orders of the options; {first.model} in 2 wordings: " in said
    assert NOT_COMPARABLE in said


@pytest.mark.parametrize(
    "rows", [[replace(STRONG, flows=9)], [STRONG, replace(WEAK, flows=9)], [NOT_COMPUTED]]
)
def test_there_is_no_headline_on_fewer_than_ten_flows_or_without_the_number(rows):
    assert headline(rows) == ""


def test_more_wordings_or_a_stricter_majority_do_not_change_what_is_said_of_a_model():
    # Of a weak model, a stricter rule keeps few norms, and nearly all of these recur.
    stricter = replace(WEAK, norms=3, again=2.9, low=2.8, high=3.0)
    assert headline([stricter]) == headline([WEAK])
    assert headline([replace(STRONG, templates=6)]) == headline([replace(STRONG, templates=33)])


@pytest.mark.parametrize(
    ("row", "number", "note"),
    [
        (STRONG, "80%", ""),
        (NOTHING, "none", ""),
        (FEW_WORDINGS, "?", f"on 90% of the flows; {TO_TELL} {FEWEST_TEMPLATES} wordings, not 4"),
        (replace(FEW_WORDINGS, status="few_flows"), "?", "needs 40 flows"),
        (WIDE, "?", "needs about 18 wordings, not 11 (now: 55% to 89% of the flows)"),
        (NEAR_HALF, "52%", "its interval includes 50%: undecided"),
        (replace(STRONG, by_chance=74.0), "80%", ""),
        (BY_CHANCE, "80%", "not more than by chance (75%)"),
        (ONE_ANSWER, "80%", "nearly every flow gets the same answer"),
    ],
)
def test_where_a_number_needs_more_it_says_how_much(row, number, note):
    assert row.number == number
    assert note in row.note
    assert bool(note) == bool(row.note)


def test_a_card_says_it_in_shares_of_flows():
    assert STRONG.sentence.startswith(
        "On 80% of 100 flows (95% interval: 75% to 85%) it holds a norm that as many other wordings are expected to "
        "give again, on 10% a norm that may change, and on 10% none."
    )
    assert "no norm on any of 100 flows" in REFUSES.sentence
    assert "97% refuse" in REFUSES.sentence


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    made = make_results(tmp_path_factory.mktemp("study"))
    again = pd.DataFrame({"arm": "main", "model": MODELS, "norms": 100, "status": ["ok", "ok", "wide"]})
    again = again.assign(again=[30.0, 90.0, 50.0], low=[20.0, 80.0, 20.0], high=[40.0, 95.0, 80.0])
    return with_table(made, "again", "norms_again", again)


def test_the_numbers_are_those_of_the_tables_and_the_best_model_comes_first(results):
    rows = standings(results)
    assert [row.model for row in rows] == ["model-b", "model-a", "model-c"]
    assert headline(rows) == (
        f"One of three respondents holds {SURVIVE} on most flows; one on fewer flows; for one, {CANNOT}"
    )
    first, held, codes = rows[0], results.held("main", "model-b"), results.codes["main", "model-b"]
    assert first.norms == len(held)
    assert list(first.levels.values()) == [(held == level).sum() for level in range(-2, 3)]
    assert (first.valid, first.refused) == (codes.n_valid, codes.invalid()["refusal"])
    for said in (
        "120 flows",
        "each in 3 wordings (Paraphrases) and 2 orders of the options: 6 answers.",
        "what respondents say in these wordings, not what they do, nor what is right",
    ):
        assert said in asked(results, rows)
    one = asked(results, [replace(row, templates=1) for row in rows], acted=True)
    assert "respondents say in this wording and do as agents in these tasks, not what is right" in one


def test_the_page_the_card_and_the_terminal_say_the_same(results):
    rows, cards = standings(results), [make_card(results, model) for model in MODELS]
    assert Page(render(results)).text.count(headline(rows)) == 1
    first, _, *lines = closing_lines(cards)
    assert first == headline(rows)
    shares = [["model-b", "75%"], ["model-a", "25%"], ["model-c", "?"]]
    assert [line.split()[:2] for line in lines] == shares
    assert cards[0]["standing"] == asdict(rows[1])
    assert closing_lines([]) == []


def test_what_decides_is_the_factor_with_most_of_the_variance(results):
    answers = tables.read(folder_of(results) / "answers/main/model-a.parquet", tables.ANSWERS)
    valid = answers.query("status == 'ok'").merge(results.vignettes["flows"], on="flow")
    level = valid["level"].astype(float)
    shares = variance_shares(results, "main", "model-a")
    for factor in FACTORS:
        means = level.groupby(valid[factor], observed=True).transform("mean")
        between, k = ((means - level.mean()) ** 2).sum(), valid[factor].nunique()
        of_flows = ((level.groupby(valid["flow"]).transform("mean") - level.mean()) ** 2).sum()
        by_chance = (k - 1) * (of_flows - between) / (valid["flow"].nunique() - k)
        assert shares[factor] == pytest.approx(
            max(between - by_chance, 0) / ((level - level.mean()) ** 2).sum()
        )
    # A level for each flow explains every flow, and says nothing.
    unique = {"flows": results.vignettes["flows"].assign(sender=[str(flow) for flow in range(120)])}
    assert variance_shares(replace(results, vignettes=unique), "main", "model-a")["sender"] == 0
    of_models = [variance_shares(results, "main", model)["principle"] for model in MODELS]
    mean, low, high = np.mean(of_models), min(of_models), max(of_models)
    assert decides(results, "main", MODELS).text.startswith(
        f"principle. It goes with {mean:.0%} of the variance of the answers "
        f"(mean of three respondents, from {low:.0%} to {high:.0%})"
    )
    sources = ["sender", "template", "order and single answer"]
    parts = pd.DataFrame({"arm": "main", "model": "model-a", "source": sources, "share": [0.3, 0.2, 0.4]})
    with_parts = with_table(results, "variance", "variance_components", parts)
    assert "30% of the variance" in decides(with_parts, "main", MODELS).text
