"""What the tests of studies share: a copy of the project to change, and the names that messages list."""

import shutil
from pathlib import Path

import pytest

from cinorms.core.root import Root
from cinorms.core.yaml_files import load_yaml
from cinorms.entries.kind import kinds
from cinorms.inference.model_entry import load_registry
from cinorms.study.settings import StudySettings

from ...studies import DEFAULT_MODELS


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Root:
    """Return a copy of the files that a study is checked against, to change."""
    for name in ("config", "resources"):
        shutil.copytree(folder / name, tmp_path / name)
    return Root(tmp_path)


@pytest.fixture(scope="module")
def names(root: Root) -> dict[str, str]:
    """Return the lists of names that messages give."""
    design = load_yaml(root.names("vignettes")["iot"])
    lists = {
        "study_keys": StudySettings.model_fields,
        "models": load_registry(root),
        "datasets": root.names("vignettes"),
        "prompts": root.names("prompts"),
        "scales": root.names("scales"),
        "figure_kinds": kinds("figures"),
        "analysis_kinds": kinds("analyses"),
        "asked": DEFAULT_MODELS,
        "factors": design["factors"],
        "senders": design["factors"]["sender"],
    }
    return {"cwd": str(Path.cwd()), **{key: ", ".join(sorted(values)) for key, values in lists.items()}}
