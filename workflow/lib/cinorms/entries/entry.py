"""An entry of a study: one analysis, figure or printed table, with everything of the study that it depends on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import pandas as pd
from pydantic import PlainSerializer, PlainValidator, TypeAdapter, ValidationInfo

from cinorms.core.scales import Scale
from cinorms.core.schema import ModelName
from cinorms.entries.kind import Kind, kinds
from cinorms.entries.options import Options
from cinorms.norms.thresholds import Thresholds
from cinorms.vignettes.factors import DatasetFactors

O = TypeVar("O", bound=Options, covariant=True)  # noqa: E741 (the name of a type)

#: An arm and a model.
Pair = tuple[str, ModelName]
#: In files and parameters: as jobs are told of it (`Scale.plain`).
JobScale = Annotated[
    Scale,
    PlainValidator(lambda scale: scale if isinstance(scale, Scale) else Scale.from_plain(scale)),
    PlainSerializer(lambda scale: scale.plain),
]


class Selected(NamedTuple):
    """One model's table in one arm."""

    arm: str
    model: str
    frame: pd.DataFrame

    @property
    def pair(self) -> Pair:
        """The arm and the model."""
        return self.arm, self.model


def _of_kind(options: Any, info: ValidationInfo) -> Any:
    """Return the options of an entry: what its rule's parameter has is of the class of its kind."""
    if isinstance(options, Options):
        return options
    return kinds(info.data["section"])[options["kind"]].options.model_validate(options, context=info.context)


def _stated(options: Options) -> dict[str, Any]:
    return options.model_dump(mode="json", by_alias=True, exclude_none=True)


@dataclass(frozen=True)
class Entry(Generic[O]):
    """An entry as its kind's function receives it.

    ``selected`` lists the (arm, model) pairs it is made from: its arms in order, in each the models it names, or all
    of the study's in the study's order; ``respondents`` those of them that are planted, ``people`` those that are
    people. An entry that reads norms takes those of a model under its ``thresholds``; ``grid`` are all
    those that the study tries. Both are empty for one that reads none.
    ``mark`` states which of its models are planted respondents, and which are people (`labels.origin_mark`).
    ``labels`` are what a figure or a printed table calls models that have a label.
    ``registry`` has what the registry states about each model, for a kind that reads it.
    """

    section: str
    name: str
    options: Annotated[O, PlainValidator(_of_kind), PlainSerializer(_stated)]
    seed: int = 0
    selected: tuple[Pair, ...] = ()
    respondents: tuple[Pair, ...] = ()
    people: tuple[Pair, ...] = ()
    scales: Mapping[str, JobScale] = field(default_factory=dict)
    factors_of: Mapping[str, DatasetFactors] = field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    attributes: Mapping[ModelName, Mapping[str, Any]] = field(default_factory=dict)
    thresholds: Mapping[ModelName, Thresholds] = field(default_factory=dict)
    grid: tuple[Thresholds, ...] = ()
    mark: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    registry: Mapping[ModelName, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def declared(self) -> Kind:
        """The declaration of its kind."""
        return kinds(self.section)[self.options.kind]

    @property
    def arms(self) -> Sequence[str]:
        """The arms it is made of."""
        return tuple(getattr(self.options, "arms", ()))


#: Between an entry and plain data, as a parameter of a rule has it: a change of what it depends on makes it again.
ENTRIES: TypeAdapter[Entry[Any]] = TypeAdapter(Entry[Any])
