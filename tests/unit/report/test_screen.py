"""The first screen: its headline is true of the models, whatever the design; its numbers are those of tables."""

from dataclasses import asdict, replace

import pandas as pd
import pytest

from cinorms.core.labels import share
from cinorms.report import first_screen
from cinorms.report.cards import make_card
from cinorms.report.findings import decides
from cinorms.report.first_screen import Screen
from cinorms.report.page import render
from cinorms.report.screen import closing_lines, headline
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


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("study"))


@pytest.fixture
def own(tmp_path):
    """Return results whose tables a test may replace."""
    return make_results(tmp_path)


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
        assert row.between in next(line for line in lines if row.model in line)
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


ACCEPTED = {"accepts": 0.38, "accepts_from": 0.13, "accepts_to": 0.62}
SHARE = "Three simulated respondents accept these flows in 38% of their answers, from 13% to 62%"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "accept flows by a lock (68% of answers), hardly ever by a camera (8%)"),
        ({"factor": "ground"}, "with ground ‘a lock’ (68% of answers), hardly ever with ground ‘a camera’ (8%)"),
        ({"least": 0.0}, "accept flows by a lock (68% of answers), never by a camera (0%)"),
        ({"factor": "recipient"}, "accept flows to a lock (68% of answers), hardly ever to a camera (8%)"),
        ({"factor": "transmission_principle", "most_level": "if asked", "least_level": "if not", "least": 0.2},
         "accept flows if asked (68% of answers), seldom if not (20%)"),
        ({"most": 0.4, "least": 0.3}, "accept flows most often by a lock (40% of answers), less often by a camera"),
        ({"status": "not_apart"}, SHARE),
        ({"status": "combinations"}, SHARE),
        ({"status": "not_crossed", "factor": None}, SHARE),
        ({"status": "no_answers", "factor": None, "accepts": None}, "No answer of three simulated respondents"),
    ],
)  # fmt: skip
def test_the_headline_is_the_finding_that_the_table_allows(own, changes, said):
    found = with_table(own, "finding", "finding", pd.DataFrame([FOUND | ACCEPTED | changes]))
    assert said in Screen(found, standings(found)).headline


def test_a_study_and_a_dataset_say_what_the_page_is_about(results, monkeypatch):
    monkeypatch.setitem(first_screen._WITH, "principle", "{}")
    study, dataset = results.study, results.study.dataset_of("main")
    short = dict.fromkeys([f"under condition {n}" for n in range(12)], "if it is so\u00adso")
    about = {"about": "toys", "short": short}
    settings = {**study.settings, "title": "Toys", "about": "asked by us"}
    datasets = {"flows": dataset.model_copy(update=about)}
    metadata = study.model_copy(update={"settings": settings, "datasets": datasets})
    made = replace(results, study=metadata)
    screen = Screen(made, standings(made))
    assert "".join(text for text, _ in screen.about) == (
        "Privacy of toys: what 3 simulated respondents accept · 120 flows, each asked in 3 wordings and 2 orders of "
        "the options · asked by us"
    )
    assert "accept that toys are passed on if it is soso" in screen.headline
    assert "is so\u00adso" in screen.columns
    first, *rows = standings(results)
    others = "".join(text for text, _ in Screen(results, [replace(first, templates=2), *rows]).about)
    assert f", each asked in 3 wordings and 2 orders of the options ({first.model}: 2 wordings)" in others


def test_the_matrix_has_the_tables_numbers_and_names_what_could_not_be_read(results):
    screen = Screen(results, standings(results))
    means, found = results.table("marginal_means"), results.row_of("finding", "main")
    levels = means[(means["factor"] == found["factor"]) & (means["model"] == "model-a")].set_index("level")
    row = next(row for row in screen.rows if row.model == "model-a")
    shown = dict(zip(screen.columns, (cell.text for cell in row.cells[1:]), strict=True))
    assert shown == {level: f"{100 * value:.0f}" for level, value in levels["accepts"].items()}
    assert screen.mean[1 + screen.columns.index(found["most_level"])] == f"{100 * found['most']:.0f}"
    decides = next(factor for factor in screen.factors if factor.name == found["factor"])
    assert decides.weight == share(found["share"], 1)
    codes = results.codes["main", "model-a"]
    assert row.unread == f"{1 - codes.n_valid / codes.n_asked:.0%} of replies not read"
    assert {look for look, _ in screen.looks} == {"dot-0", "dot-1", "other"}
    # The flow of the example is one on which the two named models are as far apart as any two are.
    assert screen.example["said"][0][1].endswith(" answers)")


def test_a_mean_is_over_the_models_that_the_finding_counts(own):
    """A model with few readable answers at one level is in no mean of its factor, in the matrix as in `finding`."""
    means, factor = own.table("marginal_means"), own.row_of("finding", "main")["factor"]
    assert not any("fewer than 30" in note for note in Screen(own, standings(own)).notes)
    of_factor = means["factor"] == factor
    few = (
        of_factor & (means["model"] == "model-a") & (means["level"] == means.loc[of_factor, "level"].iloc[0])
    )
    means = means.assign(answers=means["answers"].mask(few, 29), accepts=means["accepts"].mask(few, 1.0))
    changed = with_table(own, "marginal_means", "marginal_means", means)
    kept = means[of_factor & (means["model"] != "model-a")].groupby("level")["accepts"].mean()
    lines = {line.level: line.mean for line in Screen(changed, standings(changed)).lines}
    assert lines == pytest.approx({level: 100 * mean for level, mean in kept.items()})
    assert "–: fewer than 30 readable answers." in Screen(changed, standings(changed)).notes


def test_thirty_models_and_thirty_levels_fold(own):
    rows = standings(own)
    many = [rows[k % 3] for k in range(30)]
    screen = Screen(own, rows)
    screen.standings = many
    assert len(screen.rows) == 12
    levels = [{"arm": "main", "model": "model-a", "factor": "f", "level": f"{n}", "accepts": n / 30, "answers": 99}
              for n in range(30)]  # fmt: skip
    made = with_table(own, "marginal_means", "marginal_means", pd.DataFrame(levels))
    made = with_table(made, "finding", "finding", pd.DataFrame([FOUND | ACCEPTED | {"factor": "f"}]))
    screen = Screen(made, [row for row in rows if row.model == "model-a"])
    assert screen.columns == ["29", "28", "27", "26", "25", "24", "…", "5", "4", "3", "2", "1", "0"]
    assert "leaves out 18 levels" in screen.notes[0]
    assert screen.turned
    assert [factor.name for factor in screen.factors] == ["f"]
    more = pd.DataFrame([*levels, {**levels[0], "level": "30"}])
    made = with_table(made, "marginal_means", "marginal_means", more)
    assert Screen(made, screen.standings).factors == []


@pytest.mark.parametrize(
    ("changes", "said", "not_said"),
    [
        ({}, f"sender. It goes with {GOES}, more than any other factor; combinations of factors with 10%;", "alone"),
        ({}, "With ‘a lock’ 68% of the answers with a level accept the flow, with ‘a camera’ 8%.", "show"),
        ({"status": "not_apart"}, "do not show which of its levels is accepted most and least", "a lock"),
        ({"status": "combinations"}, "no factor alone: combinations. Of single factors, sender", "a lock"),
    ],
)  # fmt: skip
def test_what_decides_is_what_the_table_says_and_no_more(own, changes, said, not_said):
    found = with_table(own, "finding", "finding", pd.DataFrame([FOUND | changes]))
    text = decides(found, "main", MODELS).text
    assert said in text
    assert not_said not in text
    nothing = pd.DataFrame([{"arm": "main", "factor": None, "status": "not_crossed"}])
    assert decides(with_table(own, "finding", "finding", nothing), "main", MODELS) is None
