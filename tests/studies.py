"""Studies and single settings for tests: the defaults of config/config.yaml, with changes."""

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.core.yaml_files import load_yaml
from cinorms.study.load import load_study, read_layers, read_settings
from cinorms.study.settings import Arm, StudySettings
from cinorms.study.study import Study

PROJECT = Path(__file__).parents[1]
#: A function that loads the default study with study.yaml and --config on top (the fixture ``build_study``).
Build = Callable[..., Study]

DEFAULT_MODELS = [
    "planted-gpt-4o-mini",
    "planted-llama-3.1-8b",
    "planted-tulu-2-7b",
    "planted-tulu-2-13b",
    "planted-tulu-2-dpo-7b",
    "planted-tulu-2-dpo-13b",
    "planted-tulu-2-7b-awq",
    "planted-tulu-2-13b-awq",
]
#: What an arm must state.
ARM = {"dataset": "iot", "prompts": "chatgpt"}


def default_layer() -> dict[str, Any]:
    """Return config/config.yaml, to change as you like."""
    return {"config/config.yaml": copy.deepcopy(_default())}


def make_study_settings(changes: dict[str, Any] | None = None) -> StudySettings:
    """Return the default settings with ``changes``, as a study.yaml states them; no name is looked up."""
    return read_settings({**default_layer(), "study.yaml": changes or {}})


def make_arm(**changes: Any) -> Arm:
    """Return the arm ``main`` of a study.yaml that states ``changes`` of it; no name is looked up."""
    return make_study_settings(arm(**changes)).arms["main"]


def arm(**changes: Any) -> dict[str, Any]:
    """Return a study file with one arm."""
    return {"arms": {"main": {**ARM, **changes}}}


def figure(**changes: Any) -> dict[str, Any]:
    """Return a study file with one figure."""
    return {"figures": {"fig": {"kind": "distribution", "arms": ["main"], **changes}}}


def load(root: Root, study: dict[str, Any] | None = None) -> Study:
    """Load the study of another folder, with its own config/config.yaml and registry."""
    return load_study({**read_layers([], root), "study.yaml": study or {}}, root)


def message_of(build: Build, document: Any) -> str:
    """Return the one line with which a study file is refused."""
    with pytest.raises(ConfigError) as caught:
        build(document, study_file=True)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def change(path: Path, edit: Callable[[Any], None]) -> None:
    """Edit a YAML document in place."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    edit(document)
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


@cache
def _default() -> Any:
    return load_yaml(PROJECT / "config/config.yaml")
