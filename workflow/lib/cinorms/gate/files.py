"""The files of a gate: JSON for programs, JUnit XML for a CI, a page for people; and its summary for a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cinorms.core.files import replacing
from cinorms.gate.document import as_document
from cinorms.gate.junit import as_junit
from cinorms.gate.page import render
from cinorms.gate.verdicts import Gate

FILES = ("gate.json", "junit.xml", "index.html")


def write(gate: Gate, files: Mapping[str, str | Path]) -> None:
    """Write each of `FILES` to the path given for it, whole or not at all."""
    texts = {
        "gate.json": json.dumps(as_document(gate), indent=1, ensure_ascii=False) + "\n",
        "junit.xml": as_junit(gate),
        "index.html": render(gate),
    }
    for name, path in files.items():
        with replacing(path) as part:
            part.write_text(texts[name], encoding="utf-8")


def summary(document: Mapping[str, Any]) -> str:
    """Return the verdicts of a gate, as its JSON has them, as lines for a terminal."""
    claims = document["claims"]
    width = max(len(claim["name"]) for claim in claims)
    return "\n".join(
        [
            f"Gate {document['policy']['name']}: {document['verdict']} ({document['base']['address']} -> "
            f"{document['new']['address']}, {document['n_flows']:,} flows)",
            *(f"  {claim['verdict']:9}  {claim['name']:{width}}  {claim['why']}" for claim in claims),
        ]
    )
