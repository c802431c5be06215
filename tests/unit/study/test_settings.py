"""Layers merge as documented, the papers' studies are theirs, and every mistake gets one exact message."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cinorms.core.errors import ConfigError
from cinorms.core.validation import load_yaml
from cinorms.entries.kinds import KINDS
from cinorms.inference.model_entry import entries_schema
from cinorms.study.layers import Layer
from cinorms.study.load import load_study
from cinorms.study.registry import load_registry
from cinorms.study.root import Root
from cinorms.study.study import Study

Build = Callable[..., Study]

DEFAULT_MODELS = [
    "planted-gpt-4o-mini",
    "planted-llama-3.1-8b",
    "planted-tulu-2-7b",
    "planted-tulu-2-13b",
    "planted-tulu-2-dpo-7b",
    "planted-tulu-2-dpo-13b",
    "planted-tulu-2-7b-awq",
    "planted-tulu-2-13b-awq",
]
PETS_MODELS = {
    "gpt-4o-mini",
    "llama-3.1-8b-instruct",
    "tulu-2-7b",
    "tulu-2-13b",
    "tulu-2-dpo-7b",
    "tulu-2-dpo-13b",
    "tulu-2-7b-awq",
    "tulu-2-13b-awq",
}
ARM = {"dataset": "iot", "prompts": "chatgpt"}


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Root:
    """Return a copy of the files that a study is checked against, to change."""
    for name in ("config", "resources", "workflow/schemas"):
        shutil.copytree(folder / name, tmp_path / name)
    return Root(tmp_path)


def change(path: Path, edit: Callable[[Any], None]) -> None:
    """Edit a YAML document in place."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    edit(document)
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


def load(root: Root, study: dict[str, Any] | None = None) -> Study:
    layers = [Layer("config/config.yaml", load_yaml(root.folder / "config/config.yaml"))]
    return load_study([*layers, Layer("study.yaml", study or {})], root)


# --- Merging


def test_the_default_study(build_study: Build) -> None:
    study = build_study()
    assert study.name == "demo"
    assert study.all_models() == DEFAULT_MODELS
    assert study.datasets() == ["iot"]
    assert study.templates("main") * study.arms["main"]["orders"]["count"] == 33
    assert study.is_planted()
    assert not study.null_principle("iot")
    assert study.scale("main") == "acceptability"


def test_an_empty_study_file_changes_nothing(build_study: Build) -> None:
    assert build_study({}).settings == build_study().settings


def test_arms_figures_and_models_replace_the_defaults(build_study: Build) -> None:
    study = build_study(
        {"arms": {"other": ARM}, "figures": {}, "analyses": {}, "models": ["planted-uniform"]}
    )
    assert list(study.arms) == ["other"]
    assert study.settings["figures"] == {}
    assert study.all_models() == ["planted-uniform"]


def test_single_keys_of_norms_grid_orders_and_arm_defaults_change_alone(build_study: Build) -> None:
    study = build_study(
        {
            "norms": {"t_val": 4, "grid": {"t_val": [4, 8]}},
            "arm_defaults": {"orders": {"count": 2}, "temperature": 0.5},
        }
    )
    norms, arm = study.settings["norms"], study.arms["main"]
    assert (norms["t_val"], norms["t_maj"], norms["consensus"]) == (4, 0.5, "strict")
    assert norms["grid"] == {"t_val": [4, 8], "t_maj": ["plurality", 0.25, 0.5, 0.67]}
    assert arm["orders"] == {"method": "balanced", "count": 2}
    assert (arm["temperature"], arm["max_tokens"]) == (0.5, 100)


def test_an_arm_overrides_the_arm_defaults_key_by_key(build_study: Build) -> None:
    study = build_study(
        {
            "arm_defaults": {"orders": {"method": "random"}, "select": {"sender": ["a door lock"]}},
            "arms": {
                "main": {**ARM, "orders": {"count": 1}, "temperature": 1},
                "whole": {**ARM, "select": {}},
            },
        }
    )
    assert study.arms["main"]["orders"] == {"method": "random", "count": 1}
    assert study.arms["main"]["select"] == {"sender": ["a door lock"]}
    assert study.arms["whole"]["select"] == {}
    assert study.arms["whole"]["orders"] == {"method": "random", "count": 3}


def test_the_last_layer_wins_and_merging_leaves_the_layers_as_they_were(root: Root) -> None:
    default = load_yaml(root.folder / "config/config.yaml")
    layers = [
        Layer("config/config.yaml", default),
        Layer("study.yaml", {"seed": 1, "norms": {"t_val": 3}, "arm_defaults": {"orders": {"count": 1}}}),
        Layer("--config", {"seed": 2, "norms": {"t_maj": 0.67}}),
    ]
    before = copy.deepcopy(layers)
    study = load_study(layers, root)
    assert study.seed == 2
    assert (study.settings["norms"]["t_val"], study.settings["norms"]["t_maj"]) == (3, 0.67)
    study.arms["main"]["select"]["sender"] = ["changed"]
    study.arms["main"]["orders"]["count"] = 99
    assert layers == before


def test_arms_share_nothing_that_one_could_change_for_the_other(build_study: Build) -> None:
    study = build_study({"arms": {"main": ARM, "other": ARM}})
    study.arms["main"]["select"]["sender"] = ["changed"]
    study.arms["main"]["orders"]["count"] = 99
    assert study.arms["other"]["select"] == {}
    assert study.arms["other"]["orders"]["count"] == 3


# --- What a study tells


def test_thresholds_are_the_grids_and_the_studys_own(build_study: Build) -> None:
    norms = {
        "t_val": 7,
        "t_maj": 0.3,
        "t_val_for": {"planted-tulu-2-7b": 5},
        "grid": {"t_val": [10], "t_maj": ["plurality", 0.5]},
    }
    study = build_study({"norms": norms})
    assert study.thresholds() == ([5, 7, 10], ["plurality", 0.3, 0.5])
    assert (study.t_val("planted-tulu-2-7b"), study.t_val("planted-gpt-4o-mini")) == (5, 7)


def test_templates_are_cut_per_arm_and_per_model(build_study: Build) -> None:
    models = {"planted-tulu-2-7b": 3, "planted-gpt-4o-mini": 11}
    study = build_study({"arms": {"main": {**ARM, "templates": 5, "templates_for": models}}})
    assert study.templates("main") == 5
    assert study.templates("main", "planted-tulu-2-7b") == 3
    assert study.templates("main", "planted-gpt-4o-mini") == 5
    assert study.templates("main", "planted-tulu-2-13b") == 5


def test_an_entry_lists_its_pairs_arm_by_arm_in_the_studys_order_of_models(build_study: Build) -> None:
    some = ["planted-tulu-2-7b", "planted-gpt-4o-mini"]
    study = build_study(
        {
            "arms": {"a": ARM, "b": {**ARM, "models": some}},
            "analyses": {},
            "figures": {
                "all": {"kind": "distribution", "arms": ["b", "a"]},
                "some": {"kind": "distribution", "arms": ["a"], "models": some},
            },
        }
    )
    selected = study.entry("figures", "all")["selected"]
    assert selected[:2] == [["b", "planted-gpt-4o-mini"], ["b", "planted-tulu-2-7b"]]
    assert selected[2:] == [["a", model] for model in DEFAULT_MODELS]
    entry = study.entry("figures", "some")
    assert entry["selected"] == [["a", "planted-tulu-2-7b"], ["a", "planted-gpt-4o-mini"]]
    assert entry["scales"] == {"a": "acceptability"}
    assert entry["planted"]
    assert entry["t_val"] == dict.fromkeys(some, 10)


def test_a_stand_in_answers_under_the_models_own_name(build_study: Build) -> None:
    asked = {"models": ["tulu-2-7b", "gpt-4o-mini"]}
    assert not build_study(asked).is_planted()
    assert build_study(asked).registry_entry("tulu-2-7b").engine == "vllm"
    planted = build_study({**asked, "engine": "planted"})
    entry = planted.registry_entry("tulu-2-7b")
    assert (entry.name, entry.engine) == ("tulu-2-7b", "planted")
    assert entry.identity == planted.registry["planted-tulu-2-7b"].identity
    assert planted.is_planted()
    assert [ask["gpus"] for ask in planted.asked()] == [0, 0]


def test_the_plan_takes_one_gpu_for_a_vllm_model_that_says_nothing(copied: Root) -> None:
    change(copied.folder / "config/models.yaml", lambda registry: registry["tulu-2-7b"].pop("gpus"))
    study = load(copied, {"models": ["tulu-2-7b", "tulu-2-13b", "gpt-4o-mini"]})
    assert [ask["gpus"] for ask in study.asked()] == [1, 1, 0]


# --- The studies and the registry that come with the project


@pytest.mark.parametrize("name", ["config", "demo-small", "pets2026", "llm-ci2024"])
@pytest.mark.parametrize("engine", [None, "planted"])
def test_every_study_file_loads(build_study: Build, folder: Path, name: str, engine: str | None) -> None:
    study = build_study(load_yaml(folder / f"config/{name}.yaml"), {"engine": engine})
    for section in ("analyses", "figures"):
        for entry in study.settings[section]:
            assert study.entry(section, entry)["selected"]


def test_pets2026_is_the_papers_study(build_study: Build, folder: Path) -> None:
    study = build_study(load_yaml(folder / "config/pets2026.yaml"))
    assert set(study.all_models()) == PETS_MODELS
    assert set(study.datasets()) == {"iot", "confaide_2a"}
    assert {arm["prompts"] for arm in study.arms.values()} == {"chatgpt", "gemini", "pegasus", "confaide"}
    temperatures = {n: a["temperature"] for n, a in study.arms.items() if a["prompts"] == "chatgpt"}
    assert sorted(temperatures.values()) == [0, 0.5, 1]
    main = study.arms["main"]
    assert (main["orders"], main["temperature"]) == ({"method": "random", "count": 3}, 0)
    assert study.templates("main") == 11
    assert study.templates("main", "gpt-4o-mini") == 3
    assert (study.t_val("tulu-2-7b"), study.t_val("gpt-4o-mini")) == (30, 9)
    assert study.settings["norms"]["consensus"] == "papers"


def test_llm_ci2024_is_the_papers_study(build_study: Build, folder: Path) -> None:
    study = build_study(load_yaml(folder / "config/llm-ci2024.yaml"))
    assert set(study.all_models()) == PETS_MODELS | {"tulu-2-dpo-7b-awq", "tulu-2-dpo-13b-awq"}
    assert set(study.datasets()) == {"iot", "coppa"}
    for dataset in ("iot", "coppa"):
        arms = [arm for arm in study.arms.values() if arm["dataset"] == dataset]
        assert sorted(arm["temperature"] for arm in arms) == [0, 1]
        assert all(arm["orders"] == {"method": "fixed", "count": 1} for arm in arms)
        assert all(arm["prompts"] == "chatgpt" for arm in arms)
    assert (study.t_val("tulu-2-7b"), study.t_val("gpt-4o-mini")) == (10, 3)


def test_every_model_that_can_be_asked_has_what_a_study_needs(root: Root) -> None:
    registry = load_registry(root)
    real = {name: entry for name, entry in registry.items() if not entry.kind.planted}
    assert real.pop("control").get("source") == "results/control/model"  # trained here, of no paper
    assert len(real) == 10
    for name, entry in real.items():
        needed = {"family", "capacity", "alignment", "quantisation", "paper_wrap", "rates"}
        assert needed <= set(entry.stated), name
        assert ("dpo" in name) == (entry.settings.alignment == "dpo"), name
        assert ("awq" in name) == (entry.settings.quantisation == "awq"), name
        assert not entry.get("trust_remote_code", False), name
        stand_in = registry[entry.get("stand_in")]
        assert stand_in.kind.planted, name
        for trait in ("capacity", "alignment", "quantisation"):
            assert stand_in.get(trait) == entry.get(trait), name
    controls = {e.get("planted").get("control") for e in registry.values() if e.kind.planted}
    assert controls == {None, "constant_answer", "constant_position", "uniform", "refusing"}


def test_shifts_of_the_tulu_stand_ins_are_the_stated_effects(root: Root) -> None:
    shifts = {
        name: entry.get("planted")["shift"]
        for name, entry in load_registry(root).items()
        if name.startswith("planted-tulu")
    }
    assert len(shifts) == 8
    for name, shift in shifts.items():
        stated = 1.28 * ("13b" in name) + 0.8 * ("dpo" in name) - 0.4 * ("awq" in name)
        assert shift == pytest.approx(stated), name


def test_every_kind_that_a_study_can_name_has_a_function(root: Root) -> None:
    for section in ("analyses", "figures"):
        for kind in root.kinds(section):
            assert callable(KINDS[section][kind].load())


# --- Mistakes


def arm(**changes: Any) -> dict[str, Any]:
    return {"arms": {"main": {**ARM, **changes}}}


def figure(**changes: Any) -> dict[str, Any]:
    return {"figures": {"fig": {"kind": "distribution", "arms": ["main"], **changes}}}


STUDY_KEYS = "{study_keys}"
WRONG: dict[str, tuple[Any, str]] = {
    "an unknown key": (
        {"modles": []},
        "modles: there is no such key here; allowed: {study_keys}; did you mean 'models'?",
    ),
    "an unknown nested key": (
        {"norms": {"tval": 3}},
        "norms.tval: there is no such key here; allowed: consensus, grid, t_maj, t_val, t_val_for; "
        "did you mean 't_val'?",
    ),
    "an unknown key two deep": (
        {"norms": {"grid": {"tmaj": []}}},
        "norms.grid.tmaj: there is no such key here; allowed: t_maj, t_val; did you mean 't_maj'?",
    ),
    "an unknown key of an arm": (
        arm(temprature=1),
        "arms.main.temprature: there is no such key here; allowed: {arm_keys}; did you mean 'temperature'?",
    ),
    "a wrong type": ({"seed": "abc"}, "seed: 'abc' was given, a whole number is needed"),
    "a number that is not whole": ({"seed": 1.0}, "seed: 1.0 was given, a whole number is needed"),
    "a truth value for a number": ({"seed": True}, "seed: True was given, a whole number is needed"),
    "text for a list": (
        {"models": "planted-uniform"},
        "models: 'planted-uniform' was given, a list is needed",
    ),
    "a number in a list of names": ({"models": [1]}, "models[0]: 1 was given, text is needed"),
    "a list for a mapping": (
        {"arms": ["main"]},
        "arms: ['main'] was given, a mapping of keys to values is needed",
    ),
    "text for a mapping": (
        arm(orders="random"),
        "arms.main.orders: 'random' was given, a mapping of keys to values is needed",
    ),
    "no arms": ({"arms": None}, "arms: null was given, a mapping of keys to values is needed"),
    "an arm that is empty": (
        {"arms": {"main": None}},
        "arms.main: null was given, a mapping of keys to values is needed",
    ),
    "not one arm": ({"arms": {}}, "arms: at least 1 needed, 0 given"),
    "no figures": ({"figures": None}, "figures: null was given, a mapping of keys to values is needed"),
    "a figure that is empty": (
        {"figures": {"fig": None}},
        "figures.fig: null was given, a mapping of keys to values is needed",
    ),
    "an empty file": (None, "the whole file: null was given, a mapping of keys to values is needed"),
    "a list for a study": ([1], "the whole file: [1] was given, a mapping of keys to values is needed"),
    "out of range": ({"seed": -1}, "seed: -1 was given; allowed: at least 0"),
    "out of a range with two ends": (
        arm(temperature=3),
        "arms.main.temperature: 3 was given; allowed: at least 0, at most 2",
    ),
    "not a number": (
        arm(temperature=float("nan")),
        "arms.main.temperature: nan was given, a number is needed",
    ),
    "too many orders": (
        arm(orders={"count": 121}),
        "arms.main.orders.count: 121 was given; allowed: at least 1, at most 120",
    ),
    "an order count that range() would not take": (
        arm(orders={"count": 3.0}),
        "arms.main.orders.count: 3.0 was given, a whole number is needed",
    ),
    "a share above 1": (
        {"norms": {"t_maj": 1.5}},
        "norms.t_maj: 1.5 was given; allowed: a number (more than 0, at most 1) or plurality",
    ),
    "a word for a share": (
        {"norms": {"t_maj": "pluralty"}},
        "norms.t_maj: 'pluralty' was given; allowed: a number (more than 0, at most 1) or plurality; "
        "did you mean 'plurality'?",
    ),
    "half a template": (
        arm(templates=2.5),
        "arms.main.templates: 2.5 was given; allowed: a whole number (at least 1) or all",
    ),
    "an unknown model": (
        {"models": ["gpt-4o-mnii"]},
        "models: model 'gpt-4o-mnii' is not known; allowed: {models}; did you mean 'gpt-4o-mini'?",
    ),
    "a model in capitals": (
        {"models": ["GPT-4O-MINI"]},
        "models: model 'GPT-4O-MINI' is not known; allowed: {models}; did you mean 'gpt-4o-mini'?",
    ),
    "an unknown model of an arm": (
        arm(models=["tulu-2-7"]),
        "arms.main.models: model 'tulu-2-7' is not known; allowed: {models}; did you mean 'tulu-2-7b'?",
    ),
    "a model given twice": (
        {"models": ["planted-uniform", "planted-uniform"]},
        "models: the same entry is given twice in ['planted-uniform', 'planted-uniform']",
    ),
    "no models": (
        {"models": []},
        "models: no model is named for arm 'main'; name some of config/models.yaml",
    ),
    "an unknown dataset": (
        arm(dataset="iott"),
        "arms.main.dataset: dataset 'iott' is not known; allowed: {datasets}; did you mean 'iot'?",
    ),
    "options of an unknown dataset": (
        {"datasets": {"copa": {"null_principle": True}}},
        "datasets: dataset 'copa' is not known; allowed: {datasets}; did you mean 'coppa'?",
    ),
    "a null principle that a dataset does not have": (
        {"datasets": {"location_1": {"null_principle": True}}},
        "datasets.location_1.null_principle: true was given; the dataset has no 'null_level', allowed: false",
    ),
    "an unknown prompt set": (
        arm(prompts="chatgtp"),
        "arms.main.prompts: prompt set 'chatgtp' is not known; allowed: {prompts}; did you mean 'chatgpt'?",
    ),
    "more templates than there are": (
        arm(templates=12),
        "arms.main.templates: 12 was given; prompt set 'chatgpt' has 11 templates",
    ),
    "more templates for a model than there are": (
        arm(templates_for={"planted-tulu-2-7b": 12}),
        "arms.main.templates_for.planted-tulu-2-7b: 12 was given; prompt set 'chatgpt' has 11 templates",
    ),
    "templates for a model that is not asked": (
        arm(templates_for={"planted-tulu-2-7": 2}),
        "arms.main.templates_for: model of this arm 'planted-tulu-2-7' is not known; allowed: {asked}; "
        "did you mean 'planted-tulu-2-7b'?",
    ),
    "two scales": (
        arm(prompts="confaide"),
        "arms.main: prompt set 'confaide' asks for agreement, dataset 'iot' is judged by acceptability; "
        "give both the same scale",
    ),
    "overrides that are not there": (
        {"overrides": "mine.csv"},
        "overrides: 'mine.csv' was given; there is no such file in the folder that the study runs in ({cwd})",
    ),
    "a pilot that is the study itself": (
        {"plan": {"pilot": "demo"}},
        "plan.pilot: 'demo' was given; allowed: the name of another study",
    ),
    "a pilot without answers": (
        {"plan": {"pilot": "elsewhere"}},
        "plan.pilot: 'elsewhere' was given; there is no results/elsewhere/answers in the folder that the study "
        "runs in: run that study first",
    ),
    "expected values that are not there": (
        {"analyses": {"d": {"kind": "delta", "arms": ["main"], "expected": "law.csv"}}, "figures": {}},
        "analyses.d.expected: 'law.csv' was given; there is no such file in the folder that the study runs in "
        "({cwd})",
    ),
    "numbers for the levels that do not rise": (
        {
            "analyses": {"d": {"kind": "delta", "arms": ["main"], "embedding": [-2, -1, 0, 0, 2]}},
            "figures": {},
        },
        "analyses.d.embedding: [-2, -1, 0, 0, 2] was given; each number must be above the last",
    ),
    "slices by what is no factor": (
        {"analyses": {"d": {"kind": "delta", "arms": ["main"], "by": ["recipiant"]}}, "figures": {}},
        "analyses.d.by: factor of arm 'main' 'recipiant' is not known; allowed: {factors}; "
        "did you mean 'recipient'?",
    ),
    "probabilities of samples": (
        arm(readout="options", temperature=0.5),
        "arms.main.readout: 'options' reads probabilities, not samples; temperature 0.5 was given, "
        "allowed: 0",
    ),
    "the same prompt three times": (
        arm(orders={"method": "fixed"}),
        "arms.main.orders.count: 3 was given; with method 'fixed' and temperature 0 every prompt would be asked "
        "so many times over; allowed: 1",
    ),
    "an unknown readout": (
        arm(readout="option"),
        "arms.main.readout: 'option' is not allowed; allowed: options, text; did you mean 'options'?",
    ),
    "an unknown order method": (
        arm(orders={"method": "Balanced"}),
        "arms.main.orders.method: 'Balanced' is not allowed; allowed: balanced, fixed, random; "
        "did you mean 'balanced'?",
    ),
    "an unknown factor": (
        arm(select={"sendr": ["a door lock"]}),
        "arms.main.select: factor of dataset 'iot' 'sendr' is not known; allowed: {factors}; "
        "did you mean 'sender'?",
    ),
    "an unknown level": (
        arm(select={"sender": ["a dor lock"]}),
        "arms.main.select.sender: level 'a dor lock' is not known; allowed: {senders}; "
        "did you mean 'a door lock'?",
    ),
    "a level alone where a list is needed": (
        arm(select={"sender": "a door lock"}),
        "arms.main.select.sender: 'a door lock' was given, a list is needed",
    ),
    "an arm without a prompt set": (
        {"arms": {"main": {"dataset": "iot"}}},
        "arms.main: key 'prompts' is missing; needed: dataset, prompts",
    ),
    "an arm with a space in its name": (
        {"arms": {"the arm": ARM}},
        "arms: 'the arm' is not allowed; an arm's name has lower-case letters, digits, '-' and '_'",
    ),
    "an arm whose name is a number": (
        {"arms": {1: ARM}},
        "arms.1: YAML reads this key as 1; put it in quotes",
    ),
    "an arm whose name is a truth value": (
        {"arms": {True: ARM}},  # `on:` or `yes:` in YAML
        "arms.True: YAML reads this key as True; put it in quotes",
    ),
    "an unknown kind of figure": (
        figure(kind="distributon"),
        "figures.fig.kind: kind 'distributon' is not known; allowed: {figure_kinds}; "
        "did you mean 'distribution'?",
    ),
    "a kind that is a list": (
        figure(kind=["distribution"]),
        "figures.fig.kind: ['distribution'] was given, text is needed",
    ),
    "an unknown kind of analysis": (
        {"analyses": {"a": {"kind": "norm_count", "arms": ["main"]}}},
        "analyses.a.kind: kind 'norm_count' is not known; allowed: {analysis_kinds}; "
        "did you mean 'norm_counts'?",
    ),
    "a figure without a kind": (
        {"figures": {"fig": {"arms": ["main"]}}},
        "figures.fig: key 'kind' is missing; needed: kind",
    ),
    "an unknown key of a figure": (
        figure(widht=3),
        "figures.fig.widht: there is no such key here; allowed: arms, height, kind, models, title, width; "
        "did you mean 'width'?",
    ),
    "an unknown arm of a figure": (
        figure(arms=["mian"]),
        "figures.fig.arms: arm 'mian' is not known; allowed: main; did you mean 'main'?",
    ),
    "a figure of a model that its arms do not ask": (
        figure(models=["planted-uniform"]),
        "figures.fig.models: model of these arms 'planted-uniform' is not known; allowed: {asked}",
    ),
    "a threshold for a model that is not asked": (
        {"norms": {"t_val_for": {"planted-gpt-4o": 9}}},
        "norms.t_val_for: model of this study 'planted-gpt-4o' is not known; allowed: {asked}; "
        "did you mean 'planted-gpt-4o-mini'?",
    ),
    "a study name that is no folder": (
        {"study": "My Study"},
        "study: 'My Study' is not allowed; Name of the study; everything it makes goes to "
        "results/{{study}}. Lower-case letters, digits, '-' and '_'.",
    ),
    "a study name with a line break": (
        {"study": "mine\n"},
        "study: 'mine\\n' is not allowed; Name of the study; everything it makes goes to "
        "results/{{study}}. Lower-case letters, digits, '-' and '_'.",
    ),
    "an unknown engine": (
        {"engine": "plantd"},
        "engine: 'plantd' is not allowed; allowed: null, planted; did you mean 'planted'?",
    ),
    "a mistake in arm_defaults is shown there": (
        {"arm_defaults": {"templates": 12}},
        "arm_defaults.templates: 12 was given; prompt set 'chatgpt' has 11 templates",
    ),
    "an unknown factor in arm_defaults": (
        {"arm_defaults": {"select": {"sendr": ["x"]}}},
        "arm_defaults.select: factor of dataset 'iot' 'sendr' is not known; allowed: {factors}; "
        "did you mean 'sender'?",
    ),
}


@pytest.fixture(scope="module")
def names(root: Root) -> dict[str, str]:
    """Return the lists of names that messages give."""
    schema = load_yaml(root.schemas / "study.schema.yaml")
    design = load_yaml(root.names("vignettes")["iot"])
    lists = {
        "study_keys": schema["properties"],
        "arm_keys": schema["$defs"]["arm"]["properties"],
        "models": load_registry(root),
        "datasets": root.names("vignettes"),
        "prompts": root.names("prompts"),
        "figure_kinds": root.kinds("figures"),
        "analysis_kinds": root.kinds("analyses"),
        "asked": DEFAULT_MODELS,
        "factors": design["factors"],
        "senders": design["factors"]["sender"],
    }
    return {"cwd": str(Path.cwd()), **{key: ", ".join(sorted(values)) for key, values in lists.items()}}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_gets_one_message(build_study: Build, names: dict[str, str], wrong: str) -> None:
    document, message = WRONG[wrong]
    with pytest.raises(ConfigError) as caught:
        build_study(document, study_file=True)
    assert str(caught.value) == f"study.yaml: {message.format(**names)}"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": "abc"}, "--config: seed: 'abc' was given, a whole number is needed"),
        ({"models": "gpt-4o-mini"}, "--config: models: 'gpt-4o-mini' was given, a list is needed"),
        (
            {"norms": {"t_val": "5"}},
            "--config: norms.t_val: '5' was given, a whole number is needed",
        ),
        (
            {"engine": "vllm"},
            "--config: engine: 'vllm' is not allowed; allowed: null, planted",
        ),
        (
            {"norms": {"t_val_for": {"x": 3}}},
            "--config: norms.t_val_for: model of this study 'x' is not known; allowed: {asked}",
        ),
    ],
)
def test_a_mistake_on_the_command_line_is_said_to_be_there(
    build_study: Build, names: dict[str, str], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        build_study({"norms": {"t_val": 3}}, given)
    assert str(caught.value) == message.format(**names)


def test_a_message_names_the_layer_that_the_wrong_setting_comes_from(build_study: Build) -> None:
    with pytest.raises(ConfigError, match=r"^study\.yaml: norms\.t_val_for: "):
        build_study({"norms": {"t_val_for": {"x": 3}}}, {"norms": {"t_maj": 0.67}})
    with pytest.raises(ConfigError, match=r"^study\.yaml: arm_defaults\.readout: "):
        build_study({"arm_defaults": {"readout": "options", "temperature": 1}}, {"seed": 3})


def test_arms_of_ones_own_with_the_defaults_figures_say_what_to_do(build_study: Build) -> None:
    """The likeliest first mistake: a study file names its arms and forgets that figures name arms."""
    with pytest.raises(ConfigError) as caught:
        build_study({"arms": {"other": ARM}, "analyses": {}})
    assert str(caught.value) == (
        "config/config.yaml: figures.distribution.arms: arm 'main' is not known; allowed: other; "
        "study.yaml has arms of its own and needs figures of its own"
    )


def test_templates_for_in_arm_defaults_may_name_a_model_that_only_some_arms_ask(build_study: Build) -> None:
    study = build_study(
        {
            "arm_defaults": {"templates_for": {"planted-uniform": 3}},
            "arms": {"main": ARM, "more": {**ARM, "models": ["planted-uniform"]}},
        }
    )
    assert study.templates("more", "planted-uniform") == 3


def test_an_arm_without_models_is_refused_even_beside_one_that_has_some(build_study: Build) -> None:
    arms = {"main": {**ARM, "models": ["planted-uniform"]}, "other": ARM}
    with pytest.raises(ConfigError, match="no model is named for arm 'other'"):
        build_study({"models": [], "arms": arms})


def test_the_null_principle_is_a_level_only_where_it_is_asked(build_study: Build, root: Root) -> None:
    label = load_yaml(root.names("vignettes")["iot"])["null_level"]["label"]
    select = arm(select={"transmission_principle": [label]})
    with pytest.raises(ConfigError, match="level "):
        build_study(select)
    study = build_study({**select, "datasets": {"iot": {"null_principle": True}}})
    assert study.null_principle("iot")


def test_levels_of_a_file_cannot_be_checked_before_it_is_fetched_but_its_factors_can(
    build_study: Build,
) -> None:
    build_study(arm(dataset="published_iot", select={"sender": ["whoever"]}))
    with pytest.raises(ConfigError, match=r"'sendr' is not known; allowed: .*did you mean 'sender'"):
        build_study(arm(dataset="published_iot", select={"sendr": ["whoever"]}))


# --- Mistakes in the project's own files


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (["seed"], "seed"),
        (["norms"], "norms"),
        (["norms", "t_maj"], "norms.t_maj"),
        (["norms", "grid", "t_val"], "norms.grid.t_val"),
        (["arm_defaults", "temperature"], "arm_defaults.temperature"),
        (["arm_defaults", "orders", "count"], "arm_defaults.orders.count"),
        (["arm_defaults"], "arm_defaults"),
        (["arms"], "arms"),
        (["figures"], "figures"),
    ],
)
def test_a_default_that_is_missing_is_named(copied: Root, path: list[str], key: str) -> None:
    def remove(document: dict[str, Any]) -> None:
        for name in path[:-1]:
            document = document[name]
        del document[path[-1]]

    change(copied.folder / "config/config.yaml", remove)
    with pytest.raises(ConfigError) as caught:
        load(copied)
    assert str(caught.value) == (
        f"config/config.yaml: key '{key}' is missing; every default has to stand there"
    )


def planted(**changes: Any) -> dict[str, Any]:
    return {"engine": "planted", "family": "mine", "planted": changes}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"engine": "planted", "family": "x"}, "mine: key 'planted' is missing; needed: planted"),
        ({"engine": "vllm", "family": "x"}, "mine: key 'source' is missing; needed: source"),
        (
            {"engine": "vllm", "family": "x", "source": "y", "planted": {}},
            "mine.planted: this key is not allowed here",
        ),
        ({"family": "x"}, "mine: key 'engine' is missing; needed: engine, family"),
        (
            {**planted(), "quantization": "awq"},
            "mine.quantization: there is no such key here; allowed: {keys}; did you mean 'quantisation'?",
        ),
        (
            {"engine": "vlm", "family": "x", "source": "y"},
            "mine.engine: 'vlm' is not allowed; allowed: openai, planted, vllm; did you mean 'vllm'?",
        ),
        (
            planted(norms="gpt4o-mini"),
            "mine.planted.norms: set of planted norms 'gpt4o-mini' is not known; "
            "allowed: {norms}; did you mean 'gpt-4o-mini'?",
        ),
        (
            planted(invalid={"refusal": 0.7, "empty": 0.5}),
            "mine.planted.invalid: the shares add up to 1.2; allowed: at most 1",
        ),
        (
            planted(position_weights=[0, 0, 0, 0, 0]),
            "mine.planted.position_weights: all are 0; at least one must be more",
        ),
        (
            planted(position_weights=[1, 2, 3, 4, 5, 6]),
            "mine.planted.position_weights: at most 5 allowed, 6 given",
        ),
        (planted(verbose=1.2), "mine.planted.verbose: 1.2 was given; allowed: at least 0, at most 1"),
        (
            {"engine": "openai", "family": "x", "source": "y", "stand_in": "planted-gpt"},
            "mine.stand_in: planted model 'planted-gpt' is not known; allowed: {planted}; "
            "did you mean 'planted-gpt-4o-mini'?",
        ),
    ],
)
def test_a_wrong_registry_entry_gets_one_message(copied: Root, entry: dict[str, Any], message: str) -> None:
    schema = entries_schema()["additionalProperties"]
    registry = load_registry(copied)
    change(copied.folder / "config/models.yaml", lambda document: document.update({"mine": entry}))
    with pytest.raises(ConfigError) as caught:
        load(copied)
    fields = {
        "keys": ", ".join(sorted(schema["properties"])),
        "norms": ", ".join(copied.names("planted")),
        "planted": ", ".join(sorted(m for m, other in registry.items() if other.kind.planted)),
    }
    assert str(caught.value) == f"config/models.yaml: {message.format(**fields)}"


def test_a_model_without_stand_in_cannot_be_planted(copied: Root) -> None:
    change(copied.folder / "config/models.yaml", lambda registry: registry["tulu-2-7b"].pop("stand_in"))
    assert not load(copied, {"models": ["tulu-2-7b"]}).is_planted()
    with pytest.raises(ConfigError) as caught:
        load(copied, {"models": ["tulu-2-7b"], "engine": "planted"})
    assert str(caught.value) == (
        "config/models.yaml: tulu-2-7b: key 'stand_in' is missing; 'engine: planted' needs the name of the "
        "planted model that answers in its place"
    )


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"thresholds": [0, 1, 1, 2]}, "thresholds: [0, 1, 1, 2] was given; each must be above the last"),
        ({"thresholds": [3, 2, 1, 0]}, "thresholds: [3, 2, 1, 0] was given; each must be above the last"),
        ({"thresholds": [1, 2, 3]}, "thresholds: at least 4 needed, 3 given"),
        ({"other_levels_sd": -1}, "other_levels_sd: -1 was given; allowed: at least 0"),
        (
            {"coefficients": {"sender": {"a door lock": "low"}}},
            "coefficients.sender.a door lock: 'low' was given, a number is needed",
        ),
    ],
)
def test_wrong_planted_norms_are_found_before_anything_runs(
    copied: Root, edit: dict[str, Any], message: str
) -> None:
    change(copied.folder / "resources/planted/tulu-2.yaml", lambda document: document.update(edit))
    with pytest.raises(ConfigError) as caught:
        load(copied)
    assert str(caught.value) == f"resources/planted/tulu-2.yaml: {message}"
