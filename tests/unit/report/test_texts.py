"""What a page and its cards say to readers, whole: one text for each kind of study, in ``expected/``.

A number of these texts is wrong in the tests that compute it; a sentence that is wrong, or about the wrong respondent,
shows only where somebody reads it. So read a text again, sentence by sentence, before you accept a change of it: delete
the file, and the test writes it.
"""

import html
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.core.version import version
from cinorms.norms.assessment import assess
from cinorms.norms.thresholds import norm_needs
from cinorms.prompts.variants import list_variants
from cinorms.report import appendix
from cinorms.report.cards import card_markdown, make_card
from cinorms.report.closing import closing_words, where_results_are
from cinorms.report.description import metadata_of
from cinorms.report.page import render
from cinorms.report.results import StudyResults, encode
from cinorms.stats.flow_dependence import VERDICTS

from ...scales import ACCEPTABILITY, ORDERS
from ...studies import arm
from ...study_folder import ALWAYS, COMMAND, always, folder_of, make_results
from ...study_metadata import changed

EXPECTED = Path(__file__).parent / "expected"
#: Each kind of study, with the respondents whose cards its text has.
KINDS = {"models": ["model-a"], "planted": ["model-b"], "people": ["people", "model-b"], "people-alone": []}
SURVEY = {"source": "human", "people": "6 readers of a newspaper", "prompts": "Survey of readers"} | {
    "models": ["people"],
    "layouts": {"people": "single"},
}
READERS = {"engine": "human", "family": "people", "planted": False, "arms": ["people"]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_of_each_kind_says_what_its_expected_text_says(kind, tmp_path):
    results = MADE[kind](make_results(tmp_path, models=["model-a", "model-b"]))
    closing = where_results_are({"Report": ["report/index.html"]}, ["report/index.html"], results.study.mark)
    cards = [card_markdown(make_card(results, model)) for model in KINDS[kind]]
    page = render(results)
    pages = [_text(page, 'id="explorer"', "<header>"), _text(page, "<footer>", 'id="sure"')]
    pages.append(_text(appendix.render(results, COMMAND), 'aria-labelledby="answers"'))
    said = "\n\n".join([*pages, closing.strip(), *map(_shortened, cards)]) + "\n"
    said = said.replace(version(), "VERSION")
    file = EXPECTED / f"{kind}.txt"
    if not file.exists():
        file.write_text(said, encoding="utf-8")
        pytest.fail(f"{file} is new: read it, sentence by sentence")
    assert said == file.read_text(encoding="utf-8")


def test_the_study_of_these_tests_has_the_keys_that_every_description_has(build_study, tmp_path):
    described, made = metadata_of(build_study()).plain(), make_results(tmp_path).study.plain()
    assert set(made) == set(described)
    assert set(made["arms"]["main"]) == set(described["arms"]["main"])


def _models(results: StudyResults) -> StudyResults:
    models = {name: {**model, "planted": False} for name, model in results.study.plain()["models"].items()}
    results = replace(results, study=changed(results.study, models=models))
    return _with_dependence(results, "depends", "no_dependence")


def _with_dependence(results: StudyResults, *verdicts: str) -> StudyResults:
    """Return the study with a table of whose answers depend on the flow."""
    rows = pd.DataFrame({"model": ["model-a", "model-b"], "p": [0.001, 0.4], "share": [0.5, 0.0]})
    rows = rows.assign(arm="main", flows=120, valid=[0.89, 0.91], verdict=verdicts)
    rows["verdict_text"] = rows["verdict"].map(VERDICTS)
    return with_table(results, "flow_dependence", "flow_dependence", rows)


def with_table(results: StudyResults, name: str, kind: str, table: pd.DataFrame) -> StudyResults:
    path = folder_of(results) / f"tables/{name}.csv"
    table.to_csv(path, index=False)
    analyses = results.study.plain()["analyses"]
    analyses[name] = {**analyses["counts"], "kind": kind, "arms": list(results.study.arms)}
    return replace(
        results,
        study=changed(results.study, analyses=analyses),
        files={**results.files, "tables": {**results.files["tables"], name: path}},
    )


def _people(results: StudyResults) -> StudyResults:
    """Return the study of models with an arm of people, and how far the models are from them."""
    results = _with_readers(_models(results))
    usual = {"arm": "main", "baseline": "people", "status": "ok"}
    numbers = {"estimate": 1.334, "conf_low": 1.2, "conf_high": 1.466, "ceiling_all": 0.25, "n_flows": 1234}
    distances = pd.DataFrame({"model": ["model-a", "model-b"]})
    distances = distances.assign(metric="rms", verdict="farther", **usual, **numbers)
    results = with_table(results, "distances", "people_distances", distances)
    verdicts = ["model higher"] * 3 + ["model lower"] + ["no difference shown"] * 2
    means = dict.fromkeys(("people_mean", "model_mean", "difference", "conf_low", "conf_high"), 0.5)
    flows = pd.DataFrame({"flow": range(6), "verdict": verdicts})
    flows = flows.assign(n_raters=4, model="model-b", **usual, **means)
    return with_table(results, "flows", "people_flows", flows)


def _with_readers(results: StudyResults, alone: bool = False) -> StudyResults:
    """Return the study with an arm in which six people each rated the first flow, and two of three others.

    ``alone``: the tables that every study has are about these people.
    """
    vignettes = results.vignettes["flows"]
    flow, rater = np.nonzero(np.add.outer(np.arange(120), np.arange(6)) % 3 | (np.arange(120) == 0)[:, None])
    prompts = list_variants("survey", [f"Is it fine? {{scenario}} ({i})" for i in range(6)], 6, 1)
    level = np.clip(vignettes["principle"].cat.codes.to_numpy()[flow] // 2 - 1 + (rater > 3), -2, 2)
    answers = pd.DataFrame({"flow": flow.astype(np.int32)}).assign(
        status=pd.Categorical(["ok"] * len(flow)),
        variant=pd.Categorical.from_codes(rater, list(prompts["variant"])),
        order=pd.Categorical([None] * len(flow), list(ORDERS)),
        level=pd.array(level, "Int8"),
    )
    study, who = results.study.plain(), ("people", "people")
    if alone:
        for kind, table in always("people", {"people": answers}, vignettes, prompts, people=True).items():
            results = with_table(results, kind, kind, table)
    told = {
        "arms": {**study["arms"], "people": {**study["arms"]["main"], **SURVEY}},
        "models": {**study["models"], "people": READERS},
        "t_val": {**study["t_val"], "people": 3},
    }
    return replace(
        results,
        study=changed(results.study, **told),
        norms={**results.norms, who: assess(answers, "strict", ACCEPTABILITY)},
        codes={**results.codes, who: encode(answers, prompts, ACCEPTABILITY)},
        prompts={**results.prompts, "people": prompts},
    )


def _people_alone(results: StudyResults) -> StudyResults:
    results = _with_readers(results, alone=True)
    arms, models = ({"people": results.study.plain()[part]["people"]} for part in ("arms", "models"))
    analyses = {
        kind: {**results.study.plain()["analyses"][kind], "arms": ["people"], "models": ["people"]}
        for kind in ALWAYS
    }
    kept = {"arms": arms, "models": models, "analyses": analyses, "figures": {}, "t_val": {"people": 3}}
    who = ("people", "people")
    return replace(
        results,
        study=changed(results.study, **kept),
        norms={who: results.norms[who]},
        codes={who: results.codes[who]},
        files={**results.files, "cards": {}},
        reviews={},
    )


#: What makes each kind of study of the small planted one.
MADE: dict[str, Callable[[StudyResults], StudyResults]] = {
    "models": _models,
    "planted": lambda results: _with_dependence(results, "depends", "depends_few"),
    "people": _people,
    "people-alone": _people_alone,
}


def _text(page: str, until: str, start: str = "<h1>") -> str:
    """Return what a part of a page says, a line for each paragraph; without drawings, figures and tables of data."""
    part = page[page.index(start) : page.index(until)]
    part = re.sub(r"<nav.*?</nav>|<title>.*?</title>|<details.*?</details>", "", part, flags=re.DOTALL)
    part = re.sub(r"\s+", " ", part.rpartition("</")[0].partition("<")[2])
    part = re.sub(r"</dt>", ": ", re.sub(r"</(?:p|h\d|dd|tr|table)>|</div>", "\n", part))
    lines = html.unescape(re.sub(r"<[^>]*>", "", "<" + part)).splitlines()
    return "\n".join(line.strip() for line in lines if line.strip())


def _shortened(card: str) -> str:
    """Return a card with at most the first two rows of each table."""
    return re.sub(r"(?m)((?:^\|.*\n){4})(?:^\|.*\n)+", r"\1", card).strip()


# --- Closing words name what a run made, and nothing else

PLACES = {
    "Comparison": ["results/s/index.html"],
    "Report": ["results/s/report/index.html"],
    "Tables": [f"results/s/tables/{name}.csv" for name in "abcde"],
    "Figures": ["results/s/figures/x.png", "results/s/figures/y.png"],
}


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        (["results/s/answers/main/m.parquet"], []),
        (PLACES["Tables"], ["Tables  results/s/tables/"]),
        (PLACES["Tables"][:2], ["Tables  results/s/tables/a.csv, results/s/tables/b.csv"]),
        (
            ["results/s/index.html", *PLACES["Figures"]],
            ["Comparison  results/s/index.html", "Figures     results/s/figures/"],
        ),
    ],
)
def test_only_what_this_run_made_is_named(made, lines):
    words = where_results_are(PLACES, made, "Planted.")
    assert [line.strip() for line in words.splitlines() if line] == (lines and [*lines, "Planted."])


def test_responses_that_were_not_matched_are_named_where_there_are_any(build_study, tmp_path):
    taken = arm(source="responses", response_files="{model}.csv", response_format="plain")
    study = build_study({**taken, "models": ["planted-uniform", "planted-refusing"]})
    files = [tmp_path / f"responses/{name}/{model}.unmatched.csv" for name, model in study.pairs("responses")]
    for file, lines in zip(files, ("reason\n", "reason\nextra\n"), strict=True):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(lines)
    words = closing_words(study, str(tmp_path), list(map(str, files)), [])
    assert f"Not matched  {files[1]}" in words
    assert str(files[0]) not in words


def test_what_a_norm_needs_names_the_models_that_need_another_number():
    half = "at least 30 valid answers (9 for b); at least 50% of them must agree"
    assert norm_needs({"a": 30, "b": 9, "c": 30}, 0.5) == half
    most = "at least 30 valid answers; it is the level with the most answers, majority or not"
    assert norm_needs({"a": 30}, "plurality") == most
    assert norm_needs({"a": 1}, 0.5) == "at least 1 valid answer; at least 50% of them must agree"
