"""The first screen: its headline is true of the models, whatever the design; its numbers are those of tables."""

from dataclasses import asdict, replace

import pandas as pd
import pytest

from cinorms.core.labels import NOT_COMPARABLE
from cinorms.report.cards import make_card
from cinorms.report.findings import decides
from cinorms.report.page import render
from cinorms.report.screen import asked, closing_lines, headline
from cinorms.report.standing import Standing, standings

from ...html_page import Page
from ...study_folder import MODELS, make_results
from .test_texts import with_table

READS = Standing(
    "main", "a", False, False, 100, 11, 90, {"no": 90, "yes": 0}, 3300, 3300, 0,
    status="ok", same_side=0.94, low=0.92, high=0.96, blind_side=0.53, p=0.005,
)  # fmt: skip
HARDLY = replace(READS, model="b", same_side=0.49, low=0.44, high=0.53, blind_side=0.42)
UNREAD = replace(READS, model="c", p=0.4)
ONE_WORDING = Standing(
    "main", "d", False, False, 100, 1, 90, {"no": 90, "yes": 0}, 3300, 3300, 0, status="one_wording"
)
A = "Asked in other words, a takes the same side 94% of the time (53% if it did not read the flow)"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([READS], A),
        ([READS, HARDLY], f"{A}; b 49%: hardly more often than if it did not read the flow (42%)"),
        ([READS, HARDLY, UNREAD], f"{A}; c 94%: nothing shows that it reads the flow (53% if it did not)"),
        ([READS, ONE_WORDING], A),
        ([ONE_WORDING], ""),
        ([READS, replace(HARDLY, flows=9)], ""),
    ],
)
def test_the_headline_names_the_best_and_the_last_with_their_numbers(rows, said):
    assert headline(rows) == said


def test_numbers_of_norms_in_different_numbers_of_wordings_are_not_compared(results):
    first, *rows = standings(results)
    said = asked(results, [replace(first, templates=2), *rows])
    assert f"(Paraphrases) and 2 orders of the options; {first.model} in 2 wordings: " in said
    assert NOT_COMPARABLE in said


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("study"))


def test_the_numbers_are_those_of_the_tables_and_the_best_model_comes_first(results):
    rows, table = standings(results), results.table("consistency").set_index("model")
    excess = (table["same_side"] - table["blind_side"]) / (1 - table["blind_side"])
    assert [row.model for row in rows] == list(excess.sort_values(ascending=False).index)
    for row in rows:
        numbers = ["same_side", "low", "high", "blind_side", "effective_templates"]
        assert [getattr(row, name) for name in numbers] == table.loc[row.model, numbers].tolist()
        assert row.p == results.row_of("flow_dependence", "main", row.model)["p"]
    first = next(row for row in rows if row.model == "model-b")
    held, codes = results.held("main", "model-b"), results.codes["main", "model-b"]
    assert first.norms == len(held)
    assert list(first.levels.values()) == [(held == level).sum() for level in range(-2, 3)]
    assert (first.valid, first.refused) == (codes.n_valid, codes.invalid()["refusal"])
    for said in (
        "120 flows",
        "each in 3 wordings (Paraphrases) and 2 orders of the options: 6 answers.",
        "what respondents say in these wordings, not what they do, nor what is right",
    ):
        assert said in asked(results, rows)


def test_the_page_the_card_and_the_terminal_say_the_same(results):
    rows, cards = standings(results), [make_card(results, model) for model in MODELS]
    page = Page(render(results)).text
    assert page.count(headline(rows)) == 1
    found = closing_lines(cards)
    at = next(number for number, line in enumerate(found) if line.lstrip().startswith("same side"))
    lines = found[at + 1 : at + 1 + len(rows)]
    assert " ".join(found[:at]) == headline(rows)
    assert [line.split()[:2] for line in lines] == [[row.model, row.number] for row in rows]
    for row in rows:
        assert row.number in page
        assert all(row.between in text for text in (page, *(line for line in lines if row.model in line)))
    one = next(row for row in rows if row.model == cards[0]["model"])
    assert (cards[0]["standing"], cards[0]["says"]) == (asdict(one), one.sentence)
    assert closing_lines([]) == []
    unread = [card | {"standing": card["standing"] | {"p": 0.4}} for card in cards]
    assert closing_lines(unread)[-1] == "model-b, model-a and model-c: nothing shows that it reads the flow"


FOUND = {
    "arm": "main", "models": 2, "factor": "sender", "share": 0.3, "share_from": 0.2, "share_to": 0.4, "factors": 0.4,
    "combinations": 0.1, "rest": 0.5, "most_level": "a lock", "most": 0.68, "least_level": "a camera", "least": 0.08,
    "status": "ok",
}  # fmt: skip
GOES = "30% of the variance of the answers (mean of two respondents, from 20% to 40%)"


@pytest.mark.parametrize(
    ("changes", "said", "not_said"),
    [
        ({}, f"sender. It goes with {GOES}, more than any other factor; combinations of factors with 10%;", "alone"),
        ({}, "With ‘a lock’ 68% of the answers with a level accept the flow, with ‘a camera’ 8%.", "show"),
        ({"status": "not_apart"}, "do not show which of its levels is accepted most and least", "a lock"),
        ({"status": "combinations"}, "no factor alone: combinations. Of single factors, sender", "a lock"),
    ],
)  # fmt: skip
def test_what_decides_is_what_the_table_says_and_no_more(results, changes, said, not_said):
    found = with_table(results, "finding", "finding", pd.DataFrame([FOUND | changes]))
    text = decides(found, "main", MODELS).text
    assert said in text
    assert not_said not in text
    nothing = pd.DataFrame([{"arm": "main", "factor": None, "status": "not_crossed"}])
    assert decides(with_table(results, "finding", "finding", nothing), "main", MODELS) is None
