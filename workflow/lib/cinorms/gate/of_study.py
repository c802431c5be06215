"""The gates that a study states: which files each needs, in this study and in others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cinorms.core.errors import ConfigError, listing
from cinorms.gate.policy import load_policy
from cinorms.gate.side import Address, find, only, told_in
from cinorms.study.settings import GateSettings
from cinorms.study.study import Study
from cinorms.vignettes.factors import DatasetFactors, other_flows


@dataclass(frozen=True)
class StatedGate:
    """A gate of a study. ``made`` are files that this study makes, ``found`` those of other studies and the policy."""

    base: Address
    new: Address
    policy: str
    made: tuple[str, ...]
    found: tuple[str, ...]


def gates_of(study: Study) -> dict[str, StatedGate]:
    """Return the gates of a study by name; raise ``ConfigError`` for a policy or a side that is not there."""
    return {name: _gate(study, gate) for name, gate in study.settings.gates.items()}


def _gate(study: Study, stated: GateSettings) -> StatedGate:
    load_policy(stated.policy)
    made: list[str] = []
    found: list[str] = [stated.policy]
    sides = []
    asked: list[tuple[DatasetFactors, pd.DataFrame | None]] = []
    for key, given in (("base", stated.base), ("new", stated.new)):
        place = str(stated.stated_in(key))
        own = _in_study(study, given, place)
        address = own or find(given, place, study.root.results)
        sides.append(address)
        # Snakemake adds a module's prefix to what this study makes.
        folder = Path("results", study.name) if own else address.folder
        told = (study.factors_of(address.arm), study.levels_of(address.arm)) if own else told_in(address)
        asked.append(told)
        names = [
            "study.json",
            f"vignettes/{told[0].dataset}.parquet",
            f"answers/{address.arm}/{address.model}.parquet",
        ]
        if own or (folder / f"prompts/{address.arm}.parquet").is_file():
            names.append(f"prompts/{address.arm}.parquet")
        (made if own else found).extend(str(folder / name) for name in names)
    base, new = sides
    if why := other_flows(asked[0][0], asked[1][0], asked[0][1], asked[1][1]):
        raise ConfigError(f"{stated.stated_in('new')}: {why}")
    return StatedGate(base, new, stated.policy, tuple(dict.fromkeys(made)), tuple(dict.fromkeys(found)))


def _in_study(study: Study, given: str, place: str) -> Address | None:
    """Return the address of what this study makes; None for another study."""
    first, *rest = Path(given).parts
    if first != study.name:
        return None
    if len(rest) > 2:
        raise ConfigError(
            f"{place}: {given!r} names more than a study, an arm and a model; give STUDY/ARM/MODEL"
        )
    arm = rest[0] if rest else only(study.arms, given, place, "arm")
    if arm not in study.arms:
        raise ConfigError(f"{place}: {given!r}: the study has no arm {arm!r}; {listing(arm, study.arms)}")
    models = study.models(arm)
    model = rest[1] if len(rest) > 1 else only(models, f"{first}/{arm}", place, "model")
    if model not in models:
        raise ConfigError(f"{place}: {given!r}: arm {arm!r} has no model {model!r}; {listing(model, models)}")
    return Address(study.root.results / study.name, arm, model)
