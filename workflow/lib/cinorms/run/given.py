"""The study of a run: from --configfile and --config, from a Snakefile that includes this one, or from a module."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.core.validation import unknown
from cinorms.run.inside_snakemake import Run
from cinorms.study.load import load_study, read_layers
from cinorms.study.settings import StudySettings
from cinorms.study.study import Study


def given_study(run: Run, config: Any, project: Root) -> Study:
    """Return the study with the settings that are given on top of the defaults; ``config`` is that of a module."""
    if run.is_module:
        place = _module_place(run)
        given = {**read_layers([], project), place: _module_settings(config, place)}
    else:
        given = {**read_layers(map(Path, run.config_files), project), "--config": run.given_config}
    return load_study(given, project)


def _module_place(run: Run) -> str:
    """Return how messages name the `config:` of a module, with the files that it may be from."""
    files = ", ".join(map(os.path.relpath, run.all_files))
    return f"config of module {run.module!r}" + (f" ({files})" if files else "")


def _module_settings(config: Any, place: str) -> dict[str, Any]:
    """Return the settings that the caller gives the module; refuse none, and a file of other things."""
    if not isinstance(config, Mapping) or not config.get("study"):
        has = ", ".join(config) if isinstance(config, Mapping) and config else "nothing"
        raise ConfigError(
            f"{place}: key 'study' is missing; the module has {has}. Give it a study, "
            '`config: config` or one section\nof your config (`config: config["cinorms"]`); '
            "`study: demo` alone is the default study"
        )
    known = StudySettings.model_fields
    for key in config:
        if key not in known:
            hint = (
                '; if your config has other keys too, give the module a section: `config: config["cinorms"]`'
            )
            raise unknown(place, key, key, known, "key", hint)
    return dict(config)
