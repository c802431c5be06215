"""Layers merge as documented, and a study knows which of them states a setting."""

import copy

import pytest

from cinorms.study.layers import place_in
from cinorms.study.load import read_settings

from ...studies import ARM, default_layer


def test_an_empty_study_file_changes_nothing_and_arms_figures_and_models_replace_the_defaults(build_study):
    assert build_study({}).settings == build_study().settings
    changes = {"arms": {"other": ARM}, "figures": {}, "analyses": {}, "models": ["planted-uniform"]}
    study = build_study(changes)
    assert list(study.arms) == ["other"]
    assert study.settings.figures == {}
    assert study.all_models() == ["planted-uniform"]


def test_single_keys_change_alone_the_last_layer_wins_and_layers_stay_as_they_were():
    whole = {**ARM, "select": {}}
    layers = {
        **default_layer(),
        "study.yaml": {
            "seed": 1,
            "norms": {"t_val": 4, "grid": {"t_val": [4, 8]}},
            "arm_defaults": {"orders": {"method": "random"}, "select": {"sender": ["a door lock"]}},
            "arms": {"main": {**ARM, "orders": {"count": 1}, "temperature": 1}, "whole": whole},
        },
        "--config": {"seed": 2, "norms": {"t_maj": 0.67}},
    }
    before = copy.deepcopy(layers)
    settings = read_settings(layers)
    norms, main, whole = settings.norms, settings.arms["main"], settings.arms["whole"]
    assert settings.seed == 2
    assert (norms.t_val, norms.t_maj, norms.consensus) == (4, 0.67, "strict")
    assert norms.grid.plain() == {"t_val": [4, 8], "t_maj": ["plurality", 0.25, 0.5, 0.67]}
    assert main.orders.plain() == {"method": "random", "count": 1}
    assert whole.orders.plain() == {"method": "random", "count": 3}
    assert (main.select, whole.select) == ({"sender": ("a door lock",)}, {})
    assert (main.temperature, whole.temperature, main.max_tokens) == (1, 0, 100)
    assert layers == before


@pytest.mark.parametrize(
    ("orders", "count", "method"),
    [
        ({}, "below.yaml: arm_defaults", "above.yaml: arm_defaults"),
        ({"orders": {"method": "random"}}, "below.yaml: arm_defaults", "above.yaml: arms.main"),
        ({"orders": {"count": 2}}, "above.yaml: arms.main", "above.yaml: arm_defaults"),
    ],
)
def test_each_part_of_an_arms_orders_is_stated_where_that_part_is(orders, count, method):
    above = {"arm_defaults": {"orders": {"method": "fixed"}}, "arms": {"main": {**ARM, **orders}}}
    below = {"arm_defaults": {"orders": {"count": 4}}}
    layers = {**default_layer(), "below.yaml": below, "above.yaml": above}
    assert str(place_in(layers, "arms", "main", "orders", "count")) == f"{count}.orders.count"
    assert str(place_in(layers, "arms", "main", "orders", "method")) == f"{method}.orders.method"


#: Where settings are stated, by their path in the study.
STATED = {
    "seed": "--config: seed",
    "engine": "config/config.yaml: engine",
    "norms.t_val": "study.yaml: norms.t_val",
    "norms.t_maj": "--config: norms.t_maj",
    "norms.t_val_for.planted-tulu-2-7b": "study.yaml: norms.t_val_for.planted-tulu-2-7b",
    "norms.grid.t_val": "config/config.yaml: norms.grid.t_val",
    "arms.main": "study.yaml: arms.main",
    "arms.main.templates": "study.yaml: arms.main.templates",
    "arms.other.templates": "study.yaml: arm_defaults.templates",
    "arms.other.readout": "config/config.yaml: arm_defaults.readout",
}


def test_a_study_knows_the_file_and_the_key_in_which_a_setting_is_stated(build_study):
    study = {
        "norms": {"t_val": 3, "t_val_for": {"planted-tulu-2-7b": 5}},
        "arm_defaults": {"templates": 5, "orders": {"count": 1}},
        "arms": {"main": {**ARM, "templates": 4}, "other": ARM},
        "analyses": {},
        "figures": {},
    }
    study = build_study(study, {"norms": {"t_maj": 0.67}, "seed": 3})
    assert {path: str(study.stated_in(*path.split("."))) for path in STATED} == STATED
