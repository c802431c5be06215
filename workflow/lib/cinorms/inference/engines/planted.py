"""The engine ``planted``: respondents with known norms; ``workflow/scripts/ask_planted.py`` has them answer."""

from collections.abc import Mapping
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.validation import unknown
from cinorms.inference.engine_kind import Cost, EngineKind, Needs, RegistryPlace, always
from cinorms.inference.settings import EntrySettings
from cinorms.planted.settings import Planted, load_planted


class PlantedSettings(EntrySettings):
    """A respondent with known norms."""

    planted: Planted
    """What is planted in the respondent."""


def _request(entry: Mapping[str, Any], place: RegistryPlace) -> dict[str, Any]:
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


ENGINE = EngineKind(
    name="planted",
    settings=PlantedSettings,
    needs=Needs(memory_mb=always(1500), minutes=always(10)),
    request=_request,
    reasoning=lambda settings, level: {"reasoning": level._asdict()},
    planted=True,
    cost=lambda work: Cost(0.0, 0.0),  # no model is asked
    origin=lambda entry: "planted respondent",
)
