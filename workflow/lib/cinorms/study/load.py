"""From study files to one checked study: layers are merged, and every name is looked up."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.core.validation import parse
from cinorms.core.yaml_files import check_mapping, load_yaml, read_yaml
from cinorms.entries.kind import use_own
from cinorms.inference.model_entry import REVISIONS, ModelEntry, load_registry
from cinorms.study.checks import check_names
from cinorms.study.entries import with_entries
from cinorms.study.layers import Layers, merge, place_in
from cinorms.study.settings import StudySettings
from cinorms.study.study import Study

#: The project's own folder.
ROOT = Root(Path(__file__).parents[4])


def parser(name: str, about: str) -> argparse.ArgumentParser:
    """Return a parser for the arguments that name a study, with Snakemake's option names."""
    options = argparse.ArgumentParser(prog=f"cinorms {name}", description=about)
    options.add_argument("--configfile", nargs="*", default=[], help="the study's file")
    options.add_argument(
        "--config", nargs="*", default=[], metavar="KEY=VALUE", help="settings that override it"
    )
    return options


def read_study(arguments: argparse.Namespace) -> Study:
    """Return the study that the arguments name; the default one where they name none."""
    layers = read_layers(map(Path, arguments.configfile), ROOT)
    return load_study({**layers, "--config": _settings(arguments.config)}, ROOT)


def _settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Return ``key=value`` pairs as Snakemake reads them: values are YAML."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--config: {pair!r} is not of the form KEY=VALUE")
        settings[key] = read_yaml(value, f"--config {key}")
    return settings


def read_layers(files: Iterable[Path], root: Root) -> Layers:
    """Return the defaults of config/config.yaml, and each of the ``files`` on top of them, once."""
    default = root.folder / "config" / "config.yaml"
    return {root.shown(file): load_yaml(file) for file in dict.fromkeys([default, *files])}


def load_study(layers: Layers, root: Root) -> Study:
    """Merge layers (the last wins), check the whole and look up every name.

    Raises ``ConfigError`` for the first mistake, with the file, the key, what is given and what is allowed; for the
    first one of each file with models, flows or prompts.
    """
    settings = read_settings(layers)
    resources = root.with_own(settings.resources, place_in(layers, "resources"))
    use_own(resources.own)
    study = Study(settings, _read_files(settings, resources), resources, layers)
    check_names(study)
    return with_entries(study)


def read_settings(layers: Layers) -> StudySettings:
    """Return the settings that layers state together."""
    for file, stated in layers.items():
        check_mapping(stated, file)
    return parse(merge(layers), StudySettings, lambda path: place_in(layers, *path))


def revision_locks(study: Study, models: Iterable[str]) -> list[str]:
    """Return for each model the file with the commits of its registry; an empty text in a project that is fetched."""
    if study.root.is_fetched:
        return ["" for _ in models]
    stated = {path: load_yaml(path) for path in study.root.registries}
    files = (next(path for path in stated if model in stated[path]) for model in models)
    return [str(path.with_name(REVISIONS)) for path in files]


def _read_files(settings: StudySettings, root: Root) -> dict[str, ModelEntry]:
    """Read the models, datasets and prompt sets of a study; return the models.

    Raises one ``ConfigError`` for all files that cannot be read. A name without a file is left to `check_names`.
    """
    registry: dict[str, ModelEntry] = {}
    study, faults = Study(settings, registry, root), []
    datasets = [name for name in study.datasets() if name in root.names("vignettes")]
    prompts = [name for name in study.worded() if name in root.names("prompts")]
    reads: list[Callable[[], object]] = [
        lambda: registry.update(load_registry(root)),
        *(partial(study.dataset, name) for name in datasets),
        *(partial(study.prompt_set, name) for name in prompts),
    ]
    for read in reads:
        try:
            read()
        except ConfigError as fault:
            faults.append(str(fault))
    if faults:
        raise ConfigError("\n".join(faults))
    return registry
