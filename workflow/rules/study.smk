# Loads the study: from --configfile and --config, from a Snakefile that includes this one, or from a module.
from collections.abc import Mapping

from cinorms.core.errors import CinormsError, ConfigError
from cinorms.core.validation import unknown
from cinorms.rules.inside import Inside
from cinorms.study.layers import Layer
from cinorms.study.load import load_study, read_layers
from cinorms.core.root import Root
from cinorms.study.settings import StudySettings

INSIDE = Inside(workflow)


def get_layers(project):
    """Return the given settings on top of the defaults: the later ones win."""
    if INSIDE.is_module:
        files, given = [], Layer(get_module_place(), get_module_config())
    else:
        files = map(Path, INSIDE.config_files)
        given = Layer("--config", INSIDE.given_config)
    return [*read_layers(files, project), given]


def get_module_place():
    """Return how messages name the `config:` of a module, with the files that it may be from."""
    files = ", ".join(map(os.path.relpath, INSIDE.all_config_files))
    return f"config of module {INSIDE.module!r}" + (f" ({files})" if files else "")


def get_module_config():
    """Return the settings that the caller gives the module; refuse none, and a file of other things."""
    if not isinstance(config, Mapping) or not config.get("study"):
        has = ", ".join(config) if isinstance(config, Mapping) and config else "nothing"
        raise ConfigError(
            f"{get_module_place()}: key 'study' is missing; the module has {has}. Give it a study, "
            '`config: config` or one section\nof your config (`config: config["cinorms"]`); '
            "`study: demo` alone is the default study"
        )
    for key in config:
        if key not in StudySettings.model_fields:
            hint = '; if your config has other keys too, give the module a section: `config: config["cinorms"]`'
            known = StudySettings.model_fields
            raise unknown(get_module_place(), key, key, known, "key", hint)
    return dict(config)


def get_study():
    """Return the study, or end with one message."""
    try:
        results = Path(INSIDE.placed("results/study")).parent
        project = Root(PROJECT, results=results, is_fetched=IS_FETCHED)
        return load_study(get_layers(project), project)
    except CinormsError as error:
        refuse(error)


STUDY = get_study()
ROOT = STUDY.root
