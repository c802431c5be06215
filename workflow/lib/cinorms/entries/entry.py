"""An entry of a study: one analysis, figure or printed table, with everything of the study that it depends on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Generic, NamedTuple, TypeVar

import pandas as pd

from cinorms.core.scales import Scale
from cinorms.entries.kind import Kind, kinds
from cinorms.entries.options import Options
from cinorms.norms.thresholds import Thresholds
from cinorms.vignettes.factors import DatasetFactors

O = TypeVar("O", bound=Options, covariant=True)  # noqa: E741 (the name of a type)

Pair = tuple[str, str]


class Selected(NamedTuple):
    """One model's table in one arm."""

    arm: str
    model: str
    frame: pd.DataFrame

    @property
    def pair(self) -> Pair:
        """The arm and the model."""
        return self.arm, self.model


@dataclass(frozen=True)
class Entry(Generic[O]):
    """An entry as its kind's function receives it.

    ``selected`` lists the (arm, model) pairs it is made from: its arms in order, in each the models it names, or all
    of the study's in the study's order; ``respondents`` those of them that are planted, ``people`` those that are
    people. An entry that reads norms takes those of a model under its ``thresholds``; ``grid`` are all
    those that the study tries. Both are empty for one that reads none.
    ``mark`` states which of its models are planted respondents, and which are people (`labels.origin_mark`).
    ``registry`` has the registry's facts about each model, for a kind that reads it.
    """

    section: str
    name: str
    kind: str
    options: O
    seed: int = 0
    selected: tuple[Pair, ...] = ()
    respondents: tuple[Pair, ...] = ()
    people: tuple[Pair, ...] = ()
    scales: Mapping[str, Scale] = field(default_factory=dict)
    factors_of: Mapping[str, DatasetFactors] = field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    attributes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    thresholds: Mapping[str, Thresholds] = field(default_factory=dict)
    grid: tuple[Thresholds, ...] = ()
    mark: str = ""
    registry: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def declared(self) -> Kind:
        """The declaration of its kind."""
        return kinds(self.section)[self.kind]

    @property
    def arms(self) -> Sequence[str]:
        """The arms it is made of."""
        return tuple(getattr(self.options, "arms", ()))

    def plain(self) -> dict[str, Any]:
        """Return the entry as plain data, for a parameter of a rule: a change of it makes the entry again."""
        options = self.options.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {part.name: _plain(getattr(self, part.name)) for part in fields(self)} | {"options": options}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> "Entry[Any]":
        """Return the entry that ``plain`` was made from."""
        options = kinds(plain["section"])[plain["kind"]].options(**plain["options"])
        frozen = {name: _frozen(value) for name, value in plain.items() if name != "options"}
        frozen["factors_of"] = {
            arm: DatasetFactors(**{name: _frozen(value) for name, value in dataset.items()})
            for arm, dataset in plain["factors_of"].items()
        }
        frozen["scales"] = {arm: Scale.of(known) for arm, known in plain["scales"].items()}
        frozen["thresholds"] = {model: Thresholds(**stated) for model, stated in plain["thresholds"].items()}
        frozen["grid"] = tuple(Thresholds(**stated) for stated in plain["grid"])
        return Entry(**frozen, options=options)


def _plain(value: Any) -> Any:
    if isinstance(value, DatasetFactors):
        return _plain({part.name: getattr(value, part.name) for part in fields(value)})
    if isinstance(value, Thresholds):
        return value._asdict()
    if isinstance(value, Scale):
        return _plain(value.known)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value
