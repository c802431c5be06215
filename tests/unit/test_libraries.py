"""What the archives of each library of its own carry: nobody may pass on, or test, one without its licence or data."""

import email
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = sorted(path.parent for path in ROOT.glob("workflow/lib/*/pyproject.toml"))


def archives(library: Path, folder: Path) -> tuple[tarfile.TarFile, zipfile.ZipFile]:
    """Return the source archive of a library, and the wheel that is made from it."""
    source = shutil.copytree(
        library, folder / library.name, ignore=shutil.ignore_patterns("*.egg-info", ".*")
    )
    # -P: a module of a library may have the name of one of Python's.
    build = "from setuptools import build_meta as backend; backend.build_{}({!r})"
    for kind in ("sdist", "wheel"):
        command = [sys.executable, "-P", "-c", build.format(kind, str(folder))]
        subprocess.run(command, cwd=source, check=True, capture_output=True)
        if kind == "sdist":
            (packed,) = folder.glob("*.tar.gz")
            shutil.unpack_archive(packed, folder / "unpacked")
            (source,) = (folder / "unpacked").iterdir()
    (wheel,) = folder.glob("*.whl")
    return tarfile.open(packed), zipfile.ZipFile(wheel)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: path.name)
def test_archives_carry_licence_people_addresses_and_the_data_of_tests(library, tmp_path):
    licence = (ROOT / "LICENSE").read_bytes()
    assert (library / "LICENSE").read_bytes() == licence
    stated = tomllib.loads((library / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sdist, wheel = archives(library, tmp_path)
    with sdist, wheel:
        (text,) = (name for name in wheel.namelist() if name.endswith("dist-info/licenses/LICENSE"))
        assert wheel.read(text) == licence
        (name,) = (name for name in wheel.namelist() if name.endswith("dist-info/METADATA"))
        about = email.message_from_bytes(wheel.read(name))
        assert (about["License-Expression"], about["License-File"]) == ("MIT", "LICENSE")
        assert about["Author"] == "the cinorms developers"
        assert [url.split(", ")[0] for url in about.get_all("Project-URL")] == [*stated["urls"]]
        assert "Typing :: Typed" in about.get_all("Classifier")
        assert about.get_payload() == (library / "README.md").read_text(encoding="utf-8")
        inside = {Path(name).relative_to(Path(name).parts[0]) for name in sdist.getnames()}
        tested = subprocess.run(
            ["git", "ls-files", "tests", "LICENSE"], cwd=library, check=True, capture_output=True, text=True
        )
        assert {*map(Path, tested.stdout.split("\n")[:-1])} <= inside
        packed = {name.split("/")[0] for name in wheel.namelist()}
        assert packed == {library.name, name.split("/")[0]}
        assert not [name for name in wheel.namelist() if "/tests/" in name]
