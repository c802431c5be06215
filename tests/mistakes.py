"""Files of mistakes: what a user writes, in YAML, and in the next line, after an arrow, the message that it gets."""

from pathlib import Path
from typing import Any

import yaml


def mistakes(path: Path) -> list[tuple[Any, str]]:
    """Return each document of a file with its message; comments and empty lines are for readers."""
    lines = [
        line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")
    ]
    arrow = "=> "
    assert all(line.startswith(arrow) for line in lines[1::2])
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return [(yaml.safe_load(written), message.removeprefix(arrow)) for written, message in pairs]
