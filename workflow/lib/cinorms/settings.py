"""From study files to one checked study: layers are merged, every name is looked up, mistakes are explained."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cinorms.designs import Dataset, load_dataset
from cinorms.errors import ConfigError
from cinorms.prompt_sets import PromptSet, load_prompt_set
from cinorms.validation import check, load_yaml, unknown

#: Sections whose keys are settings, so that a study file changes single ones. Everything else is replaced as a
#: whole: a study has its own arms and figures, not the demo's and some more.
MIXED = frozenset({"arm_defaults", "orders", "norms", "grid", "datasets"})


@dataclass(frozen=True)
class Layer:
    """One source of settings, with the name that messages give it."""

    file: str
    document: dict[str, Any]


@dataclass(frozen=True)
class Root:
    """Where the project's own files stand."""

    folder: Path

    @property
    def schemas(self) -> Path:
        """Folder of the JSON schemas."""
        return self.folder / "workflow" / "schemas"

    def names(self, kind: str) -> dict[str, Path]:
        """Return the files of ``resources/{kind}`` by the name that a study gives them."""
        return {path.stem: path for path in sorted((self.folder / "resources" / kind).glob("*.yaml"))}

    def kinds(self, entry: str) -> dict[str, Path]:
        """Return the schema of each kind of analysis or figure."""
        found = sorted((self.schemas / entry).glob("*.schema.yaml"))
        return {path.name.removesuffix(".schema.yaml"): path for path in found}

    def shown(self, path: Path) -> str:
        """Return ``path`` as a message should name it."""
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)


@dataclass(frozen=True)
class Study:
    """A study whose every name has been looked up. ``settings`` is what was merged, defaults included."""

    settings: dict[str, Any]
    registry: dict[str, dict[str, Any]]
    root: Root

    @property
    def name(self) -> str:
        """Name of the study: its folder under results/."""
        return str(self.settings["study"])

    @property
    def seed(self) -> int:
        """Where every random draw starts."""
        return int(self.settings["seed"])

    @property
    def arms(self) -> dict[str, dict[str, Any]]:
        """Arms by name, ``arm_defaults`` filled in."""
        return dict(self.settings["arms"])

    def models(self, arm: str) -> list[str]:
        """Return the models asked in ``arm``."""
        return list(self.arms[arm].get("models", self.settings["models"]))

    def all_models(self) -> list[str]:
        """Return every model asked in any arm, in the order of the study."""
        named = [m for arm in self.arms for m in self.models(arm)]
        order = {name: i for i, name in enumerate(self.settings["models"])}
        return sorted(dict.fromkeys(named), key=lambda name: order.get(name, len(order)))

    def datasets(self) -> list[str]:
        """Return every dataset that an arm uses."""
        return list(dict.fromkeys(arm["dataset"] for arm in self.arms.values()))

    def null_principle(self, dataset: str) -> bool:
        """Tell whether the flows that state no transmission principle are part of ``dataset`` in this study."""
        return bool(self.settings["datasets"].get(dataset, {}).get("null_principle", False))

    def dataset(self, name: str) -> Dataset:
        """Return the dataset ``name``."""
        return _dataset(self.root.names("vignettes")[name])

    def prompt_set(self, name: str) -> PromptSet:
        """Return the prompt set ``name``."""
        return _prompt_set(self.root.names("prompts")[name])

    def templates(self, arm: str, model: str | None = None) -> int:
        """Return how many templates ``arm`` uses, or asks of one ``model``."""
        settings = self.arms[arm]
        stated = settings["templates"]
        count = len(self.prompt_set(settings["prompts"]).templates) if stated == "all" else int(stated)
        return min(count, settings["templates_for"].get(model, count)) if model else count

    def t_val(self, model: str) -> int:
        """Return the number of valid answers that a flow of ``model`` needs."""
        norms = self.settings["norms"]
        return int(norms["t_val_for"].get(model, norms["t_val"]))

    def thresholds(self) -> tuple[list[int], list[float | str]]:
        """Return every t_val and every t_maj under which flows are judged, the study's own among them."""
        norms = self.settings["norms"]
        t_vals = {norms["t_val"], *norms["t_val_for"].values(), *norms["grid"]["t_val"]}
        t_majs = list(dict.fromkeys([*norms["grid"]["t_maj"], norms["t_maj"]]))
        return sorted(t_vals), sorted(t_majs, key=lambda t: -1.0 if t == "plurality" else t)

    def scale(self, arm: str) -> str:
        """Return the name of the answer scale of ``arm``."""
        return self.dataset(self.arms[arm]["dataset"]).scale

    def entry(self, section: str, name: str) -> dict[str, Any]:
        """Return an analysis or a figure with everything of the study that it depends on.

        ``selected`` lists the (arm, model) pairs it is made from: its arms in order, in each the models it
        names, or all of the study's in the study's order.
        """
        entry = self.settings[section][name]
        models = entry.get("models") or self.all_models()
        selected = [[arm, model] for arm in entry["arms"] for model in models if model in self.models(arm)]
        t_vals, t_majs = self.thresholds()
        return {
            **entry,
            "name": name,
            "selected": selected,
            "scales": {arm: self.scale(arm) for arm in entry["arms"]},
            "t_val": {model: self.t_val(model) for _, model in selected},
            "t_maj": self.settings["norms"]["t_maj"],
            "t_vals": t_vals,
            "t_majs": t_majs,
            "planted": any(self.registry_entry(m)["engine"] == "planted" for _, m in selected),
        }

    def asked(self) -> list[dict[str, Any]]:
        """Return what the plan needs to know of every model in every arm."""
        return [
            {
                "arm": arm,
                "model": model,
                "engine": (entry := self.registry_entry(model))["engine"],
                "dataset": settings["dataset"],
                "select": settings["select"],
                "system": settings["system"],
                "scale": self.scale(arm),
                "n_templates": self.templates(arm, model),
                "gpus": entry.get("gpus", 0),
                "rates": entry.get("rates", {}),
            }
            for arm, settings in self.arms.items()
            for model in self.models(arm)
        ]

    def registry_entry(self, model: str) -> dict[str, Any]:
        """Return what is asked under the name ``model``: its planted stand-in under ``engine: planted``."""
        entry = self.registry[model]
        if self.settings["engine"] != "planted" or entry["engine"] == "planted":
            return entry
        stand_in = self.registry[entry["stand_in"]]
        return {**entry, "engine": "planted", "planted": stand_in["planted"]}

    def is_planted(self) -> bool:
        """Tell whether any answer of the study comes from a planted respondent."""
        return any(self.registry_entry(m)["engine"] == "planted" for m in self.all_models())


@cache
def _dataset(path: Path) -> Dataset:
    return load_dataset(path)


@cache
def _prompt_set(path: Path) -> PromptSet:
    return load_prompt_set(path)


def load_study(layers: Sequence[Layer], root: Root) -> Study:
    """Check each layer, merge them (the last wins) and look up every name.

    Raises
    ------
    ConfigError
        For the first mistake, with the file, the key, what was given and what is allowed.
    """
    for layer in layers:
        check(layer.document, root.schemas / "study.schema.yaml", layer.file)
    study = Study(merge(layers), load_registry(root), root)
    _check_names(study, layers)
    return study


def load_registry(root: Root) -> dict[str, dict[str, Any]]:
    """Read and check config/models.yaml."""
    path = root.folder / "config" / "models.yaml"
    registry = load_yaml(path)
    file = root.shown(path)
    check(registry, root.schemas / "models.schema.yaml", file)
    for name, entry in registry.items():
        stand_in = entry.get("stand_in")
        planted = [m for m, other in registry.items() if other["engine"] == "planted"]
        if stand_in is not None and stand_in not in planted:
            raise unknown(file, f"{name}.stand_in", stand_in, planted, "planted model")
        norms = entry.get("planted", {}).get("norms")
        if norms is not None and norms not in root.names("planted"):
            raise unknown(file, f"{name}.planted.norms", norms, root.names("planted"), "set of planted norms")
    return dict(registry)


def merge(layers: Iterable[Layer]) -> dict[str, Any]:
    """Merge layers, the last wins: ``MIXED`` sections key by key, others as a whole; fill in the arms' defaults."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = _overlay(merged, layer.document)
    merged["arms"] = {name: _overlay(merged["arm_defaults"], arm) for name, arm in merged["arms"].items()}
    return merged


def _overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        merged[key] = _overlay(merged[key], value) if key in MIXED and key in merged else copy.deepcopy(value)
    return merged


def _check_names(study: Study, layers: Sequence[Layer]) -> None:
    """Look up every name that the schemas cannot know."""

    def file_of(section: str) -> str:
        return next(layer.file for layer in reversed(layers) if section in layer.document)

    settings, root = study.settings, study.root
    for model in settings["models"]:
        if model not in study.registry:
            raise unknown(file_of("models"), "models", model, study.registry, "model")
    for name in settings["datasets"]:
        if name not in root.names("vignettes"):
            raise unknown(file_of("datasets"), f"datasets.{name}", name, root.names("vignettes"), "dataset")
        if study.null_principle(name) and not study.dataset(name).null_level:
            raise ConfigError(
                f"{file_of('datasets')}: datasets.{name}.null_principle: {name} has no null level"
            )
    for name, arm in study.arms.items():
        _check_arm(study, name, arm, file_of("arms"))
    asked = study.all_models()
    if not asked:
        raise ConfigError(f"{file_of('models')}: models: no model is named; name some of config/models.yaml")
    for model in settings["norms"]["t_val_for"]:
        if model not in asked:
            raise unknown(file_of("norms"), "norms.t_val_for", model, asked, "model of this study")
    for section in ("analyses", "figures"):
        for name, entry in settings[section].items():
            _check_entry(study, section, name, entry, file_of(section))


def _check_arm(study: Study, name: str, arm: Mapping[str, Any], file: str) -> None:
    key = f"arms.{name}"
    datasets, prompts = study.root.names("vignettes"), study.root.names("prompts")
    if arm["dataset"] not in datasets:
        raise unknown(file, f"{key}.dataset", arm["dataset"], datasets, "dataset")
    if arm["prompts"] not in prompts:
        raise unknown(file, f"{key}.prompts", arm["prompts"], prompts, "prompt set")
    prompt_set, dataset = study.prompt_set(arm["prompts"]), study.dataset(arm["dataset"])
    if prompt_set.scale != dataset.scale:
        raise ConfigError(
            f"{file}: {key}: prompt set {arm['prompts']!r} asks for {prompt_set.scale}, dataset "
            f"{arm['dataset']!r} is judged by {dataset.scale}; give both the same scale"
        )
    for field in ("templates", *(f"templates_for.{m}" for m in arm["templates_for"])):
        stated = arm["templates"] if field == "templates" else arm["templates_for"][field.split(".", 1)[1]]
        if stated != "all" and stated > len(prompt_set.templates):
            raise ConfigError(
                f"{file}: {key}.{field}: {stated} was given; prompt set {arm['prompts']!r} has "
                f"{len(prompt_set.templates)} templates"
            )
    for model in study.models(name):
        if model not in study.registry:
            raise unknown(file, f"{key}.models", model, study.registry, "model")
    for model in arm["templates_for"]:
        if model not in study.models(name):
            raise unknown(file, f"{key}.templates_for", model, study.models(name), "model of this arm")
    if arm["readout"] == "options" and arm["temperature"] != 0:
        raise ConfigError(
            f"{file}: {key}: readout 'options' reads probabilities, not samples: set temperature to 0"
        )
    _check_select(study, arm["dataset"], arm["select"], f"{key}.select", file)


def _check_select(study: Study, dataset: str, select: Mapping[str, Any], key: str, file: str) -> None:
    factors, null = study.dataset(dataset).factors, study.dataset(dataset).null_level
    for factor, levels in select.items():
        if factor not in factors:
            raise unknown(file, key, factor, factors, f"factor of dataset {dataset!r}")
        known = [*factors[factor]]
        if not known:
            continue  # a dataset that is a file does not tell its levels before it is fetched
        if study.null_principle(dataset) and null and null.factor == factor:
            known.append(null.label)
        for level in levels:
            if level not in known:
                raise unknown(file, f"{key}.{factor}", level, known, "level")


def _check_entry(study: Study, section: str, name: str, entry: Mapping[str, Any], file: str) -> None:
    key = f"{section}.{name}"
    kinds = study.root.kinds(section)
    if entry["kind"] not in kinds:
        raise unknown(file, f"{key}.kind", entry["kind"], kinds, "kind")
    check(dict(entry), kinds[entry["kind"]], file, prefix=key)
    for arm in entry["arms"]:
        if arm not in study.arms:
            raise unknown(file, f"{key}.arms", arm, study.arms, "arm")
    asked = {m for arm in entry["arms"] for m in study.models(arm)}
    for model in entry.get("models", []):
        if model not in asked:
            raise unknown(file, f"{key}.models", model, asked, "model of these arms")
    for arm in entry["arms"]:
        _check_select(study, study.arms[arm]["dataset"], entry.get("select", {}), f"{key}.select", file)
