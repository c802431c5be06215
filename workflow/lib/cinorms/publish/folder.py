"""Make the folder of a published study: data, metadata in the formats of other projects, and a datasheet."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms.core import tables
from cinorms.core.csv_files import read_csv, write_csv
from cinorms.core.tables import REPEATS
from cinorms.core.version import __version__
from cinorms.publish.contents import (
    Item,
    Member,
    copy_json,
    copy_table,
    insist_on_nothing_personal,
    internal_hosts,
    join_tables,
    without_places,
    write_json,
)
from cinorms.publish.crate import crate
from cinorms.publish.croissant import croissant
from cinorms.publish.datasheet import datasheet
from cinorms.publish.eval_records import records_of
from cinorms.publish.output_schema import OUTPUT_SCHEMA
from cinorms.publish.sources import COLUMNS
from cinorms.study.facts import StudyFacts

#: What a folder states of the study and the software, next to the data.
WORKFLOW, SETTINGS = "workflow/Snakefile", "settings.json"


@dataclass(frozen=True)
class FinishedFiles:
    """The files of a finished study, by what they are."""

    norms: str
    dictionary: str
    study: str
    provenance: str
    tables: Sequence[str]
    responses: Sequence[Member]
    answers: Sequence[Member]
    #: Variants by arm.
    prompts: Mapping[str, str]
    workflow: str
    #: Of arms that are asked again: what was read in the further askings.
    repeats: Sequence[Member]
    #: What the workflow is written in, as an entity of a crate: its id, name and address.
    language: Mapping[str, str]


def publish(
    results: FinishedFiles,
    sources: Sequence[Mapping[str, str]],
    today: date,
    folder: Path,
    secrets: Iterable[str] = (),
) -> list[Item]:
    """Write the folder and return its items. Raises ``DataError`` where a file would hold something personal.

    The folder appears whole or not at all: nobody finds one that was refused.
    """
    part = folder.with_name(f".{folder.name}.part")
    for each in (folder, part):
        shutil.rmtree(each, ignore_errors=True)
    try:
        items = _write(results, without_places(sources), today, part)
        raw = (Path(path).read_text(encoding="utf-8") for path in (results.study, results.provenance))
        insist_on_nothing_personal(part, secrets, internal_hosts(" ".join(raw)))
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return items


def _write(
    results: FinishedFiles, sources: Sequence[Mapping[str, str]], today: date, folder: Path
) -> list[Item]:
    folder.mkdir(parents=True)
    study = StudyFacts.model_validate(copy_json(results.study, folder / "study.json"))
    provenance = copy_json(results.provenance, folder / "provenance.json")
    write_json(study.settings, folder / SETTINGS)
    (folder / WORKFLOW).parent.mkdir()
    shutil.copyfile(results.workflow, folder / WORKFLOW)
    about = {**_about(study, today), "language": dict(results.language)}
    items = [
        Item(
            WORKFLOW,
            "The Snakemake workflow that made the results (its rules are in the cinorms repository).",
        ),
        Item(SETTINGS, "Every setting of the study."),
        Item("study.json", "What the study is: arms, datasets, models, tables and figures."),
        Item("provenance.json", "What every response was made with."),
        *_data(results, folder),
    ]
    write_csv(pd.DataFrame(sources, columns=list(COLUMNS)), folder / "sources.csv")
    items.append(
        Item("sources.csv", "What the study is made from, with licences. One row per source.", COLUMNS)
    )
    prompts = {arm: tables.read(path, tables.PROMPTS) for arm, path in results.prompts.items()}
    answers = (
        (one.arm, one.model, tables.read(one.path, tables.ANSWERS), prompts[one.arm])
        for one in results.answers
    )
    for path, record in records_of(about, study, answers, read_csv(results.norms)):
        write_json(record, folder / path)
        items.append(Item(str(path), f"Aggregates of {record['model_info']['id']} for Every Eval Ever."))
    (folder / "DATASHEET.md").write_text(
        datasheet(about, study, provenance, sources, items), encoding="utf-8"
    )
    items.append(Item("DATASHEET.md", "What the data are, how they were made, and what they are good for."))
    write_json(croissant(about, items, folder), folder / "croissant.json")
    items.append(Item("croissant.json", "Metadata of the tables, in Croissant 1.0."))
    write_json(crate(about, items, WORKFLOW, SETTINGS, folder), folder / "ro-crate-metadata.json")
    return items


def _about(study: StudyFacts, today: date) -> dict[str, Any]:
    """Return what all metadata state about the whole."""
    stated = study.settings["publish"]
    titles = ", ".join(dataset.title for dataset in study.datasets.values())
    name, creator = f"cinorms-{study.name}", stated["creator"] or "the authors of the study"
    url = stated["url"] or f"urn:cinorms:{study.name}"
    return {
        "study": study.name,
        "name": name,
        "description": f"Privacy norms of {len(study.models)} models: {titles}. {study.mark}".strip(),
        "licence": stated["licence"],
        "licence_url": f"https://spdx.org/licenses/{stated['licence']}.html",
        "url": url,
        "creator": creator,
        "version": f"{OUTPUT_SCHEMA}.0.0",
        "date": today.isoformat(),
        "timestamp": str(int(datetime(today.year, today.month, today.day).timestamp())),
        "software_version": __version__,
        "citation": f"{creator} ({today.year}). {name}. {url}",
    }


def _data(results: FinishedFiles, folder: Path) -> list[Item]:
    """Write the tables: norms, those of the analyses, answers and responses, and the dictionary of their columns."""
    known = read_csv(results.dictionary)
    described: dict[str, tuple[str, dict[str, str]]] = {
        str(file): (str(rows.iloc[0, 1]), dict(zip(rows["column"], rows["description"], strict=True)))
        for file, rows in known.groupby("file", sort=False)
    }
    about_dictionary = {str(name): str(name).capitalize() for name in known}
    items = [
        copy_table(results.norms, folder, "norms.csv", *described["norms.csv"]),
        copy_table(
            results.dictionary,
            folder,
            "dictionary.csv",
            "Every column of the study's files. One row per file and column.",
            described.get("dictionary.csv", ("", about_dictionary))[1],
        ),
    ]
    for path in results.tables:
        name = f"tables/{Path(path).name}"
        items.append(copy_table(path, folder, name, *described[name]))
    joined = (
        (tables.ANSWERS, results.answers),
        (REPEATS, results.repeats),
        (tables.RESPONSES, results.responses),
    )
    for contract, members in joined:
        if members:
            holds = f"{contract.holds} One row per arm, model, {', '.join(contract.key)}."
            items.append(join_tables(members, folder, f"{contract.name}.parquet", holds, contract.about))
    return items
