"""Where the authors' files come from in tests, and what pytest says where they cannot be obtained."""

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .. import published_files
from ..conftest import LEFT_OUT
from ..snakemake_runs import ROOT


def test_what_is_fetched_is_laid_out_as_a_mirror(mirror, tmp_path, monkeypatch):
    cache, files = tmp_path / "cache", [file for file in published_files.declared() if file.path is None]
    cache.mkdir()
    for file in files:
        found = next(mirror / name for name in file.mirror if (mirror / name).is_file())
        assert file.sha256 is not None
        shutil.copy(found, cache / f"{file.sha256[:12]}-{file.url.rpartition('/')[2]}")
    monkeypatch.delenv("CINORMS_MIRROR", raising=False)
    monkeypatch.setattr(published_files, "CACHE", cache)
    folder = published_files.mirror_in(tmp_path / "made")
    assert len(files) > 20
    for file in files:
        found = next(mirror / name for name in file.mirror if (mirror / name).is_file())
        assert filecmp.cmp(folder / file.mirror[0], found, shallow=False)


#: A module of tests that reads the data in three of its tests.
READING = "tests/unit/test_reading.py"
TESTS = """
import pytest

def test_by_hand():
    pass

@pytest.mark.parametrize("number", range(3))
def test_published(mirror, number):
    pass
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project that has fetched nothing, with the tests `TESTS`."""
    folder = tmp_path_factory.mktemp("bare")
    for name in ("workflow", "resources", "config", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    (folder / READING).parent.mkdir(parents=True)
    (folder / READING).write_text(TESTS, encoding="utf-8")
    for path in (ROOT / "tests").glob("*.py"):
        shutil.copy(path, folder / "tests")
    return folder


def run(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a copy with no data, no network and an empty home."""
    known = {name: value for name, value in os.environ.items() if name not in ("CI", "CINORMS_MIRROR")}
    nowhere = {"https_proxy": "http://127.0.0.1:9", "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, READING],
        cwd=folder,
        env={**known, **nowhere, **environment},
        text=True,
        capture_output=True,
    )


def test_the_closing_line_counts_what_was_left_out_and_says_how_to_run_it(bare):
    done = run(bare, "-n1")  # what another process reports arrives in another shape
    assert done.returncode == 0, done.stdout
    *rest, last = done.stdout.strip().splitlines()
    assert f"3 {LEFT_OUT}" in last
    assert "passed" in last
    assert "skipped" not in last
    assert f"{READING}::test_published (3)" in rest
    assert "cannot be fetched" in rest[-1]


def test_in_ci_the_want_of_the_data_is_a_failure(bare):
    done = run(bare, CI="true")
    assert done.returncode == 1
    assert "cannot be fetched" in done.stdout
