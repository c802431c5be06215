"""A study whose every name has been looked up."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms.core.labels import alone, origin_mark
from cinorms.core.root import Root
from cinorms.core.scale_files import load_scale
from cinorms.core.scales import DISCLOSURE, Scale
from cinorms.entries.options import DESCRIBED, MODEL_ATTRIBUTES
from cinorms.human.survey import Question, Survey, load_survey, split_name
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.settings import DEFAULT_STAND_IN, ServedSettings
from cinorms.norms.thresholds import Thresholds
from cinorms.prompts.paraphrase.generate import make_request
from cinorms.prompts.prompt_sets import PromptSet, load_prompt_set, templates_path
from cinorms.published.releases import SEPARATOR, Release, load_release, raw_file
from cinorms.study.layers import Layers, Place, place_in
from cinorms.study.settings import Arm, StudySettings
from cinorms.vignettes.designs import Dataset, factor_columns, load_dataset
from cinorms.vignettes.factors import DatasetFactors
from cinorms.vignettes.source_files import SourceFile
from rewordings import Majority

#: The entry of the registry that stands for the people of an arm that names no other.
PEOPLE = "people"
#: The sources of arms whose responses this project reads; the answers of others are scored already.
READ_HERE = ("model", "raw_csv", "responses")
#: Replies of each model that a person codes where a study has a coder and states no number.
DEFAULT_SAMPLE = 200

# Many rules and checks ask for the same files.
_dataset, _prompt_set, _scale = cache(load_dataset), cache(load_prompt_set), cache(load_scale)
_survey, _release = cache(load_survey), cache(load_release)


@dataclass(frozen=True)
class Study:
    """A study whose every name has been looked up. ``settings`` are what its ``layers`` state together.

    ``entries`` has the options of its analyses, figures and printed tables, by section and name. ``left_out`` says
    which of the defaults do not fit the study, and why.
    """

    settings: StudySettings
    registry: dict[str, ModelEntry]
    root: Root
    layers: Layers = field(default_factory=dict)
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the study: its folder under results/."""
        return self.settings.study

    @property
    def results(self) -> Path:
        """Folder of its results, below the `prefix` of a module."""
        return self.root.results / self.name

    def stated_in(self, *keys: str) -> Place:
        """Return the file and the whole key in which the setting at ``keys`` is stated."""
        return place_in(self.layers, *keys)

    @property
    def seed(self) -> int:
        """Where every random draw starts."""
        return self.settings.seed

    @property
    def arms(self) -> Mapping[str, Arm]:
        """Arms by name, ``arm_defaults`` filled in."""
        return self.settings.arms

    def models(self, arm: str) -> list[str]:
        """Return the models asked in ``arm``, or the people who rated: only one or the other unless they are named."""
        people = self.arms[arm].rated
        stated = self.arms[arm].models or [
            name
            for name in self.settings.models
            if name not in self.registry or self.registry[name].people == people
        ]
        return list(stated or ([PEOPLE] if people else []))

    def all_models(self) -> list[str]:
        """Return every model asked in any arm, in the order of the study."""
        named = [m for arm in self.arms for m in self.models(arm)]
        order = {name: i for i, name in enumerate(self.settings.models)}
        return sorted(dict.fromkeys(named), key=lambda name: order.get(name, len(order)))

    def datasets(self) -> list[str]:
        """Return every dataset that an arm uses."""
        return list(dict.fromkeys(arm.dataset for arm in self.arms.values()))

    def dataset(self, name: str) -> Dataset:
        """Return the dataset ``name``."""
        return _dataset(self.root.resource("vignettes", name))

    def prompt_set(self, name: str) -> PromptSet:
        """Return the prompt set ``name``."""
        return _prompt_set(self.root.resource("prompts", name))

    def release(self, name: str) -> Release:
        """Return the release ``name``."""
        return _release(self.root.names("published")[name])

    def survey(self, arm: str) -> Survey:
        """Return the survey that an arm of people takes its ratings from."""
        return _survey(self.root.names("ratings")[split_name(str(self.arms[arm].ratings))[0]])

    def simulated(self, rated: Sequence[str]) -> bool:
        """Tell whether a script made the ratings of these arms of people."""
        return bool(rated) and all(self.survey(arm).simulated for arm in rated)

    def question(self, arm: str) -> Question:
        """Return the question whose ratings an arm of people takes."""
        return self.survey(arm).question(split_name(str(self.arms[arm].ratings))[1])

    def rated(self, arm: str) -> dict[str, Any]:
        """Return what decides which ratings an arm of people takes."""
        survey, question = split_name(str(self.arms[arm].ratings))
        return {
            "survey": survey,
            "question": question,
            "text": self.question(arm).text,
            "levels": list(self.scale(arm).levels),
            "select": self.arms[arm].plain()["select"],
        }

    def worded_arms(self) -> list[str]:
        """Return the arms whose variants are templates of a prompt set; those of the others are raters."""
        return [name for name, arm in self.arms.items() if not arm.rated]

    def worded(self) -> list[str]:
        """Return every prompt set that an arm uses; people are asked in the words of their survey."""
        return list(dict.fromkeys(self.arms[name].prompts for name in self.worded_arms()))

    def arms_from(self, *sources: str) -> list[str]:
        """Return the arms whose answers come from one of ``sources``."""
        return [name for name, arm in self.arms.items() if arm.source in sources]

    def pairs(self, *sources: str) -> list[tuple[str, str]]:
        """Return the (arm, model) whose answers come from one of ``sources``."""
        return [(arm, model) for arm in self.arms_from(*sources) for model in self.models(arm)]

    def published_models(self) -> list[str]:
        """Return every model of the arms whose answers were published."""
        named = {m for arm in self.arms_from("published") for m in self.models(arm)}
        return [model for model in self.all_models() if model in named]

    def published_files(self, arm: str) -> list[SourceFile]:
        """Return the files with the answers of an arm that were published."""
        name, _, frame = str(self.arms[arm].frame).partition(SEPARATOR)
        return self.release(name).files_of(frame)

    def collected_files(self, arm: str, model: str) -> str:
        """Return the path (or a pattern of paths) of what others collected from ``model`` in ``arm``."""
        path = self.arms[arm].raw_files or self.arms[arm].response_files
        assert path is not None, "an arm with such a source names its files"
        entry = self.registry[model]
        source = entry.settings.source if isinstance(entry.settings, ServedSettings) else model
        return raw_file(path.replace("{model}", model), source, entry.engine)

    def compared(self) -> Release | None:
        """Return the release whose printed numbers are compared with this study's tables, if any."""
        return self.release(self.settings.compare) if self.settings.compare else None

    def awaited(self) -> dict[str, dict[str, Any]]:
        """Return the request to the paraphraser of each prompt set whose paraphrases do not exist yet."""
        planted = self.settings.engine == "planted"
        used = {name: self.prompt_set(name) for name in self.worded()}
        files = self.root.names("prompts")
        requests = {}
        for name, asked in used.items():
            if asked.generate:
                scale, file = self.named_scale(asked.scale), self.root.shown(files[name])
                requests[name] = make_request(asked, scale, self.registry, planted, file)
        return requests

    def prompts_file(self, name: str) -> str:
        """Return the file that holds the templates of the prompt set ``name``, or will hold them.

        Planted ones that replace a paraphraser's are never frozen: they stay with the study's results.
        """
        if self.prompt_set(name).generate and self.settings.engine == "planted":
            return str(self.results / "paraphrases" / f"{name}.yaml")
        return str(templates_path(self.root.names("prompts")[name]))

    def templates(self, arm: str, model: str | None = None) -> int:
        """Return how many templates ``arm`` uses, or asks of one ``model``; of people, how many rated."""
        settings = self.arms[arm]
        if settings.rated:
            return self.survey(arm).raters
        return settings.n_templates(self.prompt_set(settings.prompts).n_templates, model)

    def t_val(self, model: str) -> int:
        """Return the number of valid answers that a flow of ``model`` needs."""
        norms = self.settings.norms
        return norms.t_val_for.get(model, norms.t_val)

    def thresholds_of(self, model: str) -> Thresholds:
        """Return what a flow of ``model`` needs to hold a norm."""
        norms = self.settings.norms
        return Thresholds(self.t_val(model), norms.t_maj, norms.consensus)

    def thresholds(self) -> tuple[list[int], list[Majority]]:
        """Return every t_val and every t_maj under which flows are judged, the study's own among them."""
        norms = self.settings.norms
        t_vals = {norms.t_val, *norms.t_val_for.values(), *norms.grid.t_val}
        t_majs = dict.fromkeys([*norms.grid.t_maj, norms.t_maj])
        return sorted(t_vals), sorted(t_majs, key=lambda t: -1.0 if t == "plurality" else float(t))

    def scale_name(self, arm: str) -> str:
        """Return the name of the answer scale of ``arm``."""
        settings = self.arms[arm]
        return settings.scale or (
            DISCLOSURE if settings.task == "act" else self.dataset(settings.dataset).scale
        )

    def scale(self, arm: str) -> Scale:
        """Return the answer scale of ``arm``."""
        return self.named_scale(self.scale_name(arm))

    def levels(self) -> list[int]:
        """Return the levels of the scales of all arms."""
        return sorted({level for arm in self.arms for level in self.scale(arm).levels})

    def named_scale(self, name: str) -> Scale:
        """Return the answer scale ``name``."""
        return _scale(self.root.resource("scales", name))

    def conditions(self, arm: str) -> dict[str, Any]:
        """Return the conditions of ``arm`` that an analysis can name (`ARM_ATTRIBUTES`)."""
        return {**self.arms[arm].conditions(), "scale": self.scale_name(arm)}

    def described(self, models: Sequence[str] | None) -> dict[str, dict[str, Any]]:
        """Return what a table of the models shows of each of ``models``, or of all where that is None."""
        entries = {model: self.registry_entry(model) for model in models or self.all_models()}
        return {
            model: {name: entry.get(name) for name in (*DESCRIBED, "speculated_capacity")}
            | {"origin": entry.kind.origin(entry.stated)}
            for model, entry in entries.items()
        }

    def factors_of(self, arm: str) -> DatasetFactors:
        """Return what an analysis needs to know of the dataset of ``arm``."""
        dataset = self.dataset(self.arms[arm].dataset)
        factors, between = tuple(dataset.levels), dataset.expected_range
        return DatasetFactors(dataset.name, factors, dataset.linked, between, dataset.flows_of)

    def levels_of(self, arm: str) -> pd.DataFrame | None:
        """Return the levels of the flows of an arm's dataset; None where only a file can tell them."""
        dataset = self.dataset(self.arms[arm].dataset)
        return factor_columns(dataset).rename_axis("flow").reset_index() if dataset.design else None

    def attributes(self, model: str) -> dict[str, Any]:
        """Return the attributes of ``model`` that an analysis can name."""
        return {name: self.registry[model].get(name) for name in MODEL_ATTRIBUTES}

    def asked(self) -> list[dict[str, Any]]:
        """Return what the plan needs to know of every model in every arm that asks models."""
        return [
            {
                "arm": arm,
                "model": model,
                "engine": (entry := self.registry_entry(model)).engine,
                "dataset": settings.dataset,
                "select": settings.plain()["select"],
                "system": settings.system,
                "scale": self.scale(arm).plain,
                "task": settings.task,
                "n_templates": self.templates(arm, model),
                "budget": self.budget(arm, model),
                "gpus": entry.gpus,
                "rates": entry.original_settings.rates.model_dump(exclude_none=True),
            }
            for arm, settings in self.arms.items()
            if settings.source == "model"
            for model in self.models(arm)
        ]

    def budget(self, arm: str, model: str) -> int | None:
        """Return the most tokens of a trace: the arm's budget, or the entry's; None where neither states one."""
        reasoning = self.arms[arm].reasoning
        return reasoning.budget if reasoning else _extra_tokens(self.registry_entry(model))

    def registry_entry(self, model: str) -> ModelEntry:
        """Return the entry that answers as ``model``: under ``engine: planted``, its planted stand-in."""
        entry = self.registry[model]
        if self.settings.engine != "planted" or entry.planted or entry.people:
            return entry
        return entry.answered_by(self.registry[self.stand_in(model)])

    @property
    def coder(self) -> str | None:
        """The model that codes what the rules cannot read; none under ``engine: planted``, where no model is asked."""
        return None if self.settings.engine == "planted" else self.settings.answers.coder

    def key_variables(self) -> list[str]:
        """Return the environment variables with keys for the models of the study and its coder."""
        entries = map(self.registry_entry, [*self.all_models(), *filter(None, [self.coder])])
        return sorted(filter(None, {entry.key_variable for entry in entries}))

    def judge(self) -> dict[str, Any] | None:
        """Return what the plan needs to know of a coder that reads actions, all of them; None where there is none."""
        acting = [arm for arm in self.arms_from("model") if self.arms[arm].task == "act"]
        if self.coder is None or not acting:
            return None
        entry = self.registry_entry(self.coder)
        return {
            "arm": f"coder.{self.scale_name(acting[0])}",
            "model": self.coder,
            "engine": entry.engine,
            "budget": _extra_tokens(entry),
            "gpus": entry.gpus,
            "rates": entry.original_settings.rates.model_dump(exclude_none=True),
        }

    @property
    def hand_sample(self) -> int | None:
        """How many replies of each model a person codes; none under ``engine: planted``, whose replies are known."""
        default = None if self.coder is None else DEFAULT_SAMPLE
        return None if self.settings.engine == "planted" else self.settings.answers.sample or default

    def coded_scales(self) -> dict[str, list[tuple[str, str]]]:
        """Return the (arm, model) whose replies a person codes a sample of, by the scale that they answer on."""
        pairs: dict[str, list[tuple[str, str]]] = {}
        for arm, model in self.pairs(*READ_HERE) if self.hand_sample else ():
            pairs.setdefault(self.scale_name(arm), []).append((arm, model))
        return pairs

    def stand_in(self, model: str) -> str:
        """Return the planted model that answers for ``model`` under ``engine: planted``."""
        return self.registry[model].settings.stand_in or DEFAULT_STAND_IN

    def planted(self) -> list[str]:
        """Return the models of the study that planted respondents answer for."""
        return [model for model in self.all_models() if self.registry_entry(model).planted]

    def labels(self, shown: Iterable[str]) -> dict[str, str]:
        """Return what pages, figures and printed tables call those of the models ``shown`` that have a label."""
        stated = {model: self.registry[model].get("label") for model in shown}
        return alone({model: label for model, label in stated.items() if label})

    def people(self) -> list[str]:
        """Return those of the study's respondents that are people."""
        return [model for model in self.all_models() if self.registry[model].people]

    def mark(self, shown: Iterable[str], labels: Mapping[str, str] | None = None) -> str:
        """Return the mark for results of the models ``shown``: which of them are planted, and which are people.

        Models that have one of the ``labels`` are called by it.
        """
        entries = {(labels or {}).get(name, name): self.registry_entry(name) for name in shown}
        return origin_mark(
            [name for name, entry in entries.items() if entry.planted],
            list(entries),
            [name for name, entry in entries.items() if entry.people],
            self.simulated(self.arms_from("human")),
        )


def _extra_tokens(entry: ModelEntry) -> int | None:
    """Return the most tokens of a trace that an entry states for whoever asks without a level; None if it does not."""
    return (entry.get("reasoning") or {}).get("extra_tokens")
