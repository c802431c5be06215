"""What a study tells of its arms, models and entries; the studies that come with the project are the papers'."""

import pytest

from cinorms.core.labels import PLANTED_MARK
from cinorms.core.yaml_files import load_yaml
from cinorms.study.entries import make_entry

from ...asking import make_model
from ...scales import ACCEPTABILITY
from ...studies import ARM, DEFAULT_MODELS, arm, change, load

GPT, TULU = "planted-gpt-4o-mini", "planted-tulu-2-7b"


def test_thresholds_are_the_grids_and_the_studys_own(build_study):
    grid = {"t_val": [10], "t_maj": ["plurality", 0.5]}
    study = build_study({"norms": {"t_val": 7, "t_maj": 0.3, "t_val_for": {TULU: 5}, "grid": grid}})
    assert study.thresholds() == ([5, 7, 10], ["plurality", 0.3, 0.5])
    assert (study.t_val(TULU), study.t_val(GPT)) == (5, 7)


def test_an_entry_lists_its_pairs_arm_by_arm_in_the_studys_order_of_models(build_study):
    figures = {
        "all": {"kind": "distribution", "arms": ["b", "a"]},
        "some": {"kind": "distribution", "arms": ["a"], "models": [TULU, GPT]},
    }
    arms = {"a": ARM, "b": {**ARM, "models": [TULU, GPT]}}
    study = build_study({"arms": arms, "analyses": {}, "figures": figures})
    in_a = [("a", model) for model in DEFAULT_MODELS]
    assert make_entry(study, "figures", "all").selected == (("b", GPT), ("b", TULU), *in_a)
    entry = make_entry(study, "figures", "some")
    assert entry.selected == (("a", TULU), ("a", GPT))
    assert entry.scales == {"a": ACCEPTABILITY}
    assert entry.mark == PLANTED_MARK
    assert (entry.thresholds, entry.grid) == ({}, ()), "what reads no norms carries no thresholds"


def test_a_stand_in_answers_under_the_models_own_name(build_study):
    asked = {"models": ["tulu-2-7b", "gpt-4o-mini"]}
    real, planted = build_study(asked), build_study({**asked, "engine": "planted"})
    assert real.planted() == []
    assert real.registry_entry("tulu-2-7b").engine == "vllm"
    entry = planted.registry_entry("tulu-2-7b")
    assert (entry.name, entry.engine) == ("tulu-2-7b", "planted")
    assert entry.request == planted.registry[TULU].request
    assert entry.get("source") == real.registry["tulu-2-7b"].get("source")
    assert planted.planted() == asked["models"]
    assert [ask["gpus"] for ask in planted.asked()] == [0, 0]


def test_the_plan_takes_one_gpu_for_a_vllm_model_that_says_nothing(copied):
    change(copied.folder / "config/models.yaml", lambda registry: registry["tulu-2-7b"].pop("gpus"))
    study = load(copied, {"models": ["tulu-2-7b", "tulu-2-13b", "gpt-4o-mini"]})
    assert [ask["gpus"] for ask in study.asked()] == [1, 1, 0]


def test_the_keys_of_all_models_and_of_the_coder_are_known(build_study):
    coder = {"coder": "gpt-4o-mini"}
    for models, answers, keys in (
        (["gpt-4o-mini", "tulu-2-7b", GPT], {}, ["OPENAI_API_KEY"]),
        (["tulu-2-7b"], {}, []),
        (["tulu-2-7b"], coder, ["OPENAI_API_KEY"]),
    ):
        assert build_study({"models": models, "answers": answers}).key_variables() == keys


def test_a_person_codes_replies_where_the_study_has_a_coder_or_states_how_many(build_study):
    coder = {"coder": "gpt-4o-mini"}
    for answers, engine, number in (
        ({}, None, None),
        (coder, None, 200),
        ({"sample": 30}, None, 30),
        (coder, "planted", None),
    ):
        study = build_study({"models": ["tulu-2-7b"], "answers": answers, "engine": engine})
        assert study.hand_sample == number
        assert bool(study.coded_scales()) == (number is not None)


def test_a_coder_judges_actions_where_models_act(build_study):
    coder = {"answers": {"coder": "gpt-4o-mini"}, "analyses": {}, "figures": {}}
    acting = arm(dataset="privacylens_trajectory", prompts="act", task="act")
    judge = build_study({**acting, **coder}).judge()
    assert (judge["arm"], judge["model"]) == ("coder.disclosure", "gpt-4o-mini")
    assert build_study(acting | {"analyses": {}, "figures": {}}).judge() is None
    assert build_study(coder).judge() is None


def test_levels_and_budgets_are_those_of_all_arms(build_study):
    more = {**ARM, "scale": "acceptability_7", "reasoning": {"effort": "low", "budget": 9}}
    arms = {"main": ARM, "more": more}
    study = build_study({"models": ["planted-reasoner"], "arms": arms, "analyses": {}, "figures": {}})
    assert study.levels() == list(range(-3, 4))
    assert [ask["budget"] for ask in study.asked()] == [None, 9]
    stated = {"engine": "openai", "source": "x", "reasoning": {"extra_tokens": 2000}}
    study.registry["planted-reasoner"] = make_model("planted-reasoner", **stated)
    assert [ask["budget"] for ask in study.asked()] == [2000, 9]


# --- The studies that come with the project


@pytest.mark.parametrize("name", ["config", "demo-small", "pets2026", "llm-ci2024"])
def test_every_study_file_loads_with_stand_ins(build_study, folder, name):
    study = build_study(load_yaml(folder / f"config/{name}.yaml"), {"engine": "planted"})
    for section in ("analyses", "figures"):
        for entry in study.entries[section]:
            assert make_entry(study, section, entry).selected


OPEN = [f"tulu-2-{size}" for size in ("7b", "13b", "dpo-7b", "dpo-13b", "7b-awq", "13b-awq")]
BOTH_PAPERS = {"gpt-4o-mini", "llama-3.1-8b-instruct", *OPEN}
#: Dataset, wordings, temperature, sample and orders of each arm. Figures 2 and 4 of PETS compare wordings in one order.
PETS2026 = {
    "main": ("iot", "chatgpt", 0, 1, "random", 3),
    "chatgpt": ("iot", "chatgpt", 0, 1, "fixed", 1),
    "gemini": ("iot", "gemini", 0, 1, "fixed", 1),
    "pegasus": ("iot", "pegasus", 0, 1, "fixed", 1),
    "temperature-05": ("iot", "chatgpt", 0.5, 1, "fixed", 1),
    "temperature-1": ("iot", "chatgpt", 1, 1, "fixed", 1),
    "confaide": ("confaide_2a", "confaide", 0, 1, "random", 3),
    "again": ("iot", "chatgpt", 0, 2, "random", 3),
}
LLM_CI2024 = {
    "iot": ("iot", "chatgpt", 0, 1, "fixed", 1),
    "iot-t1": ("iot", "chatgpt", 1, 1, "fixed", 1),
    "coppa": ("coppa", "chatgpt", 0, 1, "fixed", 1),
    "coppa-t1": ("coppa", "chatgpt", 1, 1, "fixed", 1),
    "again": ("iot", "chatgpt", 0, 2, "fixed", 1),
}


@pytest.mark.parametrize(
    ("name", "arms", "models", "t_vals"),
    [
        ("pets2026", PETS2026, BOTH_PAPERS, (30, 9)),
        ("llm-ci2024", LLM_CI2024, BOTH_PAPERS | {f"tulu-2-dpo-{n}b-awq" for n in (7, 13)}, (10, 3)),
    ],
)
def test_a_papers_study_is_the_papers(build_study, folder, name, arms, models, t_vals):
    study = build_study(load_yaml(folder / f"config/{name}.yaml"))
    assert set(study.all_models()) == models
    assert arms == {
        name: (arm.dataset, arm.prompts, arm.temperature, arm.sample, arm.orders.method, arm.orders.count)
        for name, arm in study.arms.items()
    }
    two = ("tulu-2-7b", "gpt-4o-mini")
    assert tuple(study.templates(next(iter(arms)), model) for model in two) == (11, 3)
    assert tuple(map(study.t_val, two)) == t_vals
    assert study.settings.norms.consensus == "papers"
