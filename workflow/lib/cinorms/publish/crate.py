"""A Workflow Run RO-Crate: which files a run of the workflow made, from what, with which software."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cinorms.core.files import sha256_of
from cinorms.publish.contents import Item

CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}


def crate(
    about: Mapping[str, Any], items: Sequence[Item], workflow: str, settings: str, folder: Path
) -> dict[str, Any]:
    """Return the metadata of the crate; ``workflow`` and ``settings`` are paths: what ran, and what it was given.

    ``about["language"]`` is what the workflow is written in.
    """
    made = [{"@id": item.path} for item in items if item.path not in (workflow, settings)]
    graph = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": [
                {"@id": "https://w3id.org/ro/crate/1.1"},
                {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"},
            ],
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": about["name"],
            "description": about["description"],
            "datePublished": about["date"],
            "license": {"@id": about["licence_url"]},
            "publisher": {"@id": "#creator"},
            "conformsTo": [{"@id": profile} for profile in PROFILES],
            "mainEntity": {"@id": workflow},
            "hasPart": [{"@id": item.path} for item in items],
            "mentions": [{"@id": "#run"}],
        },
        *(
            {"@id": profile, "@type": "CreativeWork", "name": name, "version": version}
            for profile, (name, version) in PROFILES.items()
        ),
        {
            "@id": about["licence_url"],
            "@type": "CreativeWork",
            "name": about["licence"],
            "description": about["licence"],
        },
        {"@id": "#creator", "@type": "Organization", "name": about["creator"]},
        {"@type": "ComputerLanguage", **about["language"]},
        *(_file(item, folder, workflow, about) for item in items),
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": f"Run of the study {about['study']} with cinorms {about['software_version']}",
            "instrument": {"@id": workflow},
            "object": [{"@id": settings}],
            "result": made,
            "agent": {"@id": "#creator"},
            "endTime": about["date"],
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    ]
    return {"@context": CONTEXT, "@graph": graph}


def _file(item: Item, folder: Path, workflow: str, about: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        "@id": item.path,
        "@type": "File",
        "name": item.path,
        "description": item.holds,
        "encodingFormat": item.encoding,
        "contentSize": str((folder / item.path).stat().st_size),
        "sha256": sha256_of(folder / item.path),
    }
    if item.path != workflow:
        return found
    return {
        **found,
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": f"cinorms {about['software_version']}",
        "version": about["software_version"],
        "programmingLanguage": {"@id": about["language"]["@id"]},
        "license": {"@id": about["licence_url"]},
        "creator": {"@id": "#creator"},
    }
