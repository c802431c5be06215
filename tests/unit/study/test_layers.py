"""Layers merge as documented, and a study knows which of them states a setting."""

import copy

import pytest

from cinorms.study.layers import Place, merge, place_in
from cinorms.study.load import load_study
from cinorms.study.study import Study

from ...studies import ARM, Build, default_layer


def test_an_empty_study_file_changes_nothing(build_study):
    assert build_study({}).settings == build_study().settings
    changes = {"arms": {"other": ARM}, "figures": {}, "analyses": {}, "models": ["planted-uniform"]}
    study = build_study(changes)  # arms, figures and models replace the defaults
    assert list(study.arms) == ["other"]
    assert study.settings.figures == {}
    assert study.all_models() == ["planted-uniform"]


def test_single_keys_of_norms_grid_orders_and_arm_defaults_change_alone(build_study):
    study = build_study(
        {
            "norms": {"t_val": 4, "grid": {"t_val": [4, 8]}},
            "arm_defaults": {"orders": {"count": 2}, "temperature": 0.5},
        }
    )
    norms, arm = study.settings.norms, study.arms["main"]
    assert (norms.t_val, norms.t_maj, norms.consensus) == (4, 0.5, "strict")
    assert norms.grid.plain() == {"t_val": [4, 8], "t_maj": ["plurality", 0.25, 0.5, 0.67]}
    assert arm.orders.plain() == {"method": "balanced", "count": 2}
    assert (arm.temperature, arm.max_tokens) == (0.5, 100)


def test_an_arm_overrides_the_arm_defaults_key_by_key(build_study):
    study = build_study(
        {
            "arm_defaults": {"orders": {"method": "random"}, "select": {"sender": ["a door lock"]}},
            "arms": {
                "main": {**ARM, "orders": {"count": 1}, "temperature": 1},
                "whole": {**ARM, "select": {}},
            },
        }
    )
    assert study.arms["main"].orders.plain() == {"method": "random", "count": 1}
    assert study.arms["main"].select == {"sender": ("a door lock",)}
    assert study.arms["whole"].select == {}
    assert study.arms["whole"].orders.plain() == {"method": "random", "count": 3}


def test_the_last_layer_wins_and_merging_leaves_the_layers_as_they_were(root):
    layers = {
        **default_layer(),
        "study.yaml": {"seed": 1, "norms": {"t_val": 3}, "arm_defaults": {"orders": {"count": 1}}},
        "--config": {"seed": 2, "norms": {"t_maj": 0.67}},
    }
    before = copy.deepcopy(layers)
    study = load_study(layers, root)
    assert study.seed == 2
    assert (study.settings.norms.t_val, study.settings.norms.t_maj) == (3, 0.67)
    merged = merge(layers)
    merged["arms"]["main"]["select"]["sender"] = ["changed"]
    merged["arm_defaults"]["orders"]["count"] = 99
    assert layers == before


# --- Where a setting is stated


@pytest.mark.parametrize(
    ("orders", "count", "method"),
    [
        ({}, "below.yaml: arm_defaults.orders.count", "above.yaml: arm_defaults.orders.method"),
        (
            {"orders": {"method": "random"}},
            "below.yaml: arm_defaults.orders.count",
            "above.yaml: arms.main.orders.method",
        ),
        (
            {"orders": {"count": 2}},
            "above.yaml: arms.main.orders.count",
            "above.yaml: arm_defaults.orders.method",
        ),
    ],
)
def test_each_part_of_an_arms_orders_is_stated_where_that_part_is(orders, count, method):
    below = {"arm_defaults": {"orders": {"count": 4}}}
    arms = {"main": {**ARM, **orders}}
    above = {"arm_defaults": {"orders": {"method": "fixed"}}, "arms": arms}
    layers = {**default_layer(), "below.yaml": below, "above.yaml": above}
    assert str(place_in(layers, "arms", "main", "orders", "count")) == count
    assert str(place_in(layers, "arms", "main", "orders", "method")) == method


@pytest.fixture(scope="module")
def stated(build_study: Build) -> Study:
    """Return a study with three layers."""
    study = {
        "norms": {"t_val": 3, "t_val_for": {"planted-tulu-2-7b": 5}},
        "arm_defaults": {"templates": 5, "orders": {"count": 1}},
        "arms": {"main": {**ARM, "templates": 4}, "other": ARM},
        "datasets": {"iot": {"null_principle": True}},
        "analyses": {},
        "figures": {},
    }
    return build_study(study, {"norms": {"t_maj": 0.67}, "seed": 3})


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (["seed"], Place("--config", "seed")),
        (["engine"], Place("config/config.yaml", "engine")),
        (["norms", "t_val"], Place("study.yaml", "norms.t_val")),
        (["norms", "t_maj"], Place("--config", "norms.t_maj")),
        (
            ["norms", "t_val_for", "planted-tulu-2-7b"],
            Place("study.yaml", "norms.t_val_for.planted-tulu-2-7b"),
        ),
        (["norms", "grid", "t_val"], Place("config/config.yaml", "norms.grid.t_val")),
        (["arms", "main"], Place("study.yaml", "arms.main")),
        (["arms", "main", "templates"], Place("study.yaml", "arms.main.templates")),
        (["arms", "other", "templates"], Place("study.yaml", "arm_defaults.templates")),
        (["arms", "other", "readout"], Place("config/config.yaml", "arm_defaults.readout")),
        (["datasets", "iot", "null_principle"], Place("study.yaml", "datasets.iot.null_principle")),
    ],
)
def test_a_study_knows_the_file_and_the_key_in_which_a_setting_is_stated(stated, path, place):
    assert stated.stated_in(*path) == place
