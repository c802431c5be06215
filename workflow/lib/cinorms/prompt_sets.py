"""Prompt sets: the wordings of the instruction, read from YAML and checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from cinorms import validation
from cinorms.errors import ConfigError

#: What a template must hold exactly once: the vignette and the answer options.
PLACEHOLDERS = ("{scenario}", "{options}")

SCHEMA = Path(__file__).parents[2] / "schemas" / "prompt_set.schema.yaml"


@dataclass(frozen=True)
class PromptSet:
    """The wordings of one paraphraser; ``templates[0]`` is the original, as the papers number it."""

    name: str
    title: str
    paraphraser: str
    scale: str
    origin: dict[str, str]
    templates: tuple[str, ...]


def load_prompt_set(path: str | Path) -> PromptSet:
    """Read the prompt set at ``path``; its name is the file's name without ``.yaml``.

    Raises ``ConfigError`` where a key is wrong, a template lacks or repeats a placeholder or holds an unknown
    one, or two templates are the same text but for capitals and spaces.
    """
    path = Path(path)
    document = validation.load_yaml(path)
    validation.check(document, SCHEMA, str(path))
    templates = tuple(document["templates"])
    for number, template in enumerate(templates):
        fault = placeholder_fault(template)
        if fault:
            raise ConfigError(f"{path}: templates[{number}]: {fault}")
    _refuse_twins(str(path), templates)
    return PromptSet(
        name=path.stem,
        title=document["title"],
        paraphraser=document["paraphraser"],
        scale=document["scale"],
        origin=dict(document["origin"]),
        templates=templates,
    )


def placeholder_fault(template: str) -> str | None:
    """Return what is wrong with the placeholders of ``template``, or ``None``."""
    for name in re.findall(r"\{[^{}]*\}", template):
        if name not in PLACEHOLDERS:
            return f"placeholder {name} is not known; {validation.listing(name, PLACEHOLDERS)}"
    for name in PLACEHOLDERS:
        count = template.count(name)
        if count != 1:
            return f"{name} stands {count} times in {template!r}; it must stand there exactly once"
    return None


def normalised(template: str) -> str:
    """Return ``template`` without differences in capitals and spaces, to compare templates by."""
    return " ".join(template.casefold().split())


def _refuse_twins(file: str, templates: tuple[str, ...]) -> None:
    first_seen: dict[str, int] = {}
    for number, template in enumerate(templates):
        first = first_seen.setdefault(normalised(template), number)
        if first != number:
            raise ConfigError(
                f"{file}: templates[{number}]: the same wording as templates[{first}]; they must differ"
            )
