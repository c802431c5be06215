"""Options of analyses: the names in them are looked up when the study is read."""

from __future__ import annotations

from typing import Any

import pytest

from cinorms.core.errors import ConfigError
from cinorms.core.validation import check
from cinorms.entries.registry import kinds
from cinorms.study.entries import make_entry

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
    assert make_entry(study, "analyses", "pooled").attributes[TULU[1]]["capacity"] == 13


@pytest.mark.parametrize(
    ("kind", "defaults"),
    [
        ("ordinal_regression", {"link": "logit", "estimator": "newton"}),
        ("proportional_odds", {"link": "logit"}),
        ("response_regression", {"link": "logit", "errors": "clustered"}),
        ("model_tests", {"test": "chosen"}),
        ("model_pairs", {"test": "chosen", "zero_method": "wilcox"}),
        ("normality", {}),
        ("model_contrasts", {"flows": "sample"}),
        ("agreement_pairs", {}),
        ("agreement_sets", {}),
        ("calibration", {}),
        ("calibration_coefficients", {}),
    ],
)
def test_what_is_left_out_has_its_default(kind: str, defaults: dict[str, Any]) -> None:
    options = kinds("analyses")[kind].options(arms=("main",))
    assert options.model_dump(exclude_none=True) == {"arms": ("main",), **defaults}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"baselines": {"sender": True}}, "baselines.sender: True is neither text nor a number"),
        ({"t_maj": 2}, "t_maj: 2 is not allowed; allowed: a number (more than 0, at most 1) or plurality"),
        ({"t_val": -1}, "t_val: -1 is out of range; allowed: at least 0"),
        ({"factors": []}, "factors: it has 0 entries; allowed: at least 1"),
        ({"kind": "agreement_sets", "sets": {"a": []}}, "sets.a: it has 0 entries; allowed: at least 1"),
        ({"kind": "agreement_sets", "sets": {}}, "sets: it has 0 entries; allowed: at least 1"),
        (
            {"kind": "model_pairs", "zero_method": "prat"},
            "zero_method: 'prat' is not allowed; allowed: pratt,",
        ),
    ],
)
def test_a_value_out_of_bounds_is_named_with_what_is_allowed(entry: dict[str, Any], message: str) -> None:
    stated = {"kind": "ordinal_regression", "arms": ["main"], **entry}
    options = kinds("analyses")[stated.pop("kind")].options
    with pytest.raises(ConfigError) as error:
        check(stated, options, "study.yaml", prefix="analyses.it")
    assert str(error.value).startswith(f"study.yaml: analyses.it.{message}")
