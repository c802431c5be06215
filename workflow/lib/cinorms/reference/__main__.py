"""Write the reference from the declarations: ``python -m cinorms.reference DOCS`` (``make reference``)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from cinorms.core.errors import ConfigError
from cinorms.core.logs import command
from cinorms.reference.pages import pages


@command()
def main(arguments: Sequence[str]) -> int:
    """Write the reference into the folder that the arguments name."""
    if len(arguments) != 1:
        raise ConfigError("Name the folder of the documentation: python -m cinorms.reference docs")
    docs = Path(arguments[0])
    folder = docs / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(docs.parent / "config" / "config.yaml").items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
