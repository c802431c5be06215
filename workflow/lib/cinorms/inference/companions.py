"""Companions: what a job that has loaded an engine asks for other jobs of the run, which need the same engine.

Loading takes as long as asking an arm. So the first of the jobs that share an engine is told of the others, in the
file that its tuning names as ``companions``. After its own questions it asks theirs and keeps the replies in the
journal, where the others find them: they load nothing. The file is written when a run starts and holds what that run
wants, no more. Without it every job asks for itself, so nothing depends on it but time.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cinorms.core.files import write_whole

#: Folder of these files, in that of a study's responses.
FOLDER = ".asking"


@dataclass(frozen=True)
class Companion:
    """A job that needs the same engine: its arguments, and which of its inputs the same run makes."""

    spec: dict[str, Any]
    tuning: dict[str, Any]
    vignettes: str
    variants: str
    out: str
    #: The record of the model's checkpoint, for an engine that loads one.
    checkpoint: str = ""
    #: Inputs that are only right if they are newer than this list.
    remade: list[str] = field(default_factory=list)


def place_of(responses: str, arm: str, model: str, shard: str) -> str:
    """Return the file that lists the companions of a job."""
    return f"{responses}/{FOLDER}/{arm}.{model}.{shard}.json"


def write_companions(path: Path, companions: Sequence[Companion]) -> None:
    """Write down the companions of a job."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps([asdict(companion) for companion in companions]).encode())


def read_companions(path: Path) -> tuple[list[Companion], float]:
    """Return the companions of a job and when they were written down; none where that cannot be read."""
    try:
        return [Companion(**plain) for plain in json.loads(path.read_bytes())], path.stat().st_mtime
    except (OSError, ValueError, TypeError):
        return [], 0.0


def is_ready(companion: Companion, since: float) -> bool:
    """Tell whether the inputs of a companion are there, and new where the run makes them anew."""
    try:
        inputs = filter(None, (companion.vignettes, companion.variants, companion.checkpoint))
        times = {path: Path(path).stat().st_mtime for path in inputs}
    except OSError:
        return False
    return all(times[path] >= since for path in companion.remade)


def note_answered(responses: Path, companion: Companion) -> None:
    """Write down that every question of a companion has a reply in the journal."""
    with suppress(OSError):  # its job then asks for a GPU in vain, no more
        out = Path(companion.out)
        _answered(responses, out.parent.parent.name, out.parent.name, out.stem).touch()


def is_answered(responses: Path, arm: str, model: str, shard: str) -> bool:
    """Tell whether another job of this run has asked all questions of a job."""
    return _answered(responses, arm, model, shard).exists()


def forget(responses: Path) -> None:
    """Remove what an earlier run has left."""
    for path in (responses / FOLDER).glob("*"):
        with suppress(OSError):  # a folder, say
            path.unlink()


def _answered(responses: Path, arm: str, model: str, shard: str) -> Path:
    return responses / FOLDER / f"{arm}.{model}.{shard}.answered"
