"""Files of scales, resources/scales: read and checked."""

from __future__ import annotations

from pathlib import Path

from cinorms.core import validation
from cinorms.core.scales import FOLDER, Scale, make_scale

SCHEMA = Path(__file__).parents[3] / "schemas" / "scale.schema.yaml"


def load_scale(path: str | Path) -> Scale:
    """Read the scale at ``path``; its name is the file's name without ``.yaml``.

    Raises ``ConfigError`` with the file, the key, what is given and what is allowed.
    """
    path = Path(path)
    document = validation.load_yaml(path)
    validation.check(document, SCHEMA, str(path))
    return make_scale(path.stem, document, path)


def scale_near(path: Path, name: str) -> Scale:
    """Return the scale ``name`` for a file of resources: that of its own folder of resources, else the project's."""
    folders = [*(parent / "scales" for parent in path.absolute().parents), FOLDER]
    return load_scale(next(file for folder in folders if (file := folder / f"{name}.yaml").is_file()))
