"""Paraphrases, checked and frozen.

``python -m cinorms.prompts.paraphrase.generate --request JSON --out FILE --log FILE`` has PEGASUS or the planted
paraphraser reword; ``cinorms.inference.paraphraser`` asks models. No Snakemake scripts: an edit asks nobody again.
"""

import argparse
import json
import platform
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from cinorms.core.ending import ending_in_time
from cinorms.core.errors import CinormsError, ConfigError
from cinorms.core.logs import start_logging
from cinorms.core.run_process import end_with_run
from cinorms.core.scales import Scale
from cinorms.core.validation import unknown
from cinorms.core.version import version
from cinorms.core.yaml_files import load_yaml
from cinorms.prompts.paraphrase.frozen_file import fault_of, now, option_fault, write_frozen
from cinorms.prompts.paraphrase.paraphrasers import PARAPHRASERS, Ask, ParaphraseError, Paraphraser
from cinorms.prompts.prompt_sets import Generation, PromptSet, accepted_unread, digest, part_path

#: Rejected candidates that the message about too few valid ones shows.
SHOWN = 12

#: Characters of a rejected candidate that are kept.
KEPT_CHARACTERS = 500


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask for the paraphrases that the arguments describe and freeze them."""
    parser = argparse.ArgumentParser(prog="cinorms.prompts.paraphrase.generate")
    for name in ("request", "out", "log"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args(arguments)
    request = json.loads(options.request)
    start_logging(options.log)
    end_with_run()
    freeze(request, PARAPHRASERS[request["paraphraser"]["engine"]](request["paraphraser"]), Path(options.out))


class Registered(Protocol):
    """A model of the registry, as far as a paraphraser is concerned."""

    @property
    def paraphraser(self) -> Mapping[str, Any]:
        """Which model paraphrases: its engine, and the keys of its entry that can change a reply."""

    def paraphrasing(self, wanted: Generation, scale: Scale) -> Mapping[str, Any] | None:
        """Return the request for the first round of paraphrases, as plain data; None where no model is asked."""


def make_request(
    prompt_set: PromptSet,
    scale: Scale,
    registry: Mapping[str, Registered],
    planted: bool = False,
    file: str = "",
) -> dict[str, Any]:
    """Return the request to the paraphraser of ``prompt_set`` as plain data; ``asked``: what a model is asked.

    ``scale`` has the options that no paraphrase may name. ``planted`` puts the planted paraphraser in its place.
    ``file`` is the prompt set's, as messages name it.

    Raises ``ConfigError`` for a paraphraser that is neither in ``registry`` nor pegasus or cannot paraphrase, and for
    an original that names an answer option.
    """
    asked, name, request = prompt_set.generate, prompt_set.paraphraser, None
    assert asked is not None, "only a prompt set with paraphrases to generate has a request"
    file = file or f"resources/prompts/{prompt_set.name}.yaml"
    fault = option_fault(prompt_set.templates[0], scale.options)
    if fault:
        raise ConfigError(f"{file}: original: {fault}; leave it out: {{options}} shows the options")
    if name == "pegasus":
        assert asked.checkpoint is not None, "pegasus has one"
        entry: Mapping[str, Any] = {"engine": "pegasus", **asked.checkpoint.model_dump(exclude_unset=True)}
    elif name in registry:
        entry, request = registry[name].paraphraser, registry[name].paraphrasing(asked, scale)
        if request is None and entry["engine"] not in PARAPHRASERS:
            raise ConfigError(
                f"{file}: paraphraser: {name!r} has the engine {entry['engine']!r}, which cannot paraphrase; name "
                "another model, or pegasus"
            )
    else:
        raise unknown(file, "paraphraser", name, [*registry, "pegasus"], "paraphraser")
    who = {"name": name, **entry}
    if planted:
        who, request = {"name": f"planted paraphraser for {name}", "engine": "planted"}, None
    return {
        "name": prompt_set.name,
        "title": prompt_set.title,
        "file": file,
        "options": list(scale.options),
        "paraphraser": who,
        "asked": request,
        "request": asked.model_dump(exclude={"title", "source"}, exclude_unset=True),
    }


def freeze(request: Mapping[str, Any], paraphraser: Paraphraser, out: Path) -> None:
    """Ask until there are enough valid paraphrases, and write them to ``out`` with their provenance.

    While there are too few, the valid ones are in ``part_path(out)``, which is written after every round and
    read first: what was valid is not asked for again, and the seeds go on where they stopped.

    Raises ``ParaphraseError`` where there are too few after the rounds that the request allows.
    """
    if out.is_file():
        print(f"{out} exists already; nothing is asked")
        return
    part = part_path(out)
    document = _resume(part, request, paraphraser) or _begin(request, paraphraser)
    count, rounds = request["request"]["count"], document["provenance"]["rounds"]
    before = len(rounds)
    while (missing := count + 1 - len(document["templates"])) > 0:
        if len(rounds) - before == request["request"]["tries"]:
            raise ParaphraseError(_too_few(document, missing, request["file"], part))
        try:
            _ask_once(document, missing, paraphraser, request["options"])
        except CinormsError as error:
            valid = len(document["templates"]) - 1
            kept = f" ({valid} valid paraphrases are kept in {part} for the next run)" if valid else ""
            raise ParaphraseError(f"{error}{kept}") from None
        write_frozen(document, part)
        print(f"round {len(rounds)}: {rounds[-1]['accepted']} of {missing} missing paraphrases are valid")
    write_frozen(document, out)
    part.unlink(missing_ok=True)
    print(f"{out}: {count} paraphrases, the last of them in round {len(rounds)}")


def _begin(request: Mapping[str, Any], paraphraser: Paraphraser) -> dict[str, Any]:
    who = request["paraphraser"]
    file, planted = request["file"], who["engine"] == "planted"
    # A fixed list has nothing that somebody must read.
    confirmed = {"date": now(), "how": "planted" if planted else "unread"}
    return {
        "title": request["title"],
        "source": "frozen",
        "paraphraser": who["name"],
        "scale": request["request"]["scale"],
        "origin": {
            "citation": f"Wording 0 from {file}; the others by {who['name']}",
            "licence": "not stated; the terms of the paraphraser apply to wordings 1 and up",
            **({"note": "Planted rewordings from a fixed list: no model was asked."} if planted else {}),
        },
        "templates": [request["request"]["original"]],
        "provenance": {
            "request": dict(request["request"]),
            "paraphraser": dict(who),
            "instruction": paraphraser.instruction,
            "rounds": [],
            "rejected": [],
            "software": {},
            "generated": [],
            "confirmed": confirmed if planted or accepted_unread() else None,
            "templates_sha256": "",
        },
    }


def _resume(part: Path, request: Mapping[str, Any], paraphraser: Paraphraser) -> dict[str, Any] | None:
    """Return the document of an earlier run, which is paid for; move one with another request aside."""
    if not part.is_file():
        return None
    document: dict[str, Any] = load_yaml(part)
    held, fresh = document["provenance"], _begin(request, paraphraser)["provenance"]
    # How many are wanted, and in how many rounds, does not make a valid paraphrase another one.
    free = {"count", "tries"}

    def identity(provenance: Mapping[str, Any]) -> list[Any]:
        fixed = {key: value for key, value in provenance["request"].items() if key not in free}
        return [provenance["paraphraser"], provenance["instruction"], fixed]

    if identity(held) == identity(fresh) and digest(document["templates"]) == held["templates_sha256"]:
        held["request"], held["confirmed"] = fresh["request"], fresh["confirmed"]
        wanted = request["request"]["count"]
        del document["templates"][wanted + 1 :], held["generated"][wanted:]
        print(f"{part}: {len(document['templates']) - 1} valid paraphrases of earlier rounds are reused")
        return document
    aside = part.with_name(f"{part.name}.{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}")
    part.rename(aside)
    print(f"{part} was made with another request or edited; it is moved to {aside.name}")
    return None


def _ask_once(
    document: dict[str, Any], missing: int, paraphraser: Paraphraser, options: Sequence[str]
) -> None:
    """Ask for the ``missing`` paraphrases, check what comes back and add it to ``document``."""
    provenance, templates = document["provenance"], document["templates"]
    wanted, number = provenance["request"], len(provenance["rounds"])
    before, seed = len(templates), wanted["seed"] + number
    ask = Ask(tuple(templates), missing, wanted["scale"], wanted["temperature"], seed)
    candidates = paraphraser.ask(ask)
    for candidate in candidates.texts:
        if len(templates) == wanted["count"] + 1:
            break
        reason = candidates.refused or fault_of(candidate, templates, options)
        if reason is None:
            templates.append(candidate)
            provenance["generated"].append(candidate)
        else:
            kept = candidate if len(candidate) <= KEPT_CHARACTERS else candidate[:KEPT_CHARACTERS] + " ..."
            provenance["rejected"].append({"round": number + 1, "candidate": kept, "reason": reason})
    provenance["rounds"].append(
        {
            "date": now(),
            "seed": seed,
            "asked": missing,
            "returned": len(candidates.texts),
            "accepted": len(templates) - before,
            **({"reported": dict(candidates.reported)} if candidates.reported else {}),
        }
    )
    versions = {package: metadata.version(package) for package in paraphraser.packages}
    provenance["software"] = {"cinorms": version(), "python": platform.python_version(), **versions}


def _too_few(document: Mapping[str, Any], missing: int, file: str, part: Path) -> str:
    """Return the message: how many are missing, what was rejected and why, what to do."""
    provenance, count = document["provenance"], document["provenance"]["request"]["count"]
    rejected = provenance["rejected"]
    lines = [
        f"{file}: {count - missing} of {count} paraphrases by {document['paraphraser']} are valid, {missing} missing "
        f"after round {len(provenance['rounds'])}. Rejected:"
    ]
    if len(rejected) > SHOWN:
        lines.append(f"  ({len(rejected) - SHOWN} earlier ones are in {part})")
    for fault in rejected[-SHOWN:]:
        lines.append(f"  round {fault['round']}: {fault['reason']}: {fault['candidate'][:120]!r}")
    lines.append(
        f"The valid ones are kept in {part}: run again, and only the missing ones are asked for. If the "
        "same reasons come back, change the original, the temperature or the paraphraser, or lower count"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    with ending_in_time():
        main()
