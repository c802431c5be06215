"""Names in an analysis are looked up when the study is read; an entry carries what its kind needs."""

from __future__ import annotations

from typing import Any

import pytest

from cinorms.core.errors import ConfigError
from cinorms.vignettes.factors import default_factors

TULU = ["planted-tulu-2-7b", "planted-tulu-2-13b"]
REGRESSION = {"kind": "ordinal_regression", "arms": ["main"], "models": TULU}


@pytest.mark.parametrize(
    ("entry", "key", "parts"),
    [
        ({"factors": ["sendr"]}, "factors", ["'sendr'", "did you mean 'sender'"]),
        ({"factors": ["capacty"]}, "factors", ["'capacty'", "did you mean 'capacity'"]),
        ({"factors": ["template"]}, "factors", ["'template'", "allowed: "]),  # of responses only
        (
            {"baselines": {"sender": "a fitnes tracker"}},
            "baselines.sender",
            ["did you mean 'a fitness tracker'"],
        ),
        ({"baselines": {"recipent": "x"}}, "baselines", ["'recipent'", "did you mean 'recipient'"]),
        (
            {"factors": ["sender"], "baselines": {"recipient": "x"}},
            "baselines",
            ["'recipient'", "allowed: sender"],
        ),
        (
            {"factors": ["model"], "baselines": {"model": "planted-tulu-2-7"}},
            "baselines.model",
            ["did you mean 'planted-tulu-2-7b'"],
        ),
        (
            {"factors": ["capacity"], "baselines": {"capacity": 8}},
            "baselines.capacity",
            ["'8'", "allowed: 13, 7"],
        ),
        ({"models": ["planted-tulu-2"]}, "models", ["'planted-tulu-2'", "did you mean"]),
        ({"select": {"sender": ["a watch"]}}, "select.sender", ["'a watch'", "allowed: "]),
        ({"link": "logits"}, "link", ["'logits'", "did you mean 'logit'"]),
        ({"t_vall": 3}, "t_vall", ["did you mean 't_val'"]),
        ({"kind": "model_pairs", "factor": "size"}, "factor", ["'size'", "allowed: ", "capacity"]),
        (
            {"kind": "model_pairs", "factor": "alignment+quantization"},
            "factor",
            ["did you mean 'quantisation'"],
        ),
        ({"kind": "agreement_sets", "sets": {"two": ["planted-tulu-2-70b"]}}, "sets.two", ["did you mean"]),
        ({"kind": "model_contrasts", "factor": "paraphraser"}, "factor", ["model_pairs"]),
        (
            {"kind": "marginal_means", "factors": ["model"]},
            "factors",
            ["'model'", "allowed: information_type"],
        ),
    ],
)
def test_a_wrong_name_says_where_it_stands_and_what_is_allowed(
    build_study: Any, entry: dict[str, Any], key: str, parts: list[str]
) -> None:
    with pytest.raises(ConfigError) as error:
        build_study({"analyses": {"mine": REGRESSION | entry}, "figures": {}})
    message = str(error.value)
    assert message.startswith(f"study.yaml: analyses.mine.{key}: ")
    for part in parts:
        assert part in message


def test_an_attribute_that_a_model_does_not_have_cannot_be_regressed_on(build_study: Any) -> None:
    entry = {"kind": "ordinal_regression", "arms": ["main"], "factors": ["capacity"]}
    with pytest.raises(
        ConfigError, match=r"'capacity' of model 'planted-gpt-4o-mini' is not known.*analyses\.mine\.models"
    ):
        build_study({"analyses": {"mine": entry}, "figures": {}})


def test_right_names_pass(build_study: Any) -> None:
    entries = {
        "pooled": REGRESSION
        | {"factors": ["capacity", "sender"], "baselines": {"capacity": 7, "sender": "a door lock"}},
        "own": REGRESSION | {"baselines": {"sender": "a door lock"}},
        "responses": REGRESSION
        | {
            "kind": "response_regression",
            "baselines": {"template": 3, "position": 5},
            "errors": "flow_intercept",
        },
        "pairs": {"kind": "model_pairs", "arms": ["main"], "factor": "alignment+quantisation"},
    }
    study = build_study({"analyses": entries, "figures": {}})
    assert study.entry("analyses", "pooled")["attributes"][TULU[1]]["capacity"] == 13


def test_an_entrys_own_thresholds_go_before_the_studys(build_study: Any) -> None:
    study = build_study(
        {
            "norms": {"t_val_for": {TULU[0]: 4}},
            "analyses": {"none": REGRESSION | {"t_val": 0, "t_maj": 0.9}, "usual": REGRESSION},
            "figures": {},
        }
    )
    assert study.entry("analyses", "none")["t_val"] == dict.fromkeys(TULU, 0)
    assert study.entry("analyses", "none")["t_maj"] == 0.9
    usual = study.entry("analyses", "usual")
    assert usual["t_val"] == {TULU[0]: 4, TULU[1]: 10}
    assert 0 not in usual["t_vals"]
    assert 0.9 not in usual["t_majs"]
    assert usual["consensus"] == "strict"


def test_an_entry_carries_design_conditions_and_respondents(build_study: Any) -> None:
    study = build_study(
        {
            "models": ["tulu-2-7b", "planted-tulu-2-7b"],
            "arms": {"c": {"dataset": "confaide_2a", "prompts": "confaide", "temperature": 0.5}},
            "analyses": {"it": {"kind": "calibration", "arms": ["c"]}},
            "figures": {},
        }
    )
    entry = study.entry("analyses", "it")
    assert entry["respondents"] == [["c", "planted-tulu-2-7b"]]
    assert entry["design"]["c"]["linked"] == [["recipient", "transmission_principle"]]
    assert default_factors(entry["design"]["c"]) == ["information_type", "recipient + transmission_principle"]
    assert entry["conditions"]["c"]["temperature"] == 0.5
    assert entry["conditions"]["c"]["paraphraser"] == "confaide"
    stand_in = build_study({"models": ["tulu-2-7b"], "engine": "planted"}).entry("analyses", "calibration")
    assert stand_in["respondents"] == [["main", "tulu-2-7b"]]


@pytest.mark.parametrize("name", ["pets2026", "llm-ci2024", "demo-small"])
def test_the_studies_that_come_along_name_what_there_is(build_study: Any, folder: Any, name: str) -> None:
    from cinorms.core.validation import load_yaml

    study = build_study(load_yaml(folder / f"config/{name}.yaml"))
    for entry in study.settings["analyses"]:
        assert study.entry("analyses", entry)["selected"]
