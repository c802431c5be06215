"""The report in a real browser: slices, sorts, searches, opens flows, keeps its state in the address."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs

import pandas as pd
import pytest
from selenium.webdriver.common.keys import Keys

from cinorms.answers.overrides import load_overrides, match_overrides
from cinorms.core import tables
from cinorms.core.labels import share
from cinorms.prompts.variants import messages
from cinorms.report import appendix
from cinorms.report.explorer import explorer_data
from cinorms.report.page import render
from cinorms.report.results import StudyResults

from ..scales import ACCEPTABILITY, LEVELS, ORDERS
from ..study_folder import COMMAND, PRINCIPLES, RECIPIENTS, SENDERS, folder_of, make_results
from .conftest import Window

OPTIONS = ACCEPTABILITY.options


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """Return the results of the small study."""
    return make_results(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def page(results: StudyResults) -> Path:
    """Return the page of the small study, with its replies beside it."""
    path = folder_of(results) / "report/index.html"
    path.write_text(render(results), encoding="utf-8")
    return path


def show_all_flows(window: Window) -> None:
    while window.all("#flows-more button"):
        window.click("#flows-more button")


@pytest.fixture(autouse=True)
def _silence(window: Window) -> object:
    """Every test ends without a word in the console and without a request."""
    window.complaints()
    yield
    assert window.complaints() == []


def test_a_fixed_level_leaves_its_slice_with_its_counts(window, page, results):
    window.open(page)
    window.choose("fix:sender", "a camera")
    assert window.one("#slice").text == "40 of 120 flows with sender ‘a camera’."
    flows = results.vignettes["flows"].query("sender == 'a camera'")["flow"]
    norms = results.held("main", "model-a")
    norms = norms[norms.index.isin(flows)]
    shown = [text.partition(" ")[0] for text in window.texts("#counts tbody tr:first-child td")]
    assert shown[:5] == [str(int((norms == level).sum())) for level in range(-2, 3)]
    assert sum(map(int, shown)) == 40
    assert parse_qs(window.hash().partition("?")[2])["fix:sender"] == ["a camera"]


def test_a_cell_of_one_flow_has_its_norm_and_one_of_several_the_share_that_accepts(window, page, results):
    window.open(page, "#explorer?arm=main&model=model-a")
    first = window.one(".heatmap tbody td").get_attribute("aria-label") or ""
    where = f"principle == '{PRINCIPLES[0]}' and recipient == '{RECIPIENTS[0]}'"
    answers = tables.read(folder_of(results) / "answers/main/model-a.parquet", tables.ANSWERS)
    level = answers[answers["flow"].isin(results.vignettes["flows"].query(where)["flow"])]["level"].dropna()
    accepting = (level > 0).mean()
    assert f"model-a, {len(SENDERS)} flows: {share(accepting, 1)} of {len(level)} answers accept" in first
    assert window.one(".heatmap .part").text == share(accepting, 1)
    assert f"s{round(20 * accepting)}" in (window.one(".heatmap .part").get_attribute("class") or "").split()
    assert window.one("#of-several").is_displayed()
    window.choose("fix:sender", "a camera")
    label = window.all(".heatmap tbody td")[0].get_attribute("aria-label") or ""
    assert label.startswith(f"{PRINCIPLES[0]}, {RECIPIENTS[0]}: model-a: −")
    assert "unacceptable" in label


def test_sorting_goes_up_and_down_and_leaves_what_has_no_norm_at_the_end(window, page):
    window.open(page, "#explorer?arm=main&model=model-a&view=flows")
    levels = {"−2": -2, "−1": -1, "0": 0, "+1": 1, "+2": 2}
    for direction in (1, -1):
        window.click('button[name="sort:norm:model-a"]')
        show_all_flows(window)
        found = [text.split(" ")[0] for text in window.texts("#flows tbody td:nth-child(2)")]
        assert len(found) == 120
        values = [levels[text] for text in found if text in levels]
        assert values == sorted(values, reverse=direction < 0)
        assert not any(text in levels for text in found[len(values) :])
    assert window.one('th[aria-sort="descending"]').text.startswith("model-a")


def test_flows_are_sorted_and_filtered_by_whether_their_norm_is_expected_again(window, page, results):
    window.open(page, "#explorer?arm=main&model=model-a&view=flows")
    window.choose("held", "again")
    # In this study's list, the share of answers that agree stands for the probability, but none is certain.
    norms = results.norms["main", "model-a"].set_index("flow").loc[results.held("main", "model-a").index]
    expected = norms["share"].replace(1.0, 0.99999)
    expected = expected[expected > 0.5]
    assert 0 < len(expected) < 120
    window.click('button[name="sort:again:model-a"]')
    show_all_flows(window)
    shown = window.texts("#flows tbody td:nth-child(4)")
    assert shown == [share(p, 1) for p in sorted(expected)]
    assert shown[-1] == "over 99%"
    # The filter holds for the replies too, so their tab shows it.
    window.click("#tab-replies")
    assert window.one('#said-controls select[name="held"]').get_attribute("value") == "again"


def test_a_flow_is_looked_up_by_its_parts(window, page, results):
    window.open(page)
    for name, level in (("sender", SENDERS[1]), ("recipient", RECIPIENTS[2])):
        window.choose(f"fix:{name}", level)
        assert not window.all('[name="look"]')
    window.choose("fix:principle", PRINCIPLES[3])
    window.click('[name="look"]')
    assert f"{SENDERS[1]} tells {RECIPIENTS[2]} {PRINCIPLES[3]}" in window.dialog()


def test_searching_finds_what_all_words_are_in(window, page):
    window.open(page, "#explorer?arm=main&model=model-a&view=flows")
    window.one('[name="query"]').send_keys("CAMERA police")
    window.wait(
        lambda: window.one("#flows-status").text.startswith("8 flows"), "the search finds something else"
    )
    assert window.run("return document.activeElement.name") == "query"
    assert all("a camera" in text and "the police" in text for text in window.texts("#flows tbody th"))
    # It is about everything: the counts, the heatmap and the number of flows.
    assert window.one("#slice").text == "8 of 120 flows that match ‘CAMERA police’."
    assert window.texts(".heatmap thead th")[1:] == ["the police"]
    assert sum(int(text.split()[0]) for text in window.texts("#counts tbody tr:first-child td")) == 8
    window.one('[name="query"]').send_keys(" nowhere")
    window.wait(lambda: window.one("#flows-status").text.startswith("0 flows"), "the search finds something")


def test_an_open_flow_shows_its_norm_answers_and_expected_value(window, page, results):
    flow = 7
    window.open(page, f"#explorer?arm=main&model=model-a&model=model-b&flow={flow}")
    said = window.dialog()
    assert results.vignettes["flows"]["vignette"][flow] in said
    norm = results.norms["main", "model-a"].iloc[flow]
    top = int(norm[list(tables.count_columns(LEVELS))].max())
    held = OPTIONS[int(norm["value"]) + 2]
    assert f"The norm is ‘{held}’: {top} of {norm['n_valid']} valid answers" in said
    # In this study's list, the share of answers that agree stands for it.
    assert f"the same norm with a probability of {100 * norm['share']:.0f}%." in said
    assert "Expected: +50.00 on the dataset’s range from -100 to 100." in said
    delta = 50 * int(norm["value"]) - 50
    sign = "−" if delta < 0 else "+" if delta > 0 else ""
    assert f"Delta of the norm: {sign}{abs(delta):.2f}." in said
    answers = tables.read(folder_of(results) / "answers/main/model-a.parquet", tables.ANSWERS)
    answers = answers[answers["flow"] == flow]
    shown = window.run(
        "return [...document.querySelectorAll('#cell > div:last-of-type tbody tr')].map((r) => r.cells[1].textContent)"
    )
    for text, level in zip(shown, answers["level"], strict=True):
        assert text.endswith("refusal" if pd.isna(level) else OPTIONS[int(level) + 2])


def test_the_question_of_a_variant_is_what_was_asked(window, page, results):
    window.open(page, "#explorer?arm=main&model=model-a&flow=7")
    window.dialog()
    variants = results.prompts["main"]
    window.run("document.querySelectorAll('#cell tbody .link')[3].click()")
    window.wait(lambda: window.texts("#question blockquote"), "no question appears")
    code = int(results.codes["main", "model-a"].shown[7, 3])
    assert 0 <= code < len(ORDERS)
    chat = messages(
        variants["template"][3],
        results.vignettes["flows"]["vignette"][7],
        code,
        ACCEPTABILITY,
        system=results.study.arms["main"].system,
    )
    asked = window.texts("#question blockquote:not(.reply)")
    assert asked == [message["content"] for message in chat]


def test_the_address_restores_what_was_shown(window, page):
    window.open(page, "#explorer?arm=main&view=flows")
    window.choose("fix:recipient", "the police")
    window.choose("rows", "sender")
    window.click('[name="model:model-c"]')
    window.click('button[name="sort:norm:model-c"]')
    window.one('[name="query"]').send_keys("lock")
    window.wait(lambda: "query=lock" in window.hash(), "the search is not in the address")

    def shown() -> list[object]:
        return [window.hash(), *map(window.texts, ("#flows tr", ".heatmap tr", "#slice"))]

    before = shown()
    window.open(page, window.hash())
    assert shown() == before
    assert window.one('[name="query"]').get_attribute("value") == "lock"


def test_comparing_leaves_the_flows_in_dispute_furthest_apart_first(window, page, results):
    window.open(page, "#explorer?arm=main&model=model-a&model=model-c&view=flows")
    window.click('[name="compare"]')
    gap = (results.held("main", "model-a") - results.held("main", "model-c")).dropna().abs()
    differ = gap[gap > 0].sort_values(ascending=False)
    assert window.one("#slice").text.startswith(f"{len(differ)} of 120 flows")
    distances = [int(text) for text in window.texts("#flows tbody td:last-child")]
    assert distances == differ.astype(int).tolist()[:10]
    # Of equally distant norms, first those on which the answers agree least.
    split = sum(
        1 - results.norms["main", model].set_index("flow")["share"] for model in ("model-a", "model-c")
    )
    first = split[differ[differ == differ.max()].index]
    flow = first[first == first.max()].index.min()
    assert window.texts("#flows tbody th")[0] == results.vignettes["flows"]["vignette"][flow]


def test_the_heatmap_is_one_stop_of_the_tab_key_and_moves_with_arrows(window, page):
    window.open(page, f"#explorer?arm=main&model=model-a&fix:sender={SENDERS[0]}&view=heatmap")
    assert len(window.all('.heatmap td[tabindex="0"]')) == 1
    window.run("document.querySelector('.heatmap td[tabindex=\"0\"]').focus()")
    first = window.driver.switch_to.active_element
    for key in (Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT):
        window.driver.switch_to.active_element.send_keys(key)
    label = window.driver.switch_to.active_element.get_attribute("aria-label") or ""
    assert label.startswith(f"{PRINCIPLES[1]}, {RECIPIENTS[2]}:")
    assert first.get_attribute("tabindex") == "-1"
    window.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert f"tells {RECIPIENTS[2]} {PRINCIPLES[1]}" in window.dialog()
    window.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    window.wait(lambda: "flow=" not in window.hash(), "closing does not leave the flow")


def test_a_cell_of_several_flows_narrows_the_table(window, page):
    window.open(page)
    assert not window.one("#flows").is_displayed()
    window.click(".heatmap tbody td")
    assert "view=flows" in window.hash()
    said = window.one("#flows-status").text
    assert said.startswith(f"3 flows with principle ‘{PRINCIPLES[0]}’ and recipient ‘{RECIPIENTS[0]}’")
    window.open(page, window.hash())
    assert window.one("#flows-status").text == said
    window.click('[name="whole"]')
    assert window.one("#flows-status").text.startswith("120 flows")


def test_arms_differ_in_models_and_variants(window, page):
    window.open(page, "#explorer?arm=main&view=flows")
    window.choose("arm", "one")
    window.wait(lambda: window.texts("#counts tbody th") == ["model-a"], "the arm does not change")
    window.click("#flows tbody button")
    assert "Wording 0, order 0 (0_0)" in window.dialog()
    assert "Planted (simulated): no model gave these answers." in window.dialog()
    assert "Wording 1" not in window.dialog()


def test_every_finding_leads_to_its_evidence(window, page, results):
    window.open(page)
    links = [
        link.get_attribute("href")
        for link in window.all("main a[href*='#explorer?']:not(figcaption a, .again a, table a)")
    ]
    assert len(links) == 2  # who differs most, the distance from what is expected
    for link in links:
        state = "#" + str(link).partition("#")[2]
        window.open(page, state)
        asked = parse_qs(state.partition("?")[2])
        assert window.texts("#counts tbody th") == sorted(asked["model"])
    window.open(page)
    window.click("#finding-differs a")
    window.wait(
        lambda: window.one('[name="compare"]').is_selected(), "a link followed in the open page is lost"
    )


def test_a_link_to_another_flow_of_what_is_shown_draws_nothing_else_again(window, page):
    state = "#explorer?arm=main&model=model-a&fix:sender=a+camera"
    window.open(page, state)
    window.run("document.querySelector('.heatmap').dataset.seen = '1'")
    for flow in (45, 46):
        window.run(f"location.hash = '{state}&flow={flow}'")
        window.wait(lambda flow=flow: f"Flow {flow} of" in window.dialog(), "the linked flow is not shown")
    assert window.run("return document.querySelector('.heatmap').dataset.seen") == "1"
    window.run(f"location.hash = '{state.replace('camera', 'lock')}'")
    window.wait(lambda: "‘a lock’" in window.one("#slice").text, "a link to another slice is not followed")


def test_a_state_that_makes_no_sense_is_the_state_at_the_start(window, page):
    window.open(
        page, "#explorer?arm=nowhere&model=nobody&rows=x&fix:sender=nothing&flow=99999&sort=norm:x&held=y"
    )
    assert window.one("#slice").text == "120 of 120 flows."
    assert window.run("return document.getElementById('cell').open") is False


def test_the_flows_can_be_taken_along_and_no_cell_is_a_formula(window, page):
    window.open(page, "#explorer?arm=main&model=model-a&query=friend&view=flows")
    window.run(
        "URL.createObjectURL = (blob) => { blob.text().then((t) => { window.taken = t; }); return 'blob:x'; }"
    )
    window.run("HTMLAnchorElement.prototype.click = () => {}")
    window.click('[name="download"]')
    text = window.wait(lambda: window.run("return window.taken"), "there is no file")
    lines = text.strip().split("\r\n")
    assert len(lines) == 1 + 24
    assert lines[0].startswith("flow,sender,recipient,principle,vignette,model-a: norm,model-a: status")
    assert all(",'=a friend," in line for line in lines[1:])


def test_printing_unfolds_all_of_the_appendix(window, page, results):
    file = page.with_name("appendix.html")
    file.write_text(appendix.render(results, COMMAND), encoding="utf-8")
    window.driver.get(file.as_uri())
    window.run("window.dispatchEvent(new Event('beforeprint'))")
    assert not window.all("details:not([open])")


def responses_of(results: StudyResults, model: str = "model-a") -> pd.DataFrame:
    """Return what a model said in the arm main, and what was read in it."""
    path = folder_of(results) / f"responses/main/{model}.parquet"
    answers = tables.read(folder_of(results) / f"answers/main/{model}.parquet", tables.ANSWERS)
    said = tables.read(path, tables.RESPONSES, ["flow", "variant", "text"])
    return answers.merge(said.astype({"text": str}), on=["flow", "variant"])


def test_answers_that_are_too_many_for_the_page_come_with_the_replies(window, results, monkeypatch):
    state = "#explorer?arm=main&model=model-a&model=model-b&flow=7&variant=1_1"
    page = folder_of(results) / "report/index.html"
    window.open(page, state)
    whole = window.dialog()
    monkeypatch.setattr("cinorms.report.page.explorer_data", lambda m: explorer_data(m, most_bytes=0))
    small = page.with_name("small.html")
    small.write_text(render(results), encoding="utf-8")
    assert small.stat().st_size < page.stat().st_size
    window.open(small, state)
    assert window.dialog() == whole


def test_a_variant_shows_its_prompt_and_the_reply_with_the_words_that_were_used(window, page, results):
    said = responses_of(results).query("flow == 7").reset_index(drop=True)
    window.open(page, "#explorer?arm=main&model=model-a&model=model-b&flow=7")
    window.dialog()
    for k, row in said.iterrows():
        window.run(f"document.querySelectorAll('#cell tbody .link')[{k}].click()")
        window.wait(
            lambda text=row["text"]: text == next(iter(window.texts("#question .reply")), ""),
            "the reply does not appear",
        )
        marked = window.run(
            "return document.querySelector('#question .reply').querySelector('mark')?.textContent"
        )
        assert marked == (OPTIONS[int(row["level"]) + 2] if row["status"] == "ok" else "I will not say")
        assert f"by the rule {row['rule']}." in window.dialog()


def test_replies_are_found_by_text_answer_wording_and_distance_from_the_norm(window, page, results):
    said = responses_of(results).assign(norm=lambda f: f["flow"].map(results.held("main", "model-a")))
    said = said.merge(results.prompts["main"][["variant", "template_no"]], on="variant")

    def found(asked: str) -> str:
        window.open(page, f"#explorer?arm=main&model=model-a&view=replies&{asked}")
        status = lambda: window.texts("#said-status")[0]  # noqa: E731
        while "of 720" in window.wait(lambda: status().endswith(".") and status(), "nothing is found"):
            if window.all("#said-more button"):
                window.click("#said-more button")
        return status()

    assert found("said=neutral") == f"{said['text'].str.contains('neutral').sum()} found in 720 replies."
    assert set(window.texts("#said mark")) == {"neutral"}
    assert found("answer=5") == f"{(said['status'] == 'refusal').sum()} found in 720 replies."
    two = said["template_no"].eq(2) & said["level"].eq(-2)
    assert found("answer=0&template=2") == f"{two.sum()} found in 720 replies."
    differs = (said["level"].notna() & said["norm"].notna() & said["level"].ne(said["norm"])).sum()
    assert found("differs=1&rule=label") == f"{differs} found in 720 replies."
    window.click("#said tbody button")
    assert "variant=" in window.hash()
    window.dialog()
    window.wait(lambda: window.texts("#question .reply"), "the reply does not open")
    assert found("rule=nobody") == "0 found in 720 replies."


@pytest.mark.parametrize("everywhere", [False, True])
def test_the_page_writes_the_line_that_sets_a_reading_right(window, page, results, tmp_path, everywhere):
    window.open(page, "#explorer?arm=main&model=model-a&flow=7&variant=2_1")
    window.dialog()
    window.wait(lambda: window.all("#question textarea"), "no reply appears")
    window.choose("override", "needs_context")
    if everywhere:
        window.click('[name="override:all"]')
    line = window.wait(
        lambda: (
            (text := window.run("return document.querySelector('#question textarea').value"))
            and ",needs_context," in text
            and text.startswith("Answer")
            and (",main," not in text) == everywhere
            and text
        ),
        "there is no line",
    )
    header = [text for text in window.texts("#question code") if text.startswith("text,")]
    path = tmp_path / "overrides.csv"
    path.write_text("\n".join([*header, line]), encoding="utf-8")
    overrides = load_overrides(path, LEVELS)
    said = tables.read(folder_of(results) / "responses/main/model-a.parquet", tables.RESPONSES)
    row = responses_of(results).query("flow == 7 and variant == '2_1'").iloc[0]
    same = (said["text"] == row["text"]).sum() if everywhere else 1
    assert match_overrides(said, overrides)["n_responses"].tolist() == [same]
    assert overrides["status"].tolist() == ["needs_context"]


def test_a_page_without_its_folder_says_so_and_one_that_holds_its_replies_needs_none(
    window, results, tmp_path
):
    alone, whole = tmp_path / "alone.html", tmp_path / "whole.html"
    alone.write_text(render(results), encoding="utf-8")
    settings = {**results.study.settings, "report": {"replies": "page"}}
    study = results.study.model_copy(update={"settings": settings})
    whole.write_text(render(replace(results, study=study)), encoding="utf-8")
    policy = re.search("script-src ([^;]*);", unescape(whole.read_text(encoding="utf-8")))
    assert policy is not None
    assert "'self'" not in policy[1]
    state = "#explorer?arm=main&model=model-a&flow=7&variant=1_1"
    window.open(alone, state)
    assert "It is missing or cannot be read" in window.dialog()
    missing = window.complaints()
    assert len(missing) == 1
    assert "replies/main/model-a/0.js" in missing[0]
    window.open(whole, state)
    window.wait(lambda: window.texts("#question .reply"), "the reply does not appear")


def test_one_model_alone_is_told_that_it_cannot_be_compared(window, tmp_path):
    page = tmp_path / "index.html"
    page.write_text(render(make_results(tmp_path, models=["model-a"])), encoding="utf-8")
    window.open(page, "#explorer?compare=1&view=flows")
    assert window.one("#flows-status").text == "Choose at least two models to compare."
    assert not window.all("#finding-differs")
