"""What several test modules share: the project, studies built from layers, and flows to ask about."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.study import load
from cinorms.study.layers import Layer
from cinorms.study.load import load_study
from cinorms.study.registry import load_registry
from cinorms.study.root import Root
from cinorms.study.study import Study
from cinorms.vignettes.designs import expand, load_dataset

from .studies import Build, default_layer

ROOT = Path(__file__).parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what reads the authors' data where there is no mirror of them; in CI that is a failure."""
    reading = [item for item in items if item.get_closest_marker("published")]
    if not reading or os.environ.get("CINORMS_MIRROR"):
        return
    if os.environ.get("CI"):
        raise pytest.UsageError("CINORMS_MIRROR is not set: CI runs the tests that read the authors' data")
    for item in reading:
        item.add_marker(pytest.mark.skip(reason="CINORMS_MIRROR is not set: the authors' data are not here"))


@pytest.fixture(scope="session")
def folder() -> Path:
    """Return the project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def root() -> Root:
    """Return where the project's files stand, as the library wants to be told."""
    return Root(ROOT)


@pytest.fixture(scope="session")
def build_study(root: Root) -> Build:
    """Return a function that loads the default study with study.yaml and --config on top."""

    registry = load_registry(root)

    def build(study: Any = None, config: Any = None, study_file: bool = False) -> Study:
        layers = [default_layer()]
        layers += [Layer("study.yaml", study)] if study is not None or study_file else []
        layers += [Layer("--config", config)] if config is not None else []
        with pytest.MonkeyPatch.context() as patch:
            # Parsing the registry takes longer than everything else that is tested here.
            patch.setattr(load, "load_registry", lambda _: copy.deepcopy(registry))
            return load_study(layers, root)

    return build


@pytest.fixture(scope="session")
def iot_flows() -> pd.DataFrame:
    """Return the 6,912 flows of the dataset iot; tests leave them as they are."""
    design = load_dataset(ROOT / "resources/vignettes/iot.yaml").design
    assert design is not None
    return expand(design)


@pytest.fixture(scope="session")
def iot_variants() -> pd.DataFrame:
    """Return the 33 variants of the default study."""
    prompt_set = load_prompt_set(ROOT / "resources/prompts/chatgpt.yaml")
    return list_variants("chatgpt", prompt_set.templates, n_templates=11, n_orders=3)
