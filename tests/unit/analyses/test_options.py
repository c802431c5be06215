"""Options of analyses: the names in them are looked up when the study is read."""

import re

import pytest

from cinorms.core.errors import ConfigError
from cinorms.study.entries import make_entry

TULU = ["planted-tulu-2-7b", "planted-tulu-2-13b"]
REGRESSION = {"kind": "ordinal_regression", "arms": ["main"], "models": TULU}
FACTORS = "information_type, recipient, sender, subject, transmission_principle"
MODEL, CAPACITY = {"factors": ["model"]}, {"factors": ["capacity"]}


@pytest.mark.parametrize(
    ("kind", "stated", "message"),
    [
        ("", {"factors": ["sendr"]}, "factors: 'sendr' ... did you mean 'sender'"),
        ("", {"factors": ["capacty"]}, "factors: 'capacty' ... did you mean 'capacity'"),
        ("", {"baselines": {"sender": "a fitnes tracker"}}, "baselines.sender: ... 'a fitness tracker'"),
        ("", {"baselines": {"recipent": "x"}}, "baselines: 'recipent' ... did you mean 'recipient'"),
        ("", {**MODEL, "baselines": {"model": "tulu-2"}}, "baselines.model: ... allowed: planted"),
        ("", {**CAPACITY, "baselines": {"capacity": 8}}, "baselines.capacity: '8' ... : 13, 7"),
        (
            "ordinal_regression",
            CAPACITY,
            "factors: 'capacity' of model 'planted-gpt-4o-mini' ... mine.models",
        ),
        ("model_pairs", {"factor": "size"}, "factor: 'size' ... allowed: ... capacity"),
        ("model_pairs", {"factor": "alignment+quantization"}, "factor: ... did you mean 'quantisation'"),
        ("model_contrasts", {"factor": "paraphraser"}, "factor: ... model_pairs"),
        ("agreement_sets", {"sets": {"two": ["planted-tulu-2-70b"]}}, "sets.two: ... did you mean"),
        ("marginal_means", MODEL, f"factors: 'model' ... allowed: {FACTORS}"),
        ("delta", {"by": ["sendr"]}, f"by: 'sendr' is not a factor of arm 'main'; ... allowed: {FACTORS}"),
        ("delta", {"expected": "nothing.csv"}, "expected: there is no file 'nothing.csv'"),
    ],
)
def test_what_an_entry_cannot_state_is_refused_with_what_is_allowed(build_study, kind, stated, message):
    entry = ({"kind": kind, "arms": ["main"]} if kind else REGRESSION) | stated
    parts = f"study.yaml: analyses.mine.{message}".split(" ... ")
    with pytest.raises(ConfigError, match="^" + ".*".join(map(re.escape, parts))):
        build_study({"analyses": {"mine": entry}, "figures": {}})


def test_right_names_pass(build_study):
    baselines = {"capacity": 7, "sender": "a door lock"}
    entries = {
        "pooled": {**REGRESSION, "factors": ["capacity", "sender"], "baselines": baselines},
        "own": {**REGRESSION, "baselines": {"sender": "a door lock"}},
        "pairs": {"kind": "model_pairs", "arms": ["main"], "factor": "alignment+quantisation"},
    }
    study = build_study({"analyses": entries, "figures": {}})
    assert make_entry(study, "analyses", "pooled").attributes[TULU[1]]["capacity"] == 13
