"""The gates that a study states: which files each needs, in this study and in others."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms.core.errors import ConfigError, listing
from cinorms.gate.claims import Leaks
from cinorms.gate.policy import load_policy
from cinorms.gate.side import Address, address_in, dataset_in, find
from cinorms.study.metadata import StudyMetadata
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

    def sides(self) -> dict[str, Any]:
        """Return base, new and the policy, for a parameter of a rule."""
        return {
            "base": list(map(str, self.base)),
            "new": list(map(str, self.new)),
            "policy": self.policy,
        }


def gates_of(study: Study) -> dict[str, StatedGate]:
    """Return the gates of a study by name; raise ``ConfigError`` for a policy or a side that is not there."""
    return {name: _gate(study, name, gate) for name, gate in study.settings.gates.items()}


def _gate(study: Study, name: str, stated: GateSettings) -> StatedGate:
    claims = load_policy(stated.policy).claims
    said = [claim.options.said for claim in claims if isinstance(claim.options, Leaks)]
    made: list[str] = []
    found: list[str] = [stated.policy]
    sides = []
    asked: list[tuple[DatasetFactors, pd.DataFrame | None]] = []
    for key, given in (("base", stated.base), ("new", stated.new)):
        place = str(study.stated_in("gates", name, key))
        first, *rest = Path(given).parts
        own = first == study.name
        if own:
            asks = {arm: (settings.dataset, study.models(arm)) for arm, settings in study.arms.items()}
            arms = {arm: models for arm, (_, models) in asks.items()}
            address = address_in(study.results, rest, arms, given, place)
        else:
            address = find(given, place, study.root.results)
            metadata = StudyMetadata.read(address.folder)
            asks = {arm: (each.dataset, list(each.models)) for arm, each in metadata.arms.items()}
        sides.append(address)
        # Snakemake adds a module's prefix to what this study makes.
        folder = Path("results", study.name) if own else address.folder
        dataset = (
            (study.factors_of(address.arm), study.levels_of(address.arm)) if own else dataset_in(address)
        )
        asked.append(dataset)
        read = [address.arm]
        if key == "new":
            asked_in = [arm for arm, (_, models) in asks.items() if address.model in models]
            if unknown := [arm for arm in said if arm not in asked_in]:
                raise ConfigError(
                    f"{stated.policy}: said: {unknown[0]!r} is no arm with {address.model!r}; "
                    f"{listing(unknown[0], asked_in)}"
                )
            read += said
        names = ["study.json"]
        for arm in read:
            names += [f"vignettes/{asks[arm][0]}.parquet", f"answers/{arm}/{address.model}.parquet"]
            if own or (folder / f"prompts/{arm}.parquet").is_file():
                names.append(f"prompts/{arm}.parquet")
        (made if own else found).extend(str(folder / name) for name in names)
    base, new = sides
    if why := other_flows(asked[0][0], asked[1][0], asked[0][1], asked[1][1]):
        raise ConfigError(f"{study.stated_in('gates', name, 'new')}: {why}")
    return StatedGate(base, new, stated.policy, tuple(dict.fromkeys(made)), tuple(dict.fromkeys(found)))
