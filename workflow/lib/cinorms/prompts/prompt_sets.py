"""Prompt sets: the wordings of the instruction, read from YAML and checked."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cinorms.core import errors, validation
from cinorms.core.errors import ConfigError

#: Placeholders that a template must have exactly once: the vignette and the answer options.
PLACEHOLDERS = ("{scenario}", "{options}")

#: Where the templates of a prompt set come from: its own file, or a paraphraser that is still to be asked.
#: ``frozen`` is a file that a paraphraser's templates were written to; it is used like a published one.
SOURCES = ("published", "frozen", "generate")

#: Set to 1 to accept paraphrases unread (`make run YES=1`).
YES = "CINORMS_YES"

SCHEMA = Path(__file__).parents[3] / "schemas" / "prompt_set.schema.yaml"
GENERATE_SCHEMA = SCHEMA.with_name("generate_prompt_set.schema.yaml")


@dataclass(frozen=True)
class Generate:
    """What a paraphraser is asked: ``count`` templates in addition to the original, in at most ``tries`` rounds.

    ``checkpoint`` names the weights of the paraphraser pegasus, and is empty for every other.
    """

    count: int
    tries: int
    temperature: float
    seed: int
    checkpoint: dict[str, str | None]


@dataclass(frozen=True)
class PromptSet:
    """The wordings of one paraphraser; ``templates[0]`` is the original, as the papers number it.

    ``generate`` is the request for templates 1 and up where they do not exist yet; ``templates`` then holds the
    original alone. ``waits`` is why nobody may be asked in these words yet (see ``confirm``): nobody has read
    them since the paraphraser wrote them, or a person has edited them since. ``file`` is where they are.
    """

    name: str
    title: str
    paraphraser: str
    scale: str
    origin: dict[str, str]
    templates: tuple[str, ...]
    generate: Generate | None = None
    waits: Literal["unread", "edited"] | None = None
    file: str = ""

    @property
    def n_templates(self) -> int:
        """Number of templates, including those that do not exist yet."""
        return self.generate.count + 1 if self.generate else len(self.templates)


def load_prompt_set(path: str | Path) -> PromptSet:
    """Read the prompt set at ``path``; its name is the file's name without ``.yaml``.

    One with ``source: generate`` has the templates of its frozen file, where that is there.

    Raises ``ConfigError`` where a key is wrong, a template lacks or repeats a placeholder or holds an unknown
    one, two templates are the same text but for capitals and spaces, or a frozen file was made from other words
    than ``path`` has now.
    """
    path = Path(path)
    document = validation.load_yaml(path)
    source = document.get("source", "published") if isinstance(document, dict) else "published"
    if source not in SOURCES:
        raise validation.unknown(str(path), "source", source, SOURCES, "source of templates")
    if source != "generate":
        return _stated(path, document)
    validation.check(document, GENERATE_SCHEMA, str(path))
    _check_asked(path, document)
    frozen = path.parent / "frozen" / path.name
    if frozen.is_file():
        _refuse_other_words(path, document, frozen)
        return load_prompt_set(frozen)
    asked = {key: document[key] for key in ("count", "tries", "temperature", "seed")}
    return PromptSet(
        name=path.stem,
        title=document["title"],
        paraphraser=document["paraphraser"],
        scale=document["scale"],
        origin={},
        templates=(document["original"],),
        generate=Generate(**asked, checkpoint=dict(document.get("checkpoint", {}))),
    )


def templates_path(path: Path) -> Path:
    """Return the file that holds the templates of the prompt set at ``path``, or will hold them."""
    document = validation.load_yaml(path)
    generated = isinstance(document, dict) and document.get("source") == "generate"
    return path.parent / "frozen" / path.name if generated else path


def part_path(frozen: Path) -> Path:
    """Return where the valid templates are kept while there are too few of them."""
    return frozen.with_suffix(".part.yaml")


def accepted_unread() -> bool:
    """Tell whether the environment accepts unread paraphrases."""
    return os.environ.get(YES, "") not in ("", "0")


def insist_on_confirmed(prompt_set: PromptSet) -> None:
    """Raise ``ConfigError`` where nobody may be asked in these templates yet."""
    if prompt_set.waits and not accepted_unread():
        raise ConfigError(notice(prompt_set))


def notice(prompt_set: PromptSet) -> str:
    """Return what to do with templates that wait."""
    since = {"unread": "nobody has read them yet", "edited": "they were edited since they were confirmed"}
    return (
        f"{prompt_set.file}: these paraphrases wait for you: {since[prompt_set.waits or 'unread']}.\n"
        f"Read them, correct them in that file, `make confirm CONFIG=...`, run again ({YES}=1 accepts them unread)"
    )


def placeholder_fault(template: str) -> str | None:
    """Return what is wrong with the placeholders of ``template``, or ``None``."""
    for name in re.findall(r"\{[^{}]*\}", template):
        if name not in PLACEHOLDERS:
            return f"{name} is not a placeholder; {errors.listing(name, PLACEHOLDERS)}"
    for name in PLACEHOLDERS:
        count = template.count(name)
        if count != 1:
            return f"{name} appears {count} times; expected exactly once"
    rest = template
    for name in PLACEHOLDERS:
        rest = rest.replace(name, "")
    if "{" in rest or "}" in rest:
        return f"a brace belongs to no placeholder; allowed: {', '.join(PLACEHOLDERS)}"
    return None


def digest(templates: Sequence[str]) -> str:
    """Return the SHA-256 of ``templates``, joined by line breaks, as 64 hexadecimal digits."""
    return hashlib.sha256("\n".join(templates).encode()).hexdigest()


def _stated(path: Path, document: dict[str, Any]) -> PromptSet:
    validation.check(document, SCHEMA, str(path))
    templates, first_seen = tuple(document["templates"]), dict[str, int]()
    for number, template in enumerate(templates):
        fault = placeholder_fault(template)
        if fault:
            raise ConfigError(f"{path}: templates[{number}]: {fault}")
        words = " ".join(template.casefold().split())
        first = first_seen.setdefault(words, number)
        if first != number:
            raise ConfigError(
                f"{path}: templates[{number}]: the same wording as templates[{first}]; reword or remove one"
            )
    provenance, waits = document.get("provenance"), None
    if provenance is not None:
        confirmed: Literal["unread"] | None = None if provenance.get("confirmed") else "unread"
        waits = confirmed if digest(templates) == provenance["templates_sha256"] else "edited"
    return PromptSet(
        name=path.stem,
        title=document["title"],
        paraphraser=document["paraphraser"],
        scale=document["scale"],
        origin=dict(document["origin"]),
        templates=templates,
        waits=waits,
        file=str(path),
    )


def _check_asked(path: Path, document: Mapping[str, Any]) -> None:
    """Refuse an original without its placeholders, and a checkpoint that is missing or has no use."""
    fault = placeholder_fault(document["original"])
    if fault:
        raise ConfigError(f"{path}: original: {fault}")
    is_pegasus = document["paraphraser"] == "pegasus"
    if is_pegasus and "checkpoint" not in document:
        raise ConfigError(
            f"{path}: key 'checkpoint' is missing; paraphraser 'pegasus' needs it, such as "
            "{source: tuner007/pegasus_paraphrase, revision: null}"
        )
    if not is_pegasus and "checkpoint" in document:
        raise ConfigError(
            f"{path}: checkpoint: paraphraser {document['paraphraser']!r} takes none, only 'pegasus' does; remove it "
            "(config/models.yaml states where a model's weights are)"
        )
    if is_pegasus and document["temperature"] == 0:
        raise ConfigError(f"{path}: temperature: 0 is too low, because pegasus samples; allowed: more than 0")


def _refuse_other_words(path: Path, document: Mapping[str, Any], frozen: Path) -> None:
    """Refuse a frozen file that was made from another request than ``document`` states now."""
    stored = validation.load_yaml(frozen)
    validation.check(stored, SCHEMA, str(frozen))
    made_with = stored.get("provenance", {}).get("request")
    if made_with is None:
        raise ConfigError(
            f"{frozen}: key 'provenance' is missing; restore it, or delete the file to generate all templates again. "
            "Edited templates can stay: `make confirm` records who worded which"
        )
    for key in ("paraphraser", "scale", "original", "temperature", "seed", "checkpoint", "count"):
        asked, held = document.get(key), made_with.get(key)
        if asked == held:
            continue
        keep = f", or move it to {part_path(frozen)}, which keeps its templates" if key == "count" else ""
        raise ConfigError(
            f"{path}: {key}: {asked!r} differs from {held!r}, with which {frozen} was made; restore that, or delete "
            f"{frozen} to generate all templates again{keep}"
        )
