"""What a study is made from and its licences: datasets, prompt sets, published answers, ratings, models."""

from collections.abc import Iterator, Mapping
from typing import Any

from cinorms.study.study import Study
from cinorms.vignettes.source_files import SourceFile

#: Columns of the table of sources.
COLUMNS = {
    "what": "Dataset, prompt set, published answers, ratings by people, model or planted respondent.",
    "name": "Its name in the study.",
    "citation": "Who made it.",
    "licence": "Its licence; missing where its makers state none.",
    "address": "Where it is from; of a model with its revision.",
    "sha256": "SHA-256 of a file that was downloaded.",
}


def sources_of(study: Study) -> list[dict[str, str]]:
    """Return one row per dataset, prompt set, release, survey and model, and per file with an address."""
    return [{column: str(row.get(column) or "") for column in COLUMNS} for row in _rows(study)]


def _rows(study: Study) -> Iterator[dict[str, Any]]:
    for name in study.datasets():
        dataset = study.dataset(name)
        yield from _with_files("dataset", name, dataset.origin, dataset.files or {})
    for name in study.worded():
        yield from _with_files("prompt set", name, study.prompt_set(name).origin, {})
    frames = [str(study.arms[arm].frame) for arm in study.arms_from("published")]
    for name in dict.fromkeys(frame.partition("/")[0] for frame in frames):
        release = study.release(name)
        yield from _with_files("published answers", name, dict(release.origin), release.files)
    surveys = {survey.name: survey for survey in map(study.survey, study.arms_from("human"))}
    for name, survey in surveys.items():
        yield from _with_files("ratings by people", name, dict(survey.origin), survey.sources)
    people = study.people()
    for model in study.all_models():
        if model in people:
            continue
        stated = study.registry_entry(model).stated
        address = "@".join(str(stated[key]) for key in ("source", "revision") if stated.get(key))
        if address:
            yield {"what": "model", "name": model, "address": address, "licence": "see the model's own page"}
        else:
            yield {"what": "planted respondent", "name": model}


def _with_files(
    what: str, name: str, origin: Mapping[str, str], files: Mapping[str, SourceFile]
) -> Iterator[dict[str, Any]]:
    common = {"what": what, "citation": origin.get("citation"), "licence": origin.get("licence")}
    yield {**common, "name": name, "address": origin.get("url")}
    for file, source in files.items():
        if source.path is None:
            yield {**common, "name": f"{name}: {file}", "address": source.url, "sha256": source.sha256}
