"""What the page says of the engine itself, from tables made here; what is not known is never called 0."""

from pathlib import Path
from typing import Any

import pandas as pd

from cinorms.report.findings import repeatability
from cinorms.report.results import StudyResults
from cinorms.study.facts import EntryFacts, StudyFacts

from ...study_facts import facts

AGAIN = {
    "arm": "main",
    "model": "m",
    "what": "engine",
    "answers_differ": 0.021,
    "conf_low": 0.018,
    "conf_high": 0.024,
    "norms_differ": 0.004,
    "status": "ok",
}
PAIR = {"arm_a": "main", "model_a": "m", "arm_b": "hot", "model_b": "m", "engine_status": "not_above"}


def results(folder: Path, **tables: list[dict[str, Any]]) -> StudyResults:
    kinds = {"again": "repeatability", "contrasts": "model_contrasts"}
    entries = {
        name: facts(EntryFacts, kind=kinds[name], meanings=dict.fromkeys(rows[0], ""))
        for name, rows in tables.items()
    }
    for name, rows in tables.items():
        pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)
    files = {name: folder / f"{name}.csv" for name in tables}
    return StudyResults(facts(StudyFacts, analyses=entries), {}, {}, {}, {}, {}, {"tables": files})


def test_a_study_without_the_table_says_nothing(tmp_path):
    assert repeatability(results(tmp_path, contrasts=[PAIR])) is None


def test_the_largest_share_its_interval_and_the_contrasts_within_it(tmp_path):
    other = {**AGAIN, "model": "n", "answers_differ": 0.001, "conf_low": 0, "conf_high": 0.002}
    above = {**PAIR, "model_a": "n", "model_b": "n", "engine_status": "above"}
    number, text = repeatability(results(tmp_path, again=[other, AGAIN], contrasts=[PAIR, above])) or ("", "")
    assert number == "2.1%"
    assert "m in arm main changed most: of its answers, 2.1% changed to another level" in text
    assert "(95% interval 1.8% to 2.4%), and of its norms 0.4%" in text
    assert "Table contrasts: 1 of 2 contrasts (m (main) and m (hot)) are no larger" in text
    assert "sampling" not in text


def test_sampling_is_named_where_it_is_part_of_the_share(tmp_path):
    _, text = repeatability(results(tmp_path, again=[{**AGAIN, "what": "engine_and_sampling"}])) or ("", "")
    assert "Answers of m (main) are drawn at random, so sampling is part of that share." in text


def test_where_nothing_was_asked_again_the_share_is_not_known(tmp_path):
    once = {**dict.fromkeys(AGAIN), "arm": "main", "model": "m", "status": "not_repeated"}
    number, text = repeatability(results(tmp_path, again=[once])) or ("", "")
    assert number == "not known"
    assert "is not known" in text


def test_contrasts_of_arms_that_were_asked_once_say_so(tmp_path):
    alone = {**PAIR, "engine_status": "not_repeated"}
    _, text = repeatability(results(tmp_path, again=[AGAIN], contrasts=[alone])) or ("", "")
    assert "Table contrasts: no side of a contrast was asked again" in text
