"""The kit for one call on a GPU: what is sent arrives whole or is refused, and its JSON is complete from the start."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ..modules import module_at

KIT = Path(__file__).parents[2] / "benchmarks/inference"


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Return the parts of two small wheels."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for name in ("one", "two"):
        with zipfile.ZipFile(wheels / f"kit_{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"kit_{name}.py", f"NAME = {name!r}\n")
            info = f"kit_{name}-1.0.dist-info"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: kit-{name}\nVersion: 1.0\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    manifest = module_at(KIT / "prepare.py").pack(wheels, tmp_path / "kit", part_bytes=1_000)
    assert len(manifest["parts"]) > 3
    assert all(part["bytes"] <= 1_000 for part in manifest["parts"])
    return tmp_path / "kit"


def unpack(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(KIT / "unpack.py"), str(folder), str(site)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_parts_are_joined_and_installed(parts, tmp_path):
    done = unpack(parts, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site/kit_one.py").read_text() == "NAME = 'one'\n"
    assert (tmp_path / "site/kit_two.py").exists()


def test_a_damaged_or_missing_part_is_named(parts, tmp_path):
    damaged = parts / "part-01"
    data = damaged.read_bytes()
    damaged.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "part-01: its SHA-256 is not the one in manifest.json" in unpack(parts, tmp_path / "site").stderr
    damaged.unlink()
    assert "part-01 of" in unpack(parts, tmp_path / "site").stderr
    assert not (tmp_path / "site").exists()


@pytest.mark.slow
def test_without_time_every_step_says_so(tmp_path):
    out = tmp_path / "gpu.json"
    command = [sys.executable, str(KIT / "gpu.py"), "--out", str(out), "--minutes", "0.05"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    table = json.loads(out.read_text())
    assert set(table["steps"]) == {"peak", "cold", "published", "warm", "invariant", "awq"}
    assert all(step["status"].startswith("skipped: 0 s were left") for step in table["steps"].values())
    assert table["summary"]["goals"]["minutes_for_planned"] == {"at_most": 6.0, "met": None}
    assert "the rate with cinorms' settings was not measured" in table["paragraph"].lower()
