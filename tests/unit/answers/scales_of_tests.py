"""Scales that tests of this folder read replies on: the project's, and others in tests/data/scales."""

from functools import cache
from pathlib import Path

from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER, Scale

OWN = Path(__file__).resolve().parents[2] / "data" / "scales"


@cache
def scale_of(name: str) -> Scale:
    """Return the scale of this name."""
    path = FOLDER / f"{name}.yaml"
    return load_scale(path if path.exists() else OWN / f"{name}.yaml")


def of_options(*options: str, **more: object) -> Scale:
    """Return a scale with these options, lowest first."""
    return Scale("made_up", "Made up", "made_up", options, tuple(range(1, len(options) + 1)), **more)
