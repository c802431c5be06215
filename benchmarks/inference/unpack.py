"""On the GPU machine: join the parts of prepare.py, check them, install the wheels. Needs Python and pip alone.

python3 benchmarks/inference/unpack.py FOLDER SITE && export PYTHONPATH=SITE
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, site = Path(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory(dir=folder) as work:
        wheels = join(folder, Path(work))
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-index",
            "--no-deps",
            "--no-compile",
        ]
        command += ["--no-cache-dir", "--disable-pip-version-check", "--upgrade", "--target", str(site)]
        done = subprocess.run([*command, *map(str, wheels)], check=False)
    if done.returncode:
        sys.exit("pip could not install the wheels; its message is above")
    print(f"{len(wheels)} packages are in {site}")


def join(folder: Path, work: Path) -> list[Path]:
    """Return the wheels, unpacked to ``work``; end with a message if a part or a wheel is not the one that was sent."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    missing = [part["name"] for part in manifest["parts"] if not (folder / part["name"]).exists()]
    if missing:
        sys.exit(
            f"{folder}: {', '.join(missing)} of {len(manifest['parts'])} parts are missing; send them again"
        )
    archive = work / "wheels.tar"
    with archive.open("wb") as whole:
        for part in manifest["parts"]:
            data = (folder / part["name"]).read_bytes()
            _check(data, part["sha256"], folder / part["name"])
            whole.write(data)
    with tarfile.open(archive) as tar:
        # Python 3.11 has filters since 3.11.4 only; the parts are those that were sent, by their SHA-256.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(work)
    archive.unlink()
    for wheel in manifest["wheels"]:
        _check((work / wheel["name"]).read_bytes(), wheel["sha256"], work / wheel["name"])
    return [work / wheel["name"] for wheel in manifest["wheels"]]


def _check(data: bytes, expected: str, path: Path) -> None:
    if hashlib.sha256(data).hexdigest() != expected:
        sys.exit(f"{path}: its SHA-256 is not the one in manifest.json; send it again")


if __name__ == "__main__":
    main()
