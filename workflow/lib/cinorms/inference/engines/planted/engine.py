"""How respondents with known norms are declared and run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cinorms.core.errors import ConfigError
from cinorms.inference.engine_kind import Cost, EngineKind, Keep, Needs, RegistryPlace, always
from cinorms.inference.questions import Questions
from cinorms.planted.respondents import answer

if TYPE_CHECKING:
    from cinorms.inference.settings import EntrySettings


class PlantedEngine:
    """Answers a whole shard at once, faster than a journal of it could be read."""

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        """Answer the rows ``todo``, as one chunk."""
        grid = questions.grid.iloc[todo].reset_index(drop=True)
        spec = questions.spec
        replies = answer(spec.as_plain(), questions.flows, questions.variants, grid, spec.repeat)
        keep(replies.assign(at=todo))

    def facts(self) -> dict[str, Any]:
        """Return what the run record states about this engine."""
        return {"device": "none: no model was asked"}


def _settings() -> "type[EntrySettings]":
    from cinorms.inference.engines.planted.settings import PlantedSettings

    return PlantedSettings


def _identity(entry: Mapping[str, Any], place: RegistryPlace) -> dict[str, Any]:
    """Return what is planted, with the coefficients of the file that it names put in."""
    from cinorms.core.validation import unknown
    from cinorms.planted.norms_file import load_planted

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
    settings=_settings,
    make=lambda spec, tuning, key: PlantedEngine(),
    needs=Needs(memory_mb=always(1500), minutes=always(10)),
    identity=_identity,
    reasoning=lambda settings, asked: {"reasoning": asked._asdict()},
    journalled=False,
    planted=True,
    cost=lambda work: Cost(0.0, 0.0),  # no model is asked
    origin=lambda entry: "planted respondent",
)
