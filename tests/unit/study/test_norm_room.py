"""Whether what is asked can make norms: by hand, for each model and arm, under each entry's own threshold."""

from typing import Any

import pytest

from cinorms.core.root import Root
from cinorms.core.yaml_files import load_yaml
from cinorms.inference.model_entry import ModelEntry
from cinorms.study.load import load_study
from cinorms.study.norm_room import norm_room, plan_warnings

from ...studies import ARM, PROJECT, default_layer

GPT, LLAMA = MODELS = ["planted-gpt-4o-mini", "planted-llama-3.1-8b"]
NINE = {**ARM, "templates": 3, "orders": {"count": 3}}
COUNTS = {"norms": {"kind": "norm_counts", "arms": ["main"]}}
#: A study in which no flow can hold a norm: nine variants where ten answers are needed.
SHORT = {"study": "s", "models": MODELS, "arms": {"main": NINE}, "analyses": COUNTS, "figures": {}}
FEWER = {"main": {**ARM, "templates_for": {LLAMA: 3}}}
TWO_ARMS = {"main": dict(ARM), "short": NINE}


def text(who: str, *entries: str, arm: str = "main") -> str:
    return (
        f"arms.{arm}: 9 variants per flow (3 wordings x 3 orders) for {who} are fewer than t_val (10), so no flow can "
        f"hold a norm (in {', '.join(['norms.csv', *entries])}); raise templates or orders.count, or lower t_val"
    )


def of_both(kind: str) -> dict[str, Any]:
    return {"kind": kind, "arms": ["main", "short"]}


@pytest.mark.parametrize(
    ("changes", "none_at_all", "texts"),
    [
        ({}, True, [text("every model", "norms")]),
        # What is tried in addition can be met.
        ({"norms": {"grid": {"t_val": [5, 10]}}}, False, [text("every model", "norms")]),
        # Each way out.
        ({"norms": {"t_val": 9}}, False, []),
        ({"arms": {"main": {**NINE, "templates": 4}}}, False, []),
        ({"arms": {"main": {**NINE, "orders": {"count": 4}}}}, False, []),
        (
            {"analyses": {"m": {"kind": "discarded_association", "arms": ["main"], "t_val": 9}}},
            False,
            [text("every model")],
        ),
        (
            {"analyses": {"m": {"kind": "discarded_association", "arms": ["main"], "t_val": 0}}},
            False,
            [text("every model")],
        ),
        # A kind that is in every study asks for norms where it states a threshold.
        (
            {
                "norms": {"t_val": 9},
                "analyses": {"a": {"kind": "agreement_pairs", "arms": ["main"], "t_val": 10}},
            },
            False,
            [text("every model", "a").replace("norms.csv, ", "")],
        ),
        # A model of its own.
        ({"arms": FEWER}, False, [text(LLAMA, "norms")]),
        ({"arms": FEWER, "norms": {"t_val_for": {LLAMA: 9}}}, False, []),
        # Only a warning where no analysis reads norms: norms.csv and the report have no norm.
        (
            {"analyses": {"a": {"kind": "answer_counts", "arms": ["main"]}}},
            False,
            [text("every model")],
        ),
        (
            {"arms": FEWER, "analyses": {"a": {"kind": "answer_counts", "arms": ["main"]}}},
            False,
            [text(LLAMA)],
        ),
        ({"arms": TWO_ARMS, "analyses": COUNTS}, False, [text("every model", arm="short")]),
        (
            {"arms": TWO_ARMS, "analyses": {"both": of_both("norm_counts")}},
            False,
            [text("every model", "both", arm="short")],
        ),
        # Figures read norms, too.
        (
            {"analyses": {}, "figures": {"fig": {"kind": "norms", "arms": ["main"], "first": 1}}},
            True,
            [text("every model", "fig")],
        ),
    ],
)
def test_too_few_variants_are_told_by_arm_and_model(build_study, changes, none_at_all, texts):
    assert norm_room(build_study(SHORT | changes)) == (texts, none_at_all)


def test_the_plan_warns_of_old_prices(build_study, monkeypatch):
    monkeypatch.setattr(ModelEntry, "old_price", lambda entry: entry.name if "gpt" in entry.name else "")
    assert plan_warnings(build_study(SHORT | {"norms": {"t_val": 9}})) == [GPT]


def test_the_plan_warns_of_too_few_variants_and_of_a_model_that_ends(build_study, monkeypatch):
    monkeypatch.setattr(ModelEntry, "ending", lambda entry: entry.name if "gpt" in entry.name else None)
    warnings = plan_warnings(build_study(SHORT))
    assert warnings == ["No norm can be held.", text("every model", "norms"), GPT]
    assert plan_warnings(build_study(SHORT | {"norms": {"t_val": 9}})) == [GPT]


@pytest.mark.parametrize("path", sorted((PROJECT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_study_of_this_repository_can_hold_norms(path):
    if path.stem != "models":
        study = load_study({**default_layer(), path.name: load_yaml(path)}, Root(PROJECT))
        assert not norm_room(study).none_at_all
