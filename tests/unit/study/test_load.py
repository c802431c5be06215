"""Every mistake that a schema sees gets one exact message, which names the file."""

from typing import Any

import pytest

from cinorms.core.errors import ConfigError

from ...studies import ARM, arm, change, figure, load, message_of

WRONG: dict[str, tuple[Any, str]] = {
    "an unknown key": (
        {"modles": []},
        "modles: there is no such key here; allowed: {study_keys}; did you mean 'models'?",
    ),
    "an unknown key of an arm": (
        arm(temprature=1),
        "arms.main.temprature: there is no such key here; allowed: {arm_keys}; did you mean 'temperature'?",
    ),
    "an empty file": (None, "the whole file: null is not a mapping of keys to values"),
    "a word for a share": (
        {"norms": {"t_maj": "pluralty"}},
        "norms.t_maj: 'pluralty' is not allowed; allowed: a number (more than 0, at most 1) or plurality; "
        "did you mean 'plurality'?",
    ),
    "an arm without a prompt set": (
        {"arms": {"main": {"dataset": "iot"}}},
        "arms.main: key 'prompts' is missing; required: dataset, prompts",
    ),
    "an arm with a space in its name": (
        {"arms": {"the arm": ARM}},
        "arms: 'the arm' is not allowed; an arm's name has lower-case letters, digits, '-' and '_' (at most 100)",
    ),
    "an arm whose name is a truth value": (
        {"arms": {True: ARM}},  # `on:` or `yes:` in YAML
        "arms.True: YAML reads this key as True; put it in quotes",
    ),
    "a kind that is a list": (
        figure(kind=["distribution"]),
        "figures.fig.kind: ['distribution'] is not a kind; allowed: {figure_kinds}; did you mean 'distribution'?",
    ),
    "a figure without a kind": (
        {"figures": {"fig": {"arms": ["main"]}}},
        "figures.fig: key 'kind' is missing; required: kind",
    ),
    "a study name that is no folder": (
        {"study": "My Study"},
        "study: 'My Study' is not allowed; Name of the study, in lower-case letters, digits, '-' and '_' "
        "(at most 100); its results go to results/{{study}}.",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_gets_one_message(build_study, names, wrong):
    document, message = WRONG[wrong]
    assert message_of(build_study, document) == f"study.yaml: {message.format(**names)}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": "abc"}, "--config: seed: 'abc' is not a whole number"),
        (
            {"norms": {"t_val_for": {"x": 3}}},
            "--config: norms.t_val_for: 'x' is not a model of this study; allowed: {asked}",
        ),
    ],
)
def test_a_mistake_on_the_command_line_is_said_to_be_there(build_study, names, given, message):
    with pytest.raises(ConfigError) as caught:
        build_study({"norms": {"t_val": 3}}, given)
    assert str(caught.value) == message.format(**names)


def test_a_message_names_the_layer_that_the_wrong_setting_comes_from(build_study):
    with pytest.raises(ConfigError, match=r"^study\.yaml: norms\.t_val_for: "):
        build_study({"norms": {"t_val_for": {"x": 3}}}, {"norms": {"t_maj": 0.67}})
    with pytest.raises(ConfigError, match=r"^study\.yaml: arm_defaults\.readout: "):
        build_study({"arm_defaults": {"readout": "options", "temperature": 1}}, {"seed": 3})


@pytest.mark.parametrize(
    "key",
    ["seed", "norms", "norms.grid.t_val", "arm_defaults", "arm_defaults.orders.count"],
)
def test_a_default_that_is_missing_is_named(copied, key):
    def remove(document: dict[str, Any]) -> None:
        *above, last = key.split(".")
        for name in above:
            document = document[name]
        del document[last]

    change(copied.folder / "config/config.yaml", remove)
    with pytest.raises(ConfigError) as caught:
        load(copied)
    assert str(caught.value) == (f"config/config.yaml: key '{key}' is missing; restore its default there")
