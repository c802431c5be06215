"""What the tests of studies share: a copy of the project to change."""

import shutil
from pathlib import Path

import pytest

from cinorms.core.root import Root


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Root:
    """Return a copy of the files that a study is checked against, to change."""
    for name in ("config", "resources"):
        shutil.copytree(folder / name, tmp_path / name)
    return Root(tmp_path)
