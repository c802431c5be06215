"""Who can answer as an entry of config/models.yaml: models that an engine asks, planted respondents, people."""

from collections.abc import Mapping
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.validation import unknown
from cinorms.inference.engine_kind import (
    Cost,
    RegistryLocation,
    RespondentKind,
    Work,
    cost_by_rates,
    engine_kind,
    engine_modules,
)
from cinorms.inference.settings import EntrySettings
from cinorms.planted.settings import Planted, load_planted


class PlantedSettings(EntrySettings):
    """A respondent with known norms."""

    planted: Planted
    """What is planted in the respondent."""


def _planted(entry: Mapping[str, Any], place: RegistryLocation) -> dict[str, Any]:
    """Return what is planted, with the coefficients of the file that it names put in."""
    planted, files = entry["planted"], place.files
    key = f"{place.model}.planted"
    norms, known = planted.get("norms"), files.names("planted")
    if norms is not None and norms not in known:
        raise unknown(place.file, f"{key}.norms", norms, known, "set of planted norms")
    if (invalid := sum(planted.get("invalid", {}).values())) > 1 + 1e-9:
        raise ConfigError(
            f"{place.file}: {key}.invalid: the shares add up to {invalid:g}; allowed: at most 1"
        )
    if not any(planted.get("position_weights", [1])):
        raise ConfigError(f"{place.file}: {key}.position_weights: all are 0; at least one must be more")
    if norms is None:
        return {"planted": planted}
    file = load_planted(files, norms)
    stated = {name: file[name] for name in ("thresholds", "coefficients", "other_levels_sd") if name in file}
    return {"planted": {**stated, **{name: value for name, value in planted.items() if name != "norms"}}}


#: Respondents with known norms; ``workflow/scripts/ask_planted.py`` has them answer.
PLANTED = RespondentKind(
    name="planted",
    settings=PlantedSettings,
    request=_planted,
    reasoning=lambda settings, level: {"reasoning": level._asdict()},
    origin=lambda entry: "planted respondent",
)
#: People who have answered; their ratings are read from a survey's file, and nobody is asked.
PEOPLE = RespondentKind(name="human", origin=lambda entry: "people")
_WITHOUT_ENGINE = {kind.name: kind for kind in (PLANTED, PEOPLE)}


def respondent_names() -> list[str]:
    """Return what an entry can state as its ``engine``."""
    return sorted([*_WITHOUT_ENGINE, *engine_modules()])


def respondent_kind(name: str) -> RespondentKind:
    """Return who answers as an entry with ``engine: {name}``; raise ``KeyError`` where nobody does."""
    return _WITHOUT_ENGINE.get(name) or engine_kind(name)


def cost_of(engine: str, work: Work) -> Cost:
    """Return the cost of ``work``; nothing for those whom no engine asks."""
    return Cost(0.0, 0.0) if engine in _WITHOUT_ENGINE else cost_by_rates(work)
