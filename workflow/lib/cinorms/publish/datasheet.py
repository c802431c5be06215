"""A datasheet of a published study, in the sections of Gebru et al. (2021), from what the study knows of itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from cinorms.core.labels import listed
from cinorms.core.scales import measures_of
from cinorms.publish.contents import Item
from cinorms.study.facts import StudyFacts


def datasheet(
    about: Mapping[str, Any],
    study: StudyFacts,
    provenance: Mapping[str, Any],
    sources: Sequence[Mapping[str, str]],
    items: Sequence[Item],
) -> str:
    """Return the datasheet as Markdown."""
    measures = measures_of(arm.scale for arm in study.arms.values())
    sections = {
        "Motivation": [
            f"The data measure how language models rate information flows (contextual integrity), {measures}: sender, "
            "subject, information type, recipient and transmission principle vary systematically.",
            f"Published by {about['creator']}.",
        ],
        "Composition": [
            *(_arm(name, study) for name in study.arms),
            "The unit is one answer of one model to one flow in one wording and one order of the answer options"
            + (", or one rating of a flow by one person." if study.people else "."),
            study.mark or "Every answer was given by a model.",
            "Answers without a level keep a status that states why; a missing level is never 0.",
            "Flows describe roles, not persons. "
            + (
                "Those who rated them are running numbers here, without anything else about them."
                if study.people
                else "There are no data about people."
            ),
        ],
        "Collection": _collection(study, provenance),
        "Preprocessing": [
            "Levels are read from the texts by fixed rules; `rule` in the answers names the rule. Texts are unaltered.",
            f"A norm: consensus {study.consensus}, t_maj {study.t_maj}, at least t_val valid answers "
            f"({', '.join(f'{model} {t}' for model, t in study.t_val.items())}).",
        ],
        "Uses": [
            "To compare models, wordings and conditions. A norm describes what a model says, not what is right, and is "
            "no permission.",
            "Intervals hold in other wordings like those asked, not for other flows, unless a table states it.",
        ],
        "Distribution": [
            f"Licence of the results: {about['licence']}. Licences of what they are made from: `sources.csv`.",
            f"{len(items)} files; each is in `ro-crate-metadata.json` with its SHA-256, and each table with its "
            "columns in `croissant.json`.",
        ],
        "Maintenance": [
            f"Made with cinorms {about['software_version']} on {about['date']}. `settings.json` rebuilds the study.",
        ],
    }
    lines = [f"# Datasheet: {about['name']}", "", about["description"]]
    for heading, sentences in sections.items():
        lines += ["", f"## {heading}", "", *(f"- {sentence}" for sentence in sentences)]
    lines += ["", "## Sources", "", "| what | name | licence |", "|---|---|---|"]
    lines += [f"| {row['what']} | {row['name']} | {row['licence'] or 'not stated'} |" for row in sources]
    return "\n".join(lines) + "\n"


def _arm(name: str, study: StudyFacts) -> str:
    arm, dataset = study.arms[name], study.dataset_of(name)
    flows = f"Arm {name}: {dataset.title} (factors {', '.join(dataset.factors) or 'none'})"
    if arm.source == "human":
        return f"{flows}, rated by {arm.people}."
    return (
        f"{flows}, asked in {arm.n_templates} wordings x {arm.orders['count']} orders ({arm.orders['method']}), "
        f"temperature {arm.temperature}, of {listed(list(arm.models))}."
    )


def _collection(study: StudyFacts, provenance: Mapping[str, Any]) -> list[str]:
    lines = []
    for one in provenance["asked"]:
        when = " to ".join(
            dict.fromkeys(str(one[key])[:10] for key in ("first_reply", "last_reply") if one.get(key))
        )
        lines.append(
            f"{one['model']} in arm {one['arm']}: {one['responses']:,} responses through the engine {one['engine']}"
            + (f", {when}." if when else ".")
        )
    lines += [
        f"{one['model']} in arm {one['arm']}: {one['used']:,} responses that another tool collected ({one['format']}; "
        f"{one['origin'] or 'origin not stated'})."
        for one in provenance.get("received", [])
    ]
    lines += [
        f"Arm {name}: answers from {'a publication' if arm.source == 'published' else 'files of responses'}"
        f"{': ' + arm.origin if arm.origin else ''}."
        for name, arm in study.arms.items()
        if arm.source in ("published", "raw_csv")
    ]
    return lines
