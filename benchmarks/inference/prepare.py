"""Fetch what a GPU machine without internet lacks for gpu.py, as parts that are small enough to be sent one by one.

    python benchmarks/inference/prepare.py build/gpu-kit       # about 370 MB in eight parts, with pip
    python3 benchmarks/inference/unpack.py FOLDER SITE         # there: joins, checks and installs them

The parts are one archive of wheels, cut. ``manifest.json`` has the SHA-256 of each part and of each wheel.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGES = Path(__file__).with_name("gpu-packages.txt")
#: Wheels for any of these run on that machine.
PLATFORMS = ["manylinux1", "manylinux2014", *(f"manylinux_2_{n}" for n in (17, 24, 26, 27, 28, 31, 34, 35))]
#: A part is smaller than what may be sent at once, 64 MiB with the repository itself.
PART_BYTES = 48 * 2**20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="for the parts and the manifest")
    parser.add_argument("--packages", type=Path, default=PACKAGES, help="one NAME==VERSION a line")
    parser.add_argument("--part-bytes", type=int, default=PART_BYTES)
    parser.add_argument("--wheels", type=Path, help="wheels that are here already: nothing is downloaded")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder.parent) as work:
        wheels = given.wheels or download(given.packages, Path(work) / "wheels")
        manifest = pack(wheels, given.folder, given.part_bytes)
    size = sum(part["bytes"] for part in manifest["parts"])
    print(
        f"{len(manifest['wheels'])} wheels, {size / 1e6:.0f} MB in {len(manifest['parts'])} parts: {given.folder}"
    )


def download(packages: Path, folder: Path) -> Path:
    """Download the wheels that ``packages`` names, for Python 3.12 on x86_64 Linux."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", "3.12", "--implementation", "cp", "--dest", str(folder)]
    for platform in PLATFORMS:
        command += ["--platform", f"{platform}_x86_64"]
    if subprocess.run([*command, "-r", str(packages)], check=False).returncode:
        sys.exit(f"pip could not download the packages of {packages}; its message is above")
    return folder


def pack(wheels: Path, folder: Path, part_bytes: int) -> dict[str, list[dict[str, object]]]:
    """Write the parts and the manifest to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("part-*"):
        old.unlink()
    files = sorted(wheels.glob("*.whl"))
    archive = folder / "wheels.tar"
    with tarfile.open(archive, "w") as tar:
        for path in files:
            tar.add(path, path.name)
    parts: list[dict[str, object]] = []
    with archive.open("rb") as whole:
        while data := whole.read(part_bytes):
            name = f"part-{len(parts):02d}"
            (folder / name).write_bytes(data)
            parts.append({"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    archive.unlink()
    named: list[dict[str, object]] = [
        {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in files
    ]
    manifest = {"parts": parts, "wheels": named}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


if __name__ == "__main__":
    main()
