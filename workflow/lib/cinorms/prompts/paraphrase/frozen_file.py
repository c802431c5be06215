"""The file of frozen paraphrases: how it is written, and how a person's reading and edits are recorded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from cinorms.core.errors import ConfigError
from cinorms.core.files import replacing
from cinorms.core.scale_files import scale_near
from cinorms.core.validation import load_yaml
from cinorms.prompts.paraphrase.checks import fault_of
from cinorms.prompts.prompt_sets import digest, load_prompt_set

HEAD = """\
# Made by the rule generate_paraphrases. Read the templates, correct them here, then run `make confirm` with your study
# and commit this file. While it exists, the paraphraser is not asked again; provenance records who worded what.
"""


def write_frozen(document: dict[str, Any], path: Path) -> None:
    """Write ``document`` whole or not at all, with the digest of its templates."""
    document["provenance"]["templates_sha256"] = digest(document["templates"])
    text = HEAD + yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=2000)
    with replacing(path) as fresh:
        fresh.write_text(text, encoding="utf-8")


def now() -> str:
    """Return the time (UTC) as provenance states it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def confirm(path: Path, read: bool) -> None:
    """Record in the frozen file ``path`` that models may be asked in its templates, and which a person worded.

    Raises ``ConfigError`` for an edited template that fails a check, another original, or another number.
    """
    document = load_yaml(path)
    load_prompt_set(path)  # refuses what is no prompt set
    provenance, templates = document["provenance"], document["templates"]
    edited = digest(templates) != provenance["templates_sha256"]
    if edited:
        _check_edited(path, document)
        provenance.setdefault("mended", []).append({"date": now(), "templates": mended_in(document)})
    provenance["confirmed"] = {"date": now(), "how": "read" if read else "unread"}
    write_frozen(document, path)


def mended_in(document: Mapping[str, Any]) -> list[int] | None:
    """Return the numbers of the templates that are not as the paraphraser wrote them; None where nobody can tell."""
    generated = document["provenance"].get("generated")
    if generated is None:
        return None
    pairs = enumerate(zip(document["templates"][1:], generated, strict=False), start=1)
    return [number for number, (template, written) in pairs if template != written]


def _check_edited(path: Path, document: Mapping[str, Any]) -> None:
    """Refuse edited templates that a paraphraser could not have given either."""
    templates, request = document["templates"], document["provenance"]["request"]
    if templates[0] != request["original"]:
        raise ConfigError(
            f"{path}: templates[0]: differs from the original that was reworded; restore it ({request['original']!r}), "
            "or state a new original in the prompt set and delete this file"
        )
    if len(templates) != request["count"] + 1:
        raise ConfigError(
            f"{path}: templates: has {len(templates) - 1} paraphrases, expected {request['count']}; write the missing "
            "ones by hand, or remove the extra ones"
        )
    options = scale_near(path, document["scale"]).options
    for number in range(1, len(templates)):
        fault = fault_of(templates[number], templates[:number], options)
        if fault:
            raise ConfigError(f"{path}: templates[{number}]: {fault}; correct it")
