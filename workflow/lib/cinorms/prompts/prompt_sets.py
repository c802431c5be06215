"""Prompt sets: the wordings of the instruction, read from YAML and checked."""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from cinorms.core.errors import ConfigError, listing
from cinorms.core.schema import SHA256, Distinct, NotRequired, Number, ResourceName, SomeText, Text, Value
from cinorms.core.validation import check_document, load_as, unknown
from cinorms.core.yaml_files import load_yaml
from cinorms.prompts.acts import SEEN, asks_for_action
from cinorms.vignettes.source_files import Origin

#: Placeholders that a template must have exactly once: the vignette and the answer options.
PLACEHOLDERS = ("{scenario}", "{options}")
ACT_PLACEHOLDERS = ("{scenario}", SEEN)

#: Where the templates of a prompt set come from: its own file, or a paraphraser that is still to be asked.
#: ``frozen`` is a file that a paraphraser's templates were written to; it is used like a published one.
SOURCES = ("published", "frozen", "generate")

#: Set to 1 to accept paraphrases unread (`make run YES=1`).
YES = "CINORMS_YES"

Word = Annotated[str, Field(description="One of them.")]


class Checkpoint(Value):
    """The weights of pegasus."""

    source: Text = Field(
        description="Id on the Hugging Face hub (tuner007/pegasus_paraphrase is the usual one) or a local folder."
    )
    revision: str | None = Field(None, description="Commit of the hub repository; null for its newest.")


class Generation(Value):
    """What a paraphraser is asked."""

    paraphraser: Text = Field(description="A model of config/models.yaml, or pegasus.")
    scale: ResourceName = Field(description="The answer scale (resources/scales) that the original asks for.")
    original: Text = Field(
        description="Wording 0, which the others reword. It has {scenario} and {options} exactly once."
    )
    count: int = Field(ge=1, le=50, description="Number of paraphrases, in addition to the original.")
    tries: int = Field(ge=1, le=50)
    """Most rounds of asking per run; each round asks for the paraphrases still missing."""
    temperature: Number = Field(ge=0, le=2, description="Sampling temperature of the paraphraser.")
    seed: int = Field(ge=0, description="Seed of the first round; each further round adds one.")
    checkpoint: NotRequired[Checkpoint] = None
    """The weights of pegasus (paraphraser pegasus only)."""


class GenerateFile(Generation):
    """One original; the rule generate_paraphrases asks a paraphraser to reword it and freezes the results."""

    title: Text = Field(description="Name for people, used in tables, figures and the report.")
    source: Literal["generate"]
    """generate, for a prompt set whose wordings a paraphraser makes."""


class Round(Value):
    """One round of asking."""

    date: str = Field(description="When it was asked (UTC).")
    seed: int = Field(description="Seed of the round.")
    asked: int = Field(description="Wordings asked for.")
    returned: int = Field(description="Candidates that came back.")
    accepted: int = Field(description="Candidates that passed every check.")
    reported: NotRequired[Mapping[str, Word]] = None
    """What the paraphraser reported about itself, such as the model that answered."""


class Rejected(Value):
    """A candidate that was not used."""

    round: int = Field(description="Its round, from 1.")
    candidate: str = Field(description="Its text.")
    reason: str = Field(description="The check that it failed.")


class Mended(Value):
    """What differed from the paraphraser's words at a confirmation."""

    date: str = Field(description="When it was confirmed (UTC).")
    templates: tuple[int, ...] | None
    """Numbers of the wordings worded by hand; null where the paraphraser's words were not kept."""


class Confirmed(Value):
    """When and how somebody confirmed that models may be asked in these words."""

    date: str = Field(description="When (UTC).")
    how: Literal["read", "unread", "planted"]
    """Read by a person, accepted unread (YES=1), or planted (a fixed list that needs no reading)."""


class Provenance(Value):
    """How frozen templates were made. Written by the rule generate_paraphrases, not by hand."""

    request: Generation = Field(description="The request, as the file with `source: generate` stated it.")
    paraphraser: Mapping[str, Annotated[Any, Field(description="A key of the registry's entry.")]]
    """The paraphraser's entry in the registry at that time: the keys that state who was asked."""
    instruction: str = Field(description="The instruction to the paraphraser.")
    rounds: tuple[Round, ...] = Field(description="Each round of asking.")
    rejected: tuple[Rejected, ...] = Field(description="Candidates that were not used.")
    software: Mapping[str, Word] = Field(description="Versions by package.")
    generated: tuple[str, ...] = Field((), description="Wordings 1 and up as the paraphraser wrote them.")
    mended: tuple[Mended, ...] = Field((), description="Edits by hand that were confirmed.")
    confirmed: Confirmed | None = None
    """When and how somebody confirmed that models may be asked in these words; null until then."""
    templates_sha256: str = Field(pattern=SHA256)
    """SHA-256 of the wordings, joined by line breaks."""


class Sent(Value):
    """Characters that were sent in place of printed ones."""

    templates: Distinct[int] = ()
    """Numbers of the wordings; all where it is left out."""
    printed: SomeText = Field(description="The characters in the wordings.")
    sent: SomeText = Field(description="What was sent in their place.")


class PromptFile(Value):
    """One instruction in several wordings by one paraphraser."""

    title: Text = Field(description="Name for people, used in tables, figures and the report.")
    source: Literal["published", "frozen"] = "published"
    """published for wordings written down by people; frozen for those that the rule generate_paraphrases wrote. A file
    with `source: generate` has other keys."""
    paraphraser: Text = Field(description="Who or what worded wordings 1 and up.")
    scale: ResourceName
    """An answer scale (resources/scales); the wordings fit every scale that measures the same."""
    origin: Origin = Field(description="Where the wordings come from.")
    templates: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    """The wordings; the first is the original, number 0. Each has {scenario} and {options} exactly once; wordings that
    ask for an action have {scenario} and {seen}."""
    sent: tuple[Sent, ...] = ()
    """Where the authors' code differs from their paper; an arm with `layout: paper` sends what it sent."""
    provenance: NotRequired[Provenance] = Field(None, description=str(Provenance.__doc__))


@dataclass(frozen=True)
class PromptSet:
    """The wordings of one paraphraser; ``templates[0]`` is the original, as the papers number it.

    ``generate`` is the request for wordings 1 and up where they do not exist yet; ``templates`` then holds the
    original alone. ``waits`` is why nobody may be asked in these words yet (see ``confirm``): nobody has read
    them since the paraphraser wrote them, or a person has edited them since. ``file`` is where they are.
    """

    name: str
    title: str
    paraphraser: str
    scale: str
    origin: dict[str, str]
    templates: tuple[str, ...]
    #: The templates as the authors' code sent them, where it differs from print.
    sent: tuple[str, ...] = ()
    generate: GenerateFile | None = None
    waits: Literal["unread", "edited"] | None = None
    file: str = ""

    @property
    def task(self) -> str:
        """What its wordings ask for: to rate a flow, or to act."""
        return "act" if asks_for_action(self.templates[0]) else "rate"

    def worded(self, layout: str) -> list[str]:
        """Return the wordings of an arm with this layout; those still to be made are the original."""
        known = self.sent if self.sent and layout == "paper" else self.templates
        return [*known, *known[:1] * (self.n_templates - len(known))]

    @property
    def n_templates(self) -> int:
        """Number of wordings, including those that do not exist yet."""
        return self.generate.count + 1 if self.generate else len(self.templates)


def load_prompt_set(path: str | Path) -> PromptSet:
    """Read the prompt set at ``path``; its name is the file's name without ``.yaml``.

    One with ``source: generate`` has the templates of its frozen file, where that is there.

    Raises ``ConfigError`` where a key is wrong, a template lacks or repeats a placeholder or holds an unknown
    one, two templates are the same text but for capitals and spaces, or a frozen file was made from other words
    than ``path`` has now.
    """
    path = Path(path)
    document = load_yaml(path)
    source = document.get("source", "published") if isinstance(document, dict) else "published"
    if source not in SOURCES:
        raise unknown(str(path), "source", source, SOURCES, "source of wordings")
    if source != "generate":
        return _stated(path)
    asked = load_as(GenerateFile, path)
    _check_asked(path, asked)
    frozen = path.parent / "frozen" / path.name
    if frozen.is_file():
        _refuse_other_words(path, document, frozen)
        return load_prompt_set(frozen)
    return PromptSet(
        name=path.stem,
        title=asked.title,
        paraphraser=asked.paraphraser,
        scale=asked.scale,
        origin={},
        templates=(asked.original,),
        generate=asked,
    )


def templates_path(path: Path) -> Path:
    """Return the file that holds the templates of the prompt set at ``path``, or will hold them."""
    document = load_yaml(path)
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


def placeholder_fault(template: str, placeholders: Sequence[str] = PLACEHOLDERS) -> str | None:
    """Return what is wrong with the placeholders of ``template``, or ``None``."""
    for name in re.findall(r"\{[^{}]*\}", template):
        if name not in placeholders:
            return f"{name} is not a placeholder; {listing(name, placeholders)}"
    for name in placeholders:
        count = template.count(name)
        if count != 1:
            return f"{name} appears {count} times; expected exactly once"
    rest = template
    for name in placeholders:
        rest = rest.replace(name, "")
    if "{" in rest or "}" in rest:
        return f"a brace belongs to no placeholder; allowed: {', '.join(placeholders)}"
    return None


def digest(templates: Sequence[str]) -> str:
    """Return the SHA-256 of ``templates``, joined by line breaks, as 64 hexadecimal digits."""
    return hashlib.sha256("\n".join(templates).encode()).hexdigest()


def _stated(path: Path) -> PromptSet:
    stated = load_as(PromptFile, path)
    templates, first_seen = stated.templates, dict[str, int]()
    placeholders = ACT_PLACEHOLDERS if asks_for_action(templates[0]) else PLACEHOLDERS
    for number, template in enumerate(templates):
        fault = placeholder_fault(template, placeholders)
        if fault:
            raise ConfigError(f"{path}: templates[{number}]: {fault}")
        words = " ".join(template.casefold().split())
        first = first_seen.setdefault(words, number)
        if first != number:
            raise ConfigError(
                f"{path}: templates[{number}]: the same wording as templates[{first}]; reword or remove one"
            )
    waits: Literal["unread", "edited"] | None = None
    if stated.provenance is not None:
        if digest(templates) != stated.provenance.templates_sha256:
            waits = "edited"
        elif not stated.provenance.confirmed:
            waits = "unread"
    elif stated.source == "frozen":
        raise ConfigError(f"{path}: key 'provenance' is missing; a file with 'source: frozen' needs it")
    return PromptSet(
        name=path.stem,
        title=stated.title,
        paraphraser=stated.paraphraser,
        scale=stated.scale,
        origin=stated.origin.model_dump(exclude_unset=True),
        templates=templates,
        sent=_as_sent(path, stated),
        waits=waits,
        file=str(path),
    )


def _as_sent(path: Path, stated: PromptFile) -> tuple[str, ...]:
    """Return the templates with the characters that were sent, or none where nothing differs."""
    templates = list(stated.templates)
    for number, edit in enumerate(stated.sent):
        for place in edit.templates or range(len(templates)):
            if place not in range(len(templates)) or edit.printed not in templates[place]:
                raise ConfigError(
                    f"{path}: sent[{number}]: templates[{place}] has no {edit.printed!r}; name those that have it"
                )
            templates[place] = templates[place].replace(edit.printed, edit.sent)
            if fault := placeholder_fault(templates[place]):
                raise ConfigError(f"{path}: sent[{number}]: templates[{place}]: {fault}")
    return tuple(templates) if stated.sent else ()


def _check_asked(path: Path, asked: GenerateFile) -> None:
    """Refuse an original without its placeholders, and a checkpoint that is missing or has no use."""
    fault = placeholder_fault(asked.original)
    if fault:
        raise ConfigError(f"{path}: original: {fault}")
    is_pegasus = asked.paraphraser == "pegasus"
    if is_pegasus and asked.checkpoint is None:
        raise ConfigError(
            f"{path}: key 'checkpoint' is missing; paraphraser 'pegasus' needs it, such as "
            "{source: tuner007/pegasus_paraphrase, revision: null}"
        )
    if not is_pegasus and asked.checkpoint is not None:
        raise ConfigError(
            f"{path}: checkpoint: paraphraser {asked.paraphraser!r} takes none, only 'pegasus' does; remove it "
            "(config/models.yaml states where a model's weights are)"
        )
    if is_pegasus and asked.temperature == 0:
        raise ConfigError(f"{path}: temperature: 0 is too low, because pegasus samples; allowed: more than 0")


def _refuse_other_words(path: Path, document: Mapping[str, Any], frozen: Path) -> None:
    """Refuse a frozen file that was made from another request than ``document`` states now."""
    stored = load_yaml(frozen)
    check_document(stored, PromptFile, str(frozen))
    made_with = stored.get("provenance", {}).get("request")
    if made_with is None:
        raise ConfigError(
            f"{frozen}: key 'provenance' is missing; restore it, or delete the file to generate all wordings again. "
            "Edited wordings can stay: `make confirm` records who worded which"
        )
    for key in ("paraphraser", "scale", "original", "temperature", "seed", "checkpoint", "count"):
        asked, held = document.get(key), made_with.get(key)
        if asked == held:
            continue
        keep = f", or move it to {part_path(frozen)}, which keeps its wordings" if key == "count" else ""
        raise ConfigError(
            f"{path}: {key}: {asked!r} differs from {held!r}, with which {frozen} was made; restore that, or delete "
            f"{frozen} to generate all wordings again{keep}"
        )
