"""A message names the layer that states what is wrong; every default is stated."""

from typing import Any

import pytest

from cinorms.core.errors import ConfigError

from ...studies import change, load


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"seed": "abc"},
            "--config: seed: 'abc' is not allowed; allowed: a whole number (at least 0, at most 9223372036854775807)",
        ),
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
    section, _, last = key.rpartition(".")
    where = f"config/config.yaml: {section or 'the whole file'}"
    assert str(caught.value) == f"{where}: key '{last}' is missing; required: {last}"
