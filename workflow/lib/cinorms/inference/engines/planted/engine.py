"""How respondents with known norms are declared and run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cinorms.core.errors import ConfigError
from cinorms.inference.cost import no_cost
from cinorms.inference.engine import Engine
from cinorms.inference.engine_kind import EngineKind, Needs, RegistryPlace, always
from cinorms.inference.spec import Spec, plain

if TYPE_CHECKING:
    from cinorms.inference.settings import EntrySettings


def _settings() -> type[EntrySettings]:
    from cinorms.inference.engines.planted.settings import PlantedSettings

    return PlantedSettings


def _identity(entry: Mapping[str, Any], place: RegistryPlace) -> dict[str, Any]:
    """Return what is planted, with the coefficients of the file that it names put in."""
    from cinorms.core.validation import unknown
    from cinorms.planted.respondents import load_planted

    planted, files = entry["planted"], place.files
    key = f"{place.model}.planted"
    norms, known = planted.get("norms"), files.names("planted")
    if norms is not None and norms not in known:
        raise unknown(place.file, f"{key}.norms", norms, known, "set of planted norms")
    _check_shares(planted, f"{place.file}: {key}")
    if norms is None:
        return {"planted": planted}
    file = load_planted(files, norms)
    found = {name: file[name] for name in ("thresholds", "coefficients", "other_levels_sd") if name in file}
    return {"planted": {**found, **{name: value for name, value in planted.items() if name != "norms"}}}


def _check_shares(planted: Mapping[str, Any], place: str) -> None:
    invalid = sum(planted.get("invalid", {}).values())
    if invalid > 1 + 1e-9:
        raise ConfigError(f"{place}.invalid: the shares add up to {invalid:g}; allowed: at most 1")
    if not any(planted.get("position_weights", [1])):
        raise ConfigError(f"{place}.position_weights: all are 0; at least one must be more")


def _make(spec: Spec, tuning: Mapping[str, Any], key: str | None, folder: Path | None) -> Engine:
    from cinorms.inference.engines.planted.respond import PlantedEngine

    return PlantedEngine()


ENGINE = EngineKind(
    name="planted",
    settings=_settings,
    make=_make,
    needs=Needs(memory_mb=always(1500), minutes=always(10)),
    identity=_identity,
    reasoning=lambda settings, asked: {"reasoning": plain(asked)},
    journalled=False,
    planted=True,
    cost=no_cost,
    origin=lambda entry: "planted respondent",
)
