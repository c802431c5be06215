"""An entry of a study carries everything that its kind needs."""

import json

import pandas as pd

from cinorms.core.checksums import write_tidy
from cinorms.entries.entry import ENTRIES
from cinorms.entries.files import make
from cinorms.norms.thresholds import Thresholds
from cinorms.report.description import metadata_of
from cinorms.study.entries import make_entry
from cinorms.vignettes.factors import default_factors

ONE, OTHER = TULU = ["planted-tulu-2-7b", "planted-tulu-2-13b"]
REGRESSION = {"kind": "ordinal_regression", "arms": ["main"], "models": TULU}


def test_an_entrys_own_thresholds_go_before_the_studys(build_study):
    analyses = {"none": REGRESSION | {"t_val": 0, "t_maj": 0.9}, "usual": REGRESSION}
    study = build_study({"norms": {"t_val_for": {ONE: 4}}, "analyses": analyses, "figures": {}})
    none, usual = (make_entry(study, "analyses", name) for name in analyses)
    assert none.thresholds == dict.fromkeys(TULU, Thresholds(0, 0.9, "strict"))
    assert usual.thresholds == {ONE: Thresholds(4, 0.5, "strict"), OTHER: Thresholds(10, 0.5, "strict")}
    assert usual.grid == tuple(
        Thresholds(t_val, t_maj, "strict")
        for t_val in study.thresholds()[0]
        for t_maj in study.thresholds()[1]
    )
    # As a rule's parameter.
    plain = json.dumps(ENTRIES.dump_python(usual, mode="json", exclude_defaults=True))
    assert ENTRIES.validate_python(json.loads(plain)) == usual


def test_an_entry_carries_design_conditions_and_respondents(build_study):
    arm = {"dataset": "confaide_2a", "prompts": "confaide", "temperature": 0.5}
    analyses = {"it": {"kind": "calibration", "arms": ["c"]}}
    study = build_study(
        {"models": ["tulu-2-7b", ONE], "arms": {"c": arm}, "analyses": analyses, "figures": {}}
    )
    entry = make_entry(study, "analyses", "it")
    assert entry.respondents == (("c", ONE),)
    linked = ("recipient", "transmission_principle")
    assert entry.factors_of["c"].linked == (linked,)
    assert default_factors(entry.factors_of["c"]) == ["information_type", " + ".join(linked)]
    conditions = entry.conditions["c"]
    assert (conditions["temperature"], conditions["paraphraser"]) == (0.5, "confaide")
    stand_in = build_study({"models": ["tulu-2-7b"], "engine": "planted"})
    assert make_entry(stand_in, "analyses", "calibration").respondents == (("main", "tulu-2-7b"),)


def test_what_all_labels_of_a_figure_share_is_once_in_its_title(build_study):
    every = {"kind": "distribution", "arms": ["main"]}
    figures = {"two": {**every, "models": TULU, "title": "It"}, "untitled": {**every, "models": TULU}}
    figures["every"] = {**every, "title": "It"}  # a model without a label among them
    study = build_study({"models": [*TULU, "tulu-2-7b"], "analyses": {}, "figures": figures})
    made = [make_entry(study, "figures", name) for name in figures]
    assert [entry.options.title for entry in made] == ["It (simulated)", None, "It"]
    metadata = metadata_of(study)
    assert [metadata.figures[name].title for name in figures] == ["It (simulated)", "", "It"]
    whole = ["simulated C (tulu-like)", "simulated D (tulu-like)"]
    short = ["C (tulu-like)", "D (tulu-like)"]
    assert [list(entry.labels.values()) for entry in made] == [short, whole, whole]


def test_a_printed_table_calls_models_by_their_labels(build_study, tmp_path):
    named = "tulu-2-7b"
    few = {"kind": "discarded", "from": ["it"], "models": [OTHER, named, ONE]}
    study = build_study(
        {
            "models": [*TULU, named],
            "analyses": {"it": {"kind": "discarded", "arms": ["main"]}},
            "figures": {},
            "printed": {"all": {"kind": "models"}, "few": {**few, "t_val": [10], "t_val_for": {ONE: [15]}}},
        }
    )
    one, other = (study.registry[model].get("label") for model in TULU)
    rows = pd.DataFrame({"model": [named, ONE, OTHER], "arm": "main", "t_maj": "0.5", "flows": 9, "of": 9})
    rows = pd.concat([rows.assign(t_val=t_val, below_t_val=0, discarded=0) for t_val in (10, 15)])
    write_tidy(rows.assign(any_planted=True), tmp_path / "it.parquet", tmp_path / "it.csv")
    shown = make(make_entry(study, "printed", "few"), {"frames": [str(tmp_path / "it.parquet")]})
    cells = [tuple(map(str, row[:2])) for group in shown.groups for row in group.rows]
    assert cells == [(other, "10"), (named, "10"), (one, "15")]
    assert other in shown.notes[-1]
    models = make(make_entry(study, "printed", "all"), {})
    assert [str(row[0]) for row in models.groups[0].rows] == [one, other, named]


def test_a_study_that_names_no_entry_of_a_kind_for_every_study_has_it_of_all_arms(build_study):
    arms = {name: {"dataset": "coppa", "prompts": "chatgpt"} for name in ("one", "two")}
    named = {"mine": {"kind": "answer_counts", "arms": ["two"]}}
    study = build_study({"arms": arms, "analyses": named, "figures": {}})
    assert study.entries["analyses"]["consistency"].arms == ("one", "two")
    usual = build_study({"arms": {"main": arms["one"], "two": arms["two"]}}).entries["analyses"]
    assert {
        options.arms for options in usual.values() if options.kind in ("consistency", "agreement_pairs")
    } == {("main", "two")}
    own = {"own": {"kind": "consistency", "arms": ["two"]}}
    stated = build_study({"arms": arms, "analyses": named | own, "figures": {}}).entries["analyses"]
    assert [name for name, options in stated.items() if options.kind == "consistency"] == ["own"]
