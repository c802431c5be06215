"""An entry of a study carries everything that its kind needs."""

import json

import pandas as pd

from cinorms.core.sealing import write_tidy
from cinorms.entries.entry import ENTRIES
from cinorms.entries.files import make
from cinorms.norms.thresholds import Thresholds
from cinorms.study.entries import make_entry
from cinorms.vignettes.factors import default_factors

TULU = ["planted-tulu-2-7b", "planted-tulu-2-13b"]
REGRESSION = {"kind": "ordinal_regression", "arms": ["main"], "models": TULU}


def test_an_entrys_own_thresholds_go_before_the_studys(build_study):
    study = build_study(
        {
            "norms": {"t_val_for": {TULU[0]: 4}},
            "analyses": {"none": REGRESSION | {"t_val": 0, "t_maj": 0.9}, "usual": REGRESSION},
            "figures": {},
        }
    )
    assert make_entry(study, "analyses", "none").thresholds == dict.fromkeys(
        TULU, Thresholds(0, 0.9, "strict")
    )
    usual = make_entry(study, "analyses", "usual")
    assert usual.thresholds == {TULU[0]: Thresholds(4, 0.5, "strict"), TULU[1]: Thresholds(10, 0.5, "strict")}
    assert 0 not in {under.t_val for under in usual.grid}
    assert 0.9 not in {under.t_maj for under in usual.grid}
    assert (
        ENTRIES.validate_python(
            json.loads(json.dumps(ENTRIES.dump_python(usual, mode="json", exclude_defaults=True)))
        )
        == usual
    )


def test_an_entry_carries_design_conditions_and_respondents(build_study):
    study = build_study(
        {
            "models": ["tulu-2-7b", "planted-tulu-2-7b"],
            "arms": {"c": {"dataset": "confaide_2a", "prompts": "confaide", "temperature": 0.5}},
            "analyses": {"it": {"kind": "calibration", "arms": ["c"]}},
            "figures": {},
        }
    )
    entry = make_entry(study, "analyses", "it")
    assert entry.respondents == (("c", "planted-tulu-2-7b"),)
    assert entry.factors_of["c"].linked == (("recipient", "transmission_principle"),)
    assert default_factors(entry.factors_of["c"]) == [
        "information_type",
        "recipient + transmission_principle",
    ]
    assert entry.conditions["c"]["temperature"] == 0.5
    assert entry.conditions["c"]["paraphraser"] == "confaide"
    stand_in = make_entry(
        build_study({"models": ["tulu-2-7b"], "engine": "planted"}), "analyses", "calibration"
    )
    assert stand_in.respondents == (("main", "tulu-2-7b"),)


def test_a_printed_table_calls_models_by_their_labels(build_study, tmp_path):
    one, other, named = *TULU, "tulu-2-7b"
    discarded = {"kind": "discarded", "from": ["it"], "models": [other, named, one]}
    study = build_study(
        {
            "models": [*TULU, named],
            "analyses": {"it": {"kind": "discarded", "arms": ["main"]}},
            "figures": {},
            "printed": {
                "all": {"kind": "models"},
                "few": {**discarded, "t_val": [10], "t_val_for": {one: [15]}},
            },
        }
    )
    labels = [study.registry[model].get("label") for model in (other, one)]
    rows = pd.DataFrame({"model": [named, one, other], "arm": "main", "t_maj": "0.5", "flows": 9, "of": 9})
    rows = pd.concat([rows.assign(t_val=t_val, below_t_val=0, discarded=0) for t_val in (10, 15)])
    write_tidy(rows.assign(any_planted=True), tmp_path / "it.parquet", tmp_path / "it.csv")
    shown = make(make_entry(study, "printed", "few"), {"frames": [str(tmp_path / "it.parquet")]})
    assert [tuple(map(str, row[:2])) for group in shown.groups for row in group.rows] == [
        (labels[0], "10"),
        (named, "10"),
        (labels[1], "15"),
    ]
    assert labels[0] in shown.notes[-1]
    models = make(make_entry(study, "printed", "all"), {})
    assert [str(row[0]) for row in models.groups[0].rows] == [labels[1], labels[0], named]
