"""cinorms as a user installs it: a wheel, made from the source archive, in a virtual environment of its own."""

import shutil
import sys
import sysconfig
from pathlib import Path

from cinorms.core.version import RELEASE

from .snakemake_runs import ROOT, run


def install_wheel(folder: Path) -> tuple[Path, Path]:
    """Return the programs and the packages of an environment below ``folder``, with the wheel and what it needs."""
    source, own, built = folder / "source", folder / "own", folder / "built"
    for name in ("workflow/lib", "requirements"):
        shutil.copytree(
            ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = "from setuptools import build_meta as backend; backend.build_{}({!r})"
    run([sys.executable, "-c", build.format("sdist", str(built))], source)
    (archive,) = built.glob("*.tar.gz")
    shutil.unpack_archive(archive, folder)
    run([sys.executable, "-c", build.format("wheel", str(built))], folder / f"cinorms-{RELEASE}")

    run([sys.executable, "-m", "venv", "--without-pip", own], folder)
    pip = [sys.executable, "-m", "pip", "--python", own / "bin/python", "install", "--quiet"]
    run([*pip, "--no-index", "--no-deps", *built.glob("*.whl")], folder)
    (site,) = own.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return own / "bin", site
