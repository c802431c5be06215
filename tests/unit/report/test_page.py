"""The report: what the page says is what the tables hold, it needs no network, and runs nothing a model wrote."""

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.filling import policy
from cinorms.core.labels import STATUS_LABELS, share
from cinorms.figures.colours import rgb
from cinorms.norms.assessment import level_matrix
from cinorms.report import appendix, method, page
from cinorms.report.appendix import sections, svg_address
from cinorms.report.cards import card_json, card_markdown, escape, make_card
from cinorms.report.description import metadata_for_cards, metadata_of
from cinorms.report.explorer import explorer_data
from cinorms.report.findings import decides, delta, differs, discarded, gaps
from cinorms.report.first_screen import Screen
from cinorms.report.page import render
from cinorms.report.results import (
    INVALID,
    NO_ORDER,
    NOTHING,
    StudyResults,
    card_inputs_of,
    encode,
    page_inputs_of,
    read_page_results,
    read_results,
)
from cinorms.report.standing import standings
from cinorms.stats import agreement, wordings
from cinorms.study.metadata import StudyMetadata

from ...html_page import Page
from ...scales import ACCEPTABILITY, LEVELS, ORDERS
from ...study_folder import COMMAND, FACTORS, MODELS, folder_of, make_folder, make_results
from ...study_metadata import changed

HOSTILE = "</script><script>alert('x')</script>\"><img src=x onerror=alert(1)>&amp;{{ 7*7 }}{% raw %}"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """Return the results of the small study; tests leave them as they are."""
    return make_results(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """Return a study in which every text is hostile."""
    return make_results(tmp_path_factory.mktemp("hostile"), HOSTILE)


def answers_of(results: StudyResults, model: str = "model-a") -> pd.DataFrame:
    return tables.read(folder_of(results) / f"answers/main/{model}.parquet", tables.ANSWERS)


def unpacked(pack: str) -> bytes:
    return gzip.decompress(base64.b64decode(pack))


# --- Codes and tallies


def test_codes_hold_every_answer(results):
    answers, codes = answers_of(results), results.codes["main", "model-a"]
    names = list(results.prompts["main"]["variant"])
    for row in answers.sample(50, random_state=1).itertuples():
        code = codes.answers[row.flow, names.index(row.variant)]
        assert code == (5 + INVALID.index(row.status) if pd.isna(row.level) else row.level + 2)
        assert ORDERS[codes.shown[row.flow, names.index(row.variant)]] == row.order
    assert codes.n_asked == len(answers)
    assert codes.n_valid == int((answers["status"] == "ok").sum())
    assert codes.invalid() == {"refusal": int((answers["status"] == "refusal").sum())}


def test_what_was_not_asked_and_an_unknown_order_are_told_apart_from_answers(results):
    few = answers_of(results).query("variant != '2_1'").assign(order=pd.Categorical([None] * 600))
    codes = encode(few, results.prompts["main"], ACCEPTABILITY)
    assert set(codes.answers[:, 5]) == {NOTHING}
    assert set(codes.shown.ravel()) == {NO_ORDER}
    assert codes.n_asked == 600


# --- Findings


def test_the_accepted_shares_of_the_page_are_counted_from_the_answers(results):
    parts = {}
    for model in MODELS:
        answers = answers_of(results, model).merge(results.vignettes["flows"], on="flow")
        yes = answers["level"] > 0
        shares = [yes.groupby(answers[factor].astype(str)).mean() for factor in FACTORS]
        parts[model] = pd.concat(shares).astype(float) * 100
    expected = pd.DataFrame(parts)
    factors = Screen(results, standings(results)).factors
    assert factors[0].name == "principle"
    for line in (line for factor in factors for line in factor.rows):
        assert line.mean == pytest.approx(expected.loc[line.level].mean())  # every model counts equally
        assert {dot.model: dot.at for dot in line.dots} == pytest.approx(expected.loc[line.level].to_dict())
    shares, text = expected.mean(axis=1) / 100, decides(results, "main", MODELS).text
    assert f"With ‘{shares.idxmax()}’ {shares.max():.0%} of" in text
    assert f"with ‘{shares.idxmin()}’ {shares.min():.0%}." in text


def test_a_finding_that_has_nothing_to_say_is_not_shown(tmp_path):
    one = make_results(tmp_path, models=["alone"])
    assert "furthest" not in delta(one).text
    assert decides(one, "main", ["alone"])
    assert not differs(one, "main", gaps(one, "main", ["alone"]))
    codes = {
        pair: type(c)(c.flows[:2], np.full_like(c.answers[:2], 5), c.shown[:2], c.scale)
        for pair, c in one.codes.items()
    }
    norms = {pair: norms.head(2).assign(n_valid=2) for pair, norms in one.norms.items()}
    nothing = replace(one, norms=norms, codes=codes)
    assert "have no norm" in discarded(nothing).text


def test_the_models_that_differ_most_are_compared_with_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(agreement, "FEWEST_HALVED", 3)
    results = make_results(tmp_path)
    values = pd.DataFrame({model: results.held("main", model) for model in ("model-a", "model-c")}).dropna()
    found = gaps(results, "main", MODELS)
    assert not gaps(results, "main", [*MODELS, "another"]), "a table that compares only some of the models"
    assert found["model-a", "model-c"] == (len(values), pytest.approx((values.prod(axis=1) < 0).mean()))
    prompts, needs = wordings.template_numbers(results.prompts["main"]), results.study.thresholds("model-a")
    counts = wordings.level_counts(level_matrix(answers_of(results)), prompts, ACCEPTABILITY)
    own = agreement.halves(counts, needs, LEVELS)
    assert found["model-a", "model-a"].opposed == pytest.approx((own.prod(axis=1) < 0).mean())
    opposed, a, b = max((gap.opposed, a, b) for (a, b), gap in found.items() if a != b)
    said = differs(results, "main", found)
    assert said.text.startswith(f"{a} and {b}: of the ")
    reworded = "; ".join(
        f"{own} and itself in other wordings: {share(found[own, own].opposed, 1)}" for own in (a, b)
    )
    assert f"on {share(opposed, 1)} ({reworded})." in said.text


def test_what_agents_do_is_drawn_where_a_table_says_it(results, monkeypatch):
    ends = {"shares_given_no": 0.51, "shares_given_no_low": 0.46, "shares_given_no_high": 0.999}
    monkeypatch.setattr(page, "sharing", lambda results: ([{"model": "model-a", **ends}], ["model-a"]))
    text = render(results)
    assert "Actions that share a sensitive item in flows called unacceptable" in text
    assert "model-a: 51% (46% to over 99%)" in text
    assert "and do as agents in these tasks, not what is right" in text


def test_with_one_wording_nothing_is_said_of_other_words(results, monkeypatch):
    assert "In italics" in render(results)
    rows = [replace(row, templates=1) for row in standings(results)]
    monkeypatch.setattr(page, "standings", lambda results: rows)
    text = render(results)
    assert "In italics" not in text
    assert "say in this wording, not what they do" in text


def test_a_finding_can_be_pasted_as_the_page_says_it(results):
    pasted = page.findings(results).to_paste()
    assert pasted[0] == f"{Screen(results, standings(results)).headline}."
    assert len(pasted) > 2
    text, cited = (
        " ".join(Page(html).text.split()).casefold()
        for html in (render(results), appendix.render(results, COMMAND))
    )
    for said in pasted:
        assert said.casefold() in cited
        assert said.casefold().removeprefix("what decides: ").rstrip(".") in text


def test_every_colour_can_be_told_from_a_dark_page_and_the_text_on_it_read(results):
    rule = re.compile(r"\.(\S+) \{ background: (#\w+); .* color: (#\w+);")
    in_dark = {name: (colour, ink) for name, colour, ink in rule.findall(page._colours(results))}
    assert {"s0", "s20", "l-none"} <= in_dark.keys()
    for name, (colour, ink) in in_dark.items():
        assert contrast(colour, "#15171a") >= 3, name
        assert contrast(colour, ink) >= 4.5, name


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours (WCAG 2)."""
    luminance = []
    for colour in (one, other):
        parts = np.array(rgb(colour)) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        luminance.append(linear @ [0.2126, 0.7152, 0.0722] + 0.05)
    return float(max(luminance) / min(luminance))


# --- Explorer


def test_the_explorer_holds_norms_counts_and_answers(results):
    data = explorer_data(results)
    (arm, other) = data["arms"]
    assert [arm["name"], other["name"], data["main"]] == ["main", "one", "main"]
    assert [len(arm["variants"]), len(other["variants"])] == [6, 1]
    norms = results.norms["main", "model-c"]
    packed = next(model for model in arm["models"] if model["name"] == "model-c")
    raw = unpacked(packed["norms"])
    *counts, again = np.frombuffer(raw, "<u2", 840).reshape(7, 120)
    counts = np.array(counts)
    assert counts[0].tolist() == norms["n_asked"].tolist()
    assert counts[1:].T.tolist() == norms[tables.count_columns(LEVELS)].to_numpy().tolist()
    value = np.frombuffer(raw, "i1", 120, offset=1680)
    assert value.tolist() == norms["value"].fillna(127).tolist()
    status = np.frombuffer(raw, "i1", count=120, offset=1800)
    p_again = norms["share"].replace(1.0, 0.99999)
    assert again.tolist() == (10_000 * p_again).round().clip(upper=9_999).fillna(65_535).tolist()
    assert [tables.NORM_STATUSES[code] for code in status] == results.status("main", "model-c").tolist()
    answers = np.frombuffer(unpacked(packed["answers"]), "u1").reshape(6, 120).T
    assert (answers == results.codes["main", "model-c"].answers).all()
    assert len(arm["orders"]) == 1  # three models, the same orders
    texts = json.loads(unpacked(data["datasets"]["flows"]["texts"]))
    assert texts == list(results.vignettes["flows"]["vignette"])


def test_answers_beyond_what_a_page_can_hold_are_left_out_from_the_last(results):
    whole = explorer_data(results)["arms"]
    room = sum(len(pack) for pack in whole[0]["orders"]) + len(whole[0]["models"][0]["answers"])
    main, one = explorer_data(results, most_bytes=room)["arms"]
    assert [model["answers"] is None for model in main["models"]] == [False, True, True]
    assert one["models"][0]["answers"] is None


# --- Sections


def test_every_status_has_its_words():
    assert set(STATUS_LABELS) == set(tables.ANSWER_STATUSES) - {"ok"}


def test_tables_are_cut_rounded_and_taken_along_whole(results):
    (table,) = [t for part in sections(results, "make --") for t in part["tables"] if t["name"] == "counts"]
    assert [cell["text"] for cell in table["rows"][0]] == ["main", "cell", "0.1235", "1e-5"]
    assert table["rows"][0][2]["whole"] == "0.123456789"
    kept = base64.b64decode(table["data"]["href"].partition(",")[2])
    assert kept == (folder_of(results) / "tables/counts.csv").read_bytes()
    assert table["command"] == f"make -- {folder_of(results).as_posix()}/tables/counts.csv"


def test_a_drawing_loses_no_text_and_no_visible_digit():
    drawing = '<svg a="1.23456"><metadata>x</metadata><text>p = 0.98765 "q" #1</text></svg>'
    short = 'data:image/svg+xml,<svg a="1.23"><text>p = 0.98765 "q" #1</text></svg>'
    assert unquote(svg_address(drawing)) == short


def test_a_share_is_not_called_all_or_none_unless_it_is():
    shares = [share(1, 1000), share(999, 1000), share(0, 9), share(9, 9), share(1, 0)]
    assert shares == ["under 1%", "over 99%", "0%", "100%", "none"]


def test_a_link_is_read_back_as_it_was_meant(results):
    named = replace(results, labels={"m=1": "simulated"})
    found = parse_qs(named.link("a&b", ["simulated", "m 2"], rows="#x").partition("?")[2])
    assert found == {"arm": ["a&b"], "model": ["m=1", "m 2"], "rows": ["#x"]}


# --- The page


def test_nothing_hostile_becomes_a_tag_or_an_attribute(hostile):
    for text, scripts, images in ((render(hostile), 2, 0), (appendix.render(hostile, COMMAND), 1, 1)):
        page = Page(text)
        tags = [tag for tag, _ in page.tags]
        assert (tags.count("script"), tags.count("img")) == (scripts, images)
        assert not any(name.startswith("on") or name == "style" for _, given in page.tags for name in given)
        assert page.text.count(HOSTILE) > 20


def test_the_page_needs_no_network_and_says_so_to_the_browser(results):
    page = render(results)
    assert page == render(results), "the same study gives the same page"
    _needs_no_network(page, beside=True)
    _needs_no_network(appendix.render(results, COMMAND), beside=False)


def _needs_no_network(text: str, beside: bool) -> None:
    page = Page(text)
    given = [pair for _, attributes in page.tags for pair in attributes.items()]
    links = [value or "" for name, value in given if name in ("src", "href", "srcset", "data")]
    assert all(value.startswith(("data:", "#", "../", "index.html", "appendix.html")) for value in links)
    assert not [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "embed", "base")]
    (said,) = [
        given["content"] for _, given in page.tags if given.get("http-equiv") == "Content-Security-Policy"
    ]
    style, script = (re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("style", "script"))
    assert said == policy(style[1], script[1], beside=beside)
    assert "default-src 'none'" in str(said)
    assert "unsafe" not in str(said)


def test_the_script_never_makes_html_from_data(folder):
    makers = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function"
    for path in (folder / "workflow/lib/cinorms/report/templates").glob("report_*.js"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(makers, text)
        assert text.count("\n") < 250


def with_planted(results: StudyResults, planted: list[str]) -> StudyResults:
    models = results.study.plain()["models"]
    models = {name: {**model, "planted": name in planted} for name, model in models.items()}
    return replace(results, study=changed(results.study, models=models))


def test_planted_respondents_next_to_models_are_told_apart(results):
    text = " ".join(Page(appendix.render(with_planted(results, ["model-a"]), COMMAND)).text.split())
    assert "(no model gave their answers): model-a. The others are models." in text
    assert "The results of planted respondents say nothing about any real model" in text
    assert "0.50" in text, "what it cost"
    assert "I will not say" in text


@pytest.mark.parametrize(
    ("planted", "moment", "said"),
    [
        ([], "of the jobs", "2026-01-02 to 2026-01-03"),
        (["model-a"], "2026-01-02T10:00:00", "2026-01-02; no time is kept for the planted model-a"),
        (["model-a", "model-b", "model-c"], None, "no time is kept for planted respondents"),
    ],
)
def test_a_mixed_study_says_whose_answers_have_a_time(results, planted, moment, said):
    asked = [{**one, "first_reply": moment, "last_reply": moment} for one in results.provenance["asked"]]
    if moment == "of the jobs":
        runs = [{"started": "2026-01-02T10:00:00", "ended": "2026-01-03T01:00:00"}]
        asked = [{**one, "first_reply": None, "last_reply": None, "runs": runs} for one in asked]
    mixed = replace(with_planted(results, planted), provenance={**results.provenance, "asked": asked})
    assert dict(method.summary(mixed))["When"] == said


# --- What is said of a study


def test_what_a_card_says_does_not_change_with_figures_or_other_models(build_study):
    one, two = "planted-gpt-4o-mini", "planted-tulu-2-7b"

    def card(settings: dict[str, Any]) -> StudyMetadata:
        return metadata_for_cards(metadata_of(build_study(settings))).of_model(one)

    before = card({"models": [one]})
    assert before == card({"models": [one, two], "figures": {}})
    assert before != card({"models": [one], "norms": {"t_val": 7}})


# --- What both are made from


def test_page_and_cards_are_made_from_the_files_that_their_rules_name_wherever_they_are(tmp_path):
    folder, elsewhere = tmp_path / "study", tmp_path / "elsewhere"
    study = make_folder(folder)
    named = page_inputs_of(study, str(folder))
    before = render(read_page_results(study, named))
    moved: dict[str, list[str]] = {key: [] for key in named}
    for key, paths in named.items():
        for i, path in enumerate(map(Path, paths)):
            (elsewhere / key / str(i)).mkdir(parents=True)
            moved[key].append(str(path.rename(elsewhere / key / str(i) / path.name)))
    results = read_page_results(study, moved)
    assert len(render(results)) > 0.99 * len(before)
    assert appendix.render(results, COMMAND)
    assert results.files["cards"]["model-b", "json"].name == "model-b.json"
    assert results.files["figures"]["shares", "txt"].name == "shares.txt"
    of_cards = {key: moved[key] for key in card_inputs_of(study, "")}
    for model in MODELS:
        assert make_card(read_results(study, of_cards).of_model(model), model) == make_card(results, model)
    with pytest.raises(ValueError, match="shorter"):
        read_page_results(study, {**moved, "norms": moved["norms"][:-1]})


# --- Cards


def test_a_card_counts_what_the_norms_hold(results):
    card = make_card(results, "model-b")
    (main,) = card["arms"]
    held = results.held("main", "model-b")
    assert main["levels"] == {str(level): int((held == level).sum()) for level in range(-2, 3)}
    row = next(row for row in main["by_factor"] if row["level"] == "the police")
    flows = results.vignettes["flows"].query("recipient == 'the police'")["flow"]
    part = held[held.index.isin(flows)]
    assert (row["norms"], row["flows"], row["accepted"]) == (len(part), 24, int((part > 0).sum()))
    ends = (main["most_accepted"][0]["value"], main["least_accepted"][0]["value"])
    assert ends == (held.max(), held.min())
    numbers = {"mean_signed": 5.0, "mean_absolute": 9.0, "n": 10}
    assert main["delta"] == {**numbers, "status": "ok", "reason": None}
    assert json.loads(card_json(card)) == card


def test_a_card_lets_nothing_hostile_through(hostile):
    mark = "| [a](javascript:x) `b` *c* ![d](e)\n# f"
    card = make_card(hostile, "model-a")
    card["arms"][0]["prompts"] += mark
    text = card_markdown(card)
    assert "<" not in text
    assert escape(mark) in text
    assert escape(mark) == "\\| \\[a\\](javascript:x) \\`b\\` \\*c\\* \\!\\[d\\](e) # f"
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {3, 4, 6}
