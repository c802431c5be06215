"""Whether what is asked can make norms: by hand, for each model and arm, under each entry's own threshold."""

from pathlib import Path
from typing import Any

import pytest

from cinorms.core.root import Root
from cinorms.core.yaml_files import load_yaml
from cinorms.inference.model_entry import ModelEntry
from cinorms.study.load import load_study
from cinorms.study.norm_room import norm_room, plan_warnings

from ...studies import ARM, PROJECT, default_layer

COUNTS = {"kind": "norm_counts", "arms": ["main"]}


def study(arms: dict[str, Any], analyses: dict[str, Any], **more: Any) -> dict[str, Any]:
    models = ["planted-gpt-4o-mini", "planted-llama-3.1-8b"]
    made = {"study": "s", "models": models, "arms": arms, "analyses": analyses, "figures": {}}
    return {**made, **more}


def nine(**changes: Any) -> dict[str, Any]:
    return {**ARM, "templates": 3, "orders": {"count": 3}, **changes}


def test_nine_variants_hold_no_norm_where_ten_answers_are_needed(build_study):
    room = norm_room(build_study(study({"main": nine()}, {"norms": COUNTS})))
    assert room.none_at_all
    assert room.texts == [
        "arms.main: 9 variants per flow (3 wordings x 3 orders) for every model are fewer than t_val (10), so no "
        "flow can hold a norm (in norms); raise templates or orders.count, or lower t_val"
    ]


def test_the_plan_warns_of_too_few_variants_and_of_a_model_that_ends(build_study, monkeypatch):
    made = build_study(study({"main": nine()}, {"norms": COUNTS}))
    monkeypatch.setattr(ModelEntry, "ending", lambda entry: entry.name if "gpt" in entry.name else None)
    assert plan_warnings(made) == [
        "No norm can be held.",
        *norm_room(made).texts,
        "planted-gpt-4o-mini",
    ]
    enough = build_study(study({"main": nine(templates=4)}, {"norms": COUNTS}))
    assert plan_warnings(enough) == ["planted-gpt-4o-mini"]


@pytest.mark.parametrize(
    "changes",
    [
        {"norms": {"t_val": 9}},
        {"arms": {"main": nine(templates=4)}},
        {"arms": {"main": nine(orders={"count": 4})}},
        {"analyses": {"minority": {"kind": "minority", "arms": ["main"], "t_val": 9}}},
        {"analyses": {"minority": {"kind": "minority", "arms": ["main"], "t_val": 0}}},
    ],
)
def test_each_way_out_of_it_is_one(build_study, changes):
    assert norm_room(build_study(study({"main": nine()}, {"norms": COUNTS}) | changes)) == ([], False)


def test_a_study_that_tries_a_threshold_which_can_be_met_is_warned_of_and_not_refused(
    build_study,
):
    grid = {"grid": {"t_val": [5, 10]}}
    room = norm_room(build_study(study({"main": nine()}, {"norms": COUNTS}, norms=grid)))
    assert not room.none_at_all
    assert len(room.texts) == 1


def test_a_model_with_fewer_templates_is_named_unless_it_has_a_threshold_of_its_own(
    build_study,
):
    arms = {"main": {**ARM, "templates_for": {"planted-llama-3.1-8b": 3}}}
    room = norm_room(build_study(study(arms, {"norms": COUNTS})))
    assert not room.none_at_all
    (text,) = room.texts
    assert text.startswith(
        "arms.main: 9 variants per flow (3 wordings x 3 orders) for planted-llama-3.1-8b are fewer than t_val (10)"
    )
    own = {"t_val_for": {"planted-llama-3.1-8b": 9}}
    assert norm_room(build_study(study(arms, {"norms": COUNTS}, norms=own))).texts == []


def test_an_arm_whose_norms_nobody_reads_may_be_short(build_study):
    alone = {"answers": {"kind": "answer_counts", "arms": ["main"]}}
    room = norm_room(build_study(study({"main": nine()}, alone)))  # a warning, where no norms are read at all
    assert not room.none_at_all
    assert "(in " not in room.texts[0]
    arms = {"main": dict(ARM), "short": nine()}
    answers = {"kind": "answer_counts", "arms": ["main", "short"]}
    assert norm_room(build_study(study(arms, {"norms": COUNTS, "answers": answers}))).texts == []
    both = {**COUNTS, "arms": ["main", "short"]}
    room = norm_room(build_study(study(arms, {"norms": both})))
    assert not room.none_at_all
    assert [text.split(":")[0] for text in room.texts] == ["arms.short"]


def test_figures_read_norms_too(build_study):
    figures = {"norms": {"kind": "norms", "arms": ["main"], "first": 1}}
    room = norm_room(build_study(study({"main": nine()}, {}, figures=figures)))
    assert room.none_at_all
    assert "for planted-gpt-4o-mini" in room.texts[0]


@pytest.mark.parametrize("name", sorted(path.name for path in (PROJECT / "config").glob("*.yaml")))
def test_every_study_of_this_repository_can_hold_norms(name):
    if name == "models.yaml":
        return
    layers = {**default_layer(), name: load_yaml(Path(PROJECT, "config", name))}
    assert not norm_room(load_study(layers, Root(PROJECT))).none_at_all
