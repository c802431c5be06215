"""An entry of a study carries everything that its kind needs."""

import json

from cinorms.entries.entry import ENTRIES
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
