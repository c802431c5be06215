"""What a study is, for those who read its results: the one class that writes and reads ``study.json``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_serializer

from cinorms.core.errors import DataError
from cinorms.core.labels import alone, origin_mark
from cinorms.core.logs import MOST_SHOWN
from cinorms.core.schema import ModelName, Number
from cinorms.entries.entry import JobScale
from cinorms.norms.thresholds import Thresholds
from rewordings import Consensus, Majority


class _Metadata(BaseModel):
    """Keys that a later version adds are left out: a gate compares studies of several versions."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)


class ArmMetadata(_Metadata):
    """An arm: what its models (or people) were asked, and how."""

    dataset: str
    source: str
    origin: str
    scale: JobScale
    prompts: str
    prompts_citation: str
    people: str
    #: Stated only of ratings that a script made.
    simulated: bool = False
    orders: Mapping[str, Any]
    #: Stated only of an arm with another sample than the first.
    sample: int = 1
    #: Stated only of an arm that leaves flows out: factor -> the levels asked about.
    select: Mapping[str, tuple[Any, ...]] = {}
    #: Stated only of models that are asked fewer wordings than the arm has: how many.
    templates: Mapping[ModelName, int] = {}
    temperature: Number
    system: str | None
    models: tuple[ModelName, ...]
    #: How a prompt is laid out can differ from model to model (`layout: paper`).
    layouts: Mapping[ModelName, str]

    def of_model(self, model: str) -> "ArmMetadata":
        """Return what a card of ``model`` states of the arm."""
        changed: dict[str, Any] = {"models": (model,), "layouts": {model: self.layouts[model]}}
        if self.templates:
            changed["templates"] = {name: n for name, n in self.templates.items() if name == model}
        return self.model_copy(update=changed)


class DatasetMetadata(_Metadata):
    """A dataset that an arm asks about."""

    title: str
    about: str = ""
    short: Mapping[str, str] = {}
    factors: tuple[str, ...]
    expected_range: tuple[Number, Number] | None
    flows_of: str | None
    citation: str


class ModelMetadata(_Metadata):
    """A respondent; what its entry in the registry makes public is beside these keys, in `identity`."""

    model_config = ConfigDict(extra="allow")

    planted: bool
    arms: tuple[str, ...]

    @property
    def identity(self) -> Mapping[str, Any]:
        """What is public of its entry."""
        return self.model_extra or {}

    @model_serializer
    def _plain(self) -> dict[str, Any]:
        return {**self.identity, "planted": self.planted, "arms": self.arms}


class EntryMetadata(_Metadata):
    """An analysis or a figure."""

    kind: str
    title: str
    about: str
    sentence: str
    meanings: Mapping[str, str]
    section: str
    arms: tuple[str, ...]
    models: tuple[ModelName, ...]
    columns: tuple[str, ...]


class StudyMetadata(_Metadata):
    """A study. A card is told less of it: of what is not stated, there is none."""

    name: str
    coder: str | None = None
    hand_sample: int | None = None
    consensus: Consensus
    t_maj: Majority
    t_val: Mapping[ModelName, int]
    arms: Mapping[str, ArmMetadata]
    datasets: Mapping[str, DatasetMetadata]
    models: Mapping[ModelName, ModelMetadata]
    analyses: Mapping[str, EntryMetadata]
    figures: Mapping[str, EntryMetadata] = {}
    settings: Mapping[str, Any] = {}

    @classmethod
    def read(cls, folder: Path) -> "StudyMetadata":
        """Return the metadata of the study with its results in ``folder``; raise ``DataError`` where it is damaged."""
        path = folder / "study.json"
        try:
            return cls.model_validate_json(path.read_bytes())
        except ValidationError as error:
            first = error.errors()[0]
            reason = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
        except (OSError, KeyError, TypeError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
        raise DataError(
            f"{path}: is not a study's description as this version writes it ({reason[:MOST_SHOWN]}); "
            "run the study again"
        )

    def of_model(self, model: str) -> "StudyMetadata":
        """Return what a card of ``model`` states: its arms, its tables, and who answered for it."""
        arms = {name: arm.of_model(model) for name, arm in self.arms.items() if model in arm.models}
        datasets = {arm.dataset for arm in arms.values()}
        changed = {
            "t_val": {model: self.t_val[model]},
            "arms": arms,
            "datasets": {name: dataset for name, dataset in self.datasets.items() if name in datasets},
            "models": {model: self.models[model]},
            "analyses": {
                name: entry.model_copy(update={"models": (model,)})
                for name, entry in self.analyses.items()
                if model in entry.models
            },
        }
        return self.model_copy(update=changed)

    def plain(self) -> dict[str, Any]:
        """Return the metadata as it is in the file, and as rules hand them to jobs."""
        return self.model_dump(mode="json", exclude_unset=True)

    @property
    def labels(self) -> dict[str, str]:
        """What pages call the models that have a label."""
        stated = {name: model.identity.get("label") for name, model in self.models.items()}
        return alone({name: label for name, label in stated.items() if label})

    @property
    def planted(self) -> list[str]:
        """The models that planted respondents answer for."""
        return [name for name, model in self.models.items() if model.planted]

    @property
    def people(self) -> list[str]:
        """Those of the respondents that are people."""
        rated = {name for arm in self.arms.values() if arm.people for name in arm.models}
        return [name for name in self.models if name in rated]

    @property
    def mark(self) -> str:
        """Which of the respondents are planted, and which are people."""
        rated = [arm for arm in self.arms.values() if arm.people]
        unreal = bool(rated) and all(arm.simulated for arm in rated)
        return origin_mark(self.planted, self.models, self.people, unreal)

    def called(self) -> "StudyMetadata":
        """Return the metadata with the label of each model that has one in place of its name, as pages show them."""
        if not self.labels:
            return self
        return self.model_validate(self.plain(), context=self.labels)

    def pairs(self) -> list[tuple[str, str]]:
        """Return every arm with each of its models."""
        return [(name, model) for name, arm in self.arms.items() for model in arm.models]

    def read_here(self) -> list[tuple[str, str]]:
        """Return the `pairs` whose answers were read out of responses."""
        return [pair for pair in self.pairs() if self.arms[pair[0]].source not in ("published", "human")]

    def thresholds(self, model: str) -> Thresholds:
        """Return what a flow needs for a norm of the model."""
        return Thresholds(self.t_val.get(model, 0), self.t_maj, self.consensus)

    def dataset_of(self, arm: str) -> DatasetMetadata:
        """Return the dataset that an arm asks about."""
        return self.datasets[self.arms[arm].dataset]

    def analyses_of(self, kind: str, arm: str | None = None) -> list[str]:
        """Return the analyses of a kind, or those of them that are about one arm."""
        entries = [name for name, entry in self.analyses.items() if entry.kind == kind]
        return [name for name in entries if arm is None or arm in self.analyses[name].arms]
