"""Frozen paraphrases: what one must be, how their file is written, and how a person's reading and edits are kept."""

import re
import time
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from cinorms.core.errors import ConfigError
from cinorms.core.files import replacing
from cinorms.core.scale_files import scale_near
from cinorms.core.yaml_files import load_yaml
from cinorms.prompts.prompt_sets import digest, load_prompt_set, placeholder_fault

HEAD = """\
# Made by the rule generate_paraphrases. Read the wordings, correct them here, then run `make confirm` with your study
# and commit this file. While it exists, the paraphraser is not asked again; provenance records who worded what.
"""

#: Shortest and longest paraphrase, as multiples of the characters of the original. The papers' paraphrases
#: have 0.72 to 0.96 of them; a much shorter one has dropped an instruction, a much longer one has added one.
LENGTHS = (0.4, 2.5)

#: A vignette that a template ends with a mark of its own: the vignettes have none.
_STOPPED = re.compile(r"\{scenario\}[.?!]")
_RUN_ON = re.compile(r"\{scenario\}[^\S\n]*(?:[A-Z]\w*|\{options\})")


def fault_of(candidate: str, templates: Sequence[str], options: Sequence[str]) -> str | None:
    """Return the first reason why ``candidate`` cannot be a template next to ``templates``, or ``None``.

    ``templates[0]`` is the original. The checks, in this order: there is text; it is one line; each of
    ``{scenario}`` and ``{options}`` is in it exactly once and no other placeholder is; none of the
    answer ``options`` is named; its length is within ``LENGTHS``; a vignette that has a full stop after it in the
    original does not run into the next sentence; its wording is none of ``templates``.
    """
    if not candidate.strip():
        return "it is empty"
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in candidate):
        return "it has a line break or another control character"
    fault = placeholder_fault(candidate) or option_fault(candidate, options)
    shortest, longest = (round(share * len(templates[0])) for share in LENGTHS)
    if not fault and not shortest <= len(candidate) <= longest:
        fault = f"it has {len(candidate)} characters; allowed: {shortest} to {longest}"
    if not fault and _STOPPED.search(templates[0]):
        fault = run_on_fault(candidate)
    wordings = [wording(template) for template in templates]
    if not fault and wording(candidate) in wordings:
        number = wordings.index(wording(candidate))
        fault = f"the same wording as wording {number}" + (" (the original)" if number == 0 else "")
    return fault


def option_fault(template: str, options: Sequence[str]) -> str | None:
    """Return which of the answer ``options`` is in ``template`` as words, or ``None``.

    A template that names an option suggests it to the model that is asked.
    """
    words = f" {wording(template)} "
    named = next((option for option in options if f" {wording(option)} " in words), None)
    return f"it names the answer option {named!r}" if named else None


def run_on_fault(template: str) -> str | None:
    """Return where a vignette without a full stop would run into the next sentence of ``template``, or ``None``.

    The next sentence begins with a capital letter, or is the list of options. A template that goes on with a small
    letter, a mark or a new line is left alone.
    """
    run_on = _RUN_ON.search(template)
    if not run_on:
        return None
    return f"the vignette runs into the next sentence ({run_on[0]!r}); put a full stop after {{scenario}}"


def wording(template: str) -> str:
    """Return the words of ``template`` without differences in capitals, punctuation and spaces."""
    plain = unicodedata.normalize("NFKC", template).casefold()
    return " ".join(re.findall(r"[^\W_]+", plain.replace("'", "").replace("’", "")))


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
    if digest(templates) != provenance["templates_sha256"]:
        # What a paraphraser could not have given either is refused.
        request, count = provenance["request"], len(templates) - 1
        if templates[0] != request["original"]:
            raise ConfigError(
                f"{path}: templates[0]: differs from the original that was reworded; restore it "
                f"({request['original']!r}), or state a new original in the prompt set and delete this file"
            )
        if count != request["count"]:
            raise ConfigError(
                f"{path}: templates: has {count} paraphrases, expected {request['count']}; write the missing ones by "
                "hand, or remove the extra ones"
            )
        options = scale_near(path, document["scale"]).options
        for number in range(1, len(templates)):
            fault = fault_of(templates[number], templates[:number], options)
            if fault:
                raise ConfigError(f"{path}: templates[{number}]: {fault}; correct it")
        provenance.setdefault("mended", []).append({"date": now(), "templates": mended_in(document)})
    provenance["confirmed"] = {"date": now(), "how": "read" if read else "unread"}
    write_frozen(document, path)


def mended_in(document: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the templates that are not as the paraphraser wrote them."""
    generated = document["provenance"].get("generated", [])
    pairs = enumerate(zip(document["templates"][1:], generated, strict=False), start=1)
    return [number for number, (template, written) in pairs if template != written]
