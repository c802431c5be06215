"""What a run was given: its study, and the command that rebuilds a file of it.

The study is from --configfile and --config, from a Snakefile that includes this one, or from a module.
"""

import os
import shlex
import sys
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


def rebuild_command(run: Run, project: Path) -> str:
    """Return the command that rebuilds a file, whose path follows it, as ``run`` would; pages show it."""
    default = project / "config" / "config.yaml"
    files = [os.path.relpath(file) for file in run.given_files if Path(file).resolve() != default.resolve()]
    snakefile = os.path.relpath(run.snakefile)
    # `make` installs Snakemake into a folder of the project, which is on nobody's PATH.
    program = Path(sys.executable).with_name("snakemake")
    here = program.is_relative_to(Path.cwd())
    parts = [f"{os.path.relpath(program) if here else 'snakemake'} --cores all"]
    if snakefile not in ("Snakefile", "workflow/Snakefile"):
        parts.append(f"--snakefile {shlex.quote(snakefile)}")
    parts += [f"--configfile {shlex.join(files)}"] if files else []
    given = [f"{name}={value}" for name, value in run.given_config.items()]
    parts += [f"--config {shlex.join(given)}"] if given else []
    return " ".join([*parts, "--force --"])
