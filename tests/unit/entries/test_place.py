"""Where an entry is stated: what it is made from, how messages name it, and which arms ask about the same flows."""

from types import SimpleNamespace

import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.entries.place import EntryLocation
from cinorms.vignettes.factors import DatasetFactors

MODELS = {"main": ["a", "b", "c"], "hot": ["c"], "doors": ["b"]}
SENDERS = {"main": "a lock", "hot": "a lock", "doors": "a door"}
STUDY = SimpleNamespace(
    arms={arm: SimpleNamespace(dataset=arm) for arm in MODELS},
    all_models=lambda: MODELS["main"],
    models=MODELS.get,
    factors_of=lambda arm: DatasetFactors(arm, ("sender",)),
    levels_of=lambda arm: pd.DataFrame({"flow": [0], "sender": SENDERS[arm]}),
)
PLACE = EntryLocation(STUDY, "figures", "it", "study.yaml")


@pytest.mark.parametrize(
    ("stated", "pairs"),
    [
        ({}, "main/a main/b main/c hot/c"),
        ({"models": ["c", "a"]}, "main/c main/a hot/c"),
        ({"first": 2}, "main/a main/b"),
    ],
)
def test_an_entry_is_made_from_those_of_its_models_that_an_arm_asks(stated, pairs):
    options = SimpleNamespace(**{"arms": ["main", "hot"], "models": None, **stated})
    assert " ".join(map("/".join, PLACE.selected(options))) == pairs


def test_a_mistake_is_named_with_its_file_and_key():
    assert [str(PLACE.error(part, "no.")) for part in ("", "arms")] == [
        "study.yaml: figures.it: no.",
        "study.yaml: figures.it.arms: no.",
    ]
    with pytest.raises(ConfigError, match=r"figures\.it\.arms: 'hto' is not an arm; did you mean 'hot'"):
        PLACE.check_names("arms", ["main", "hto"], MODELS, "arm")


def test_arms_must_ask_about_the_same_flows():
    PLACE.check_same_flows("arms", ["main"], ["main", "hot"])
    with pytest.raises(ConfigError, match=r"arms: arms 'main' and 'doors': .* is 'a lock', not 'a door'"):
        PLACE.check_same_flows("arms", ["main"], ["hot", "doors"])
