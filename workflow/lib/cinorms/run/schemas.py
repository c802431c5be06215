"""``cinorms schema FOLDER``: JSON schemas with which an editor checks studies, the registry and files of resources/."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from cinorms.core.logs import command
from cinorms.core.scale_files import ScaleFile
from cinorms.core.schema import schema_of
from cinorms.entries.kind import SECTIONS, kinds
from cinorms.human.survey import SurveyFile
from cinorms.inference.model_entry import entries_schema
from cinorms.planted.settings import NormsFile
from cinorms.prompts.prompt_sets import GenerateFile, PromptFile
from cinorms.published.releases import ReleaseFile
from cinorms.study.settings import StudySettings
from cinorms.vignettes.designs import DatasetFile

#: The classes of the files of resources/ that a user can write, by the name of their schema.
RESOURCES = {
    "dataset": DatasetFile,
    "prompt_set": PromptFile,
    "generate_prompt_set": GenerateFile,
    "scale": ScaleFile,
    "ratings": SurveyFile,
    "published": ReleaseFile,
    "planted": NormsFile,
}


def schemas() -> dict[str, str]:
    """Return the text of each JSON schema by the name of its file."""
    study = schema_of(StudySettings)
    # For editors, also the entries of each kind are checked.
    properties = dict(study["properties"])
    for section in SECTIONS:
        each = {"oneOf": [kind.schema for kind in kinds(section).values()]}
        properties[section] = {**properties[section], "additionalProperties": each}
    schema_by_name = {
        "study": {**study, "properties": properties},
        "models": entries_schema(),
        **{name: schema_of(cls) for name, cls in RESOURCES.items()},
    }
    return {
        f"{name}.schema.json": json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        for name, schema in schema_by_name.items()
    }


@command()
def main(arguments: Sequence[str]) -> int:
    """Write the schemas into a folder."""
    parser = argparse.ArgumentParser(
        prog="cinorms schema",
        description="Write a JSON schema for studies, for the model registry and for each file of resources/.",
    )
    parser.add_argument(
        "folder", type=Path, help="the schemas are written here; it is made where it is missing"
    )
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schemas().items():
        (folder / name).write_text(text, encoding="utf-8")
    print(folder / "study.schema.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
