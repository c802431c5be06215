"""What a study tells of its arms, models and entries; the studies that come with the project are the papers'."""

import pytest

from cinorms.core.errors import ConfigError
from cinorms.core.labels import PLANTED_MARK
from cinorms.core.yaml_files import load_yaml
from cinorms.study.entries import make_entry

from ...scales import ACCEPTABILITY
from ...studies import ARM, DEFAULT_MODELS, arm, change, load

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


def test_thresholds_are_the_grids_and_the_studys_own(build_study):
    norms = {
        "t_val": 7,
        "t_maj": 0.3,
        "t_val_for": {"planted-tulu-2-7b": 5},
        "grid": {"t_val": [10], "t_maj": ["plurality", 0.5]},
    }
    study = build_study({"norms": norms})
    assert study.thresholds() == ([5, 7, 10], ["plurality", 0.3, 0.5])
    assert (study.t_val("planted-tulu-2-7b"), study.t_val("planted-gpt-4o-mini")) == (5, 7)


def test_an_entry_lists_its_pairs_arm_by_arm_in_the_studys_order_of_models(build_study):
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
    selected = make_entry(study, "figures", "all").selected
    assert selected[:2] == (("b", "planted-gpt-4o-mini"), ("b", "planted-tulu-2-7b"))
    assert selected[2:] == tuple(("a", model) for model in DEFAULT_MODELS)
    entry = make_entry(study, "figures", "some")
    assert entry.selected == (("a", "planted-tulu-2-7b"), ("a", "planted-gpt-4o-mini"))
    assert entry.scales == {"a": ACCEPTABILITY}
    assert entry.mark == PLANTED_MARK
    assert (entry.thresholds, entry.grid) == ({}, ()), "what reads no norms carries no thresholds"


def test_a_stand_in_answers_under_the_models_own_name(build_study):
    asked = {"models": ["tulu-2-7b", "gpt-4o-mini"]}
    assert build_study(asked).planted() == []
    assert build_study(asked).registry_entry("tulu-2-7b").engine == "vllm"
    planted = build_study({**asked, "engine": "planted"})
    entry = planted.registry_entry("tulu-2-7b")
    assert entry.engine == "planted"
    assert entry.request == planted.registry["planted-tulu-2-7b"].request
    assert (entry.name, entry.get("source")) == (
        "tulu-2-7b",
        build_study(asked).registry["tulu-2-7b"].get("source"),
    )
    assert planted.planted() == asked["models"]
    assert [ask["gpus"] for ask in planted.asked()] == [0, 0]


def test_the_plan_takes_one_gpu_for_a_vllm_model_that_says_nothing(copied):
    change(copied.folder / "config/models.yaml", lambda registry: registry["tulu-2-7b"].pop("gpus"))
    study = load(copied, {"models": ["tulu-2-7b", "tulu-2-13b", "gpt-4o-mini"]})
    assert [ask["gpus"] for ask in study.asked()] == [1, 1, 0]


def test_the_keys_of_all_models_and_of_the_coder_are_known(build_study):
    study = build_study({"models": ["gpt-4o-mini", "tulu-2-7b", "planted-gpt-4o-mini"], **arm()})
    assert study.key_variables() == ["OPENAI_API_KEY"]
    assert build_study({"models": ["tulu-2-7b"], **arm()}).key_variables() == []
    coded = build_study({"models": ["tulu-2-7b"], **arm(), "answers": {"coder": "gpt-4o-mini"}})
    assert coded.key_variables() == ["OPENAI_API_KEY"]


def test_a_person_codes_replies_where_the_study_has_a_coder_or_states_how_many(build_study):
    asked, coder = {"models": ["tulu-2-7b"]}, {"coder": "gpt-4o-mini"}
    for answers, engine, number in (
        ({}, None, None),
        (coder, None, 200),
        ({"sample": 30}, None, 30),
        (coder, "planted", None),
    ):
        study = build_study({**asked, "answers": answers, "engine": engine})
        assert study.hand_sample == number
        assert bool(study.coded_scales()) == (number is not None)


def test_the_null_principle_is_a_level_only_where_it_is_asked(build_study, root):
    label = load_yaml(root.names("vignettes")["iot"])["null_level"]["label"]
    select = arm(select={"transmission_principle": [label]})
    with pytest.raises(ConfigError, match="is not a level"):
        build_study(select)
    study = build_study({**select, "datasets": {"iot": {"null_principle": True}}})
    assert study.null_principle("iot")


# --- The studies that come with the project


@pytest.mark.parametrize("name", ["config", "demo-small", "pets2026", "llm-ci2024"])
def test_every_study_file_loads_with_stand_ins(build_study, folder, name):
    study = build_study(load_yaml(folder / f"config/{name}.yaml"), {"engine": "planted"})
    for section in ("analyses", "figures"):
        for entry in study.entries[section]:
            assert make_entry(study, section, entry).selected


def test_pets2026_is_the_papers_study(build_study, folder):
    study = build_study(load_yaml(folder / "config/pets2026.yaml"))
    assert set(study.all_models()) == PETS_MODELS
    assert set(study.datasets()) == {"iot", "confaide_2a"}
    assert {arm.prompts for arm in study.arms.values()} == {"chatgpt", "gemini", "pegasus", "confaide"}
    temperatures = {
        n: a.temperature for n, a in study.arms.items() if a.prompts == "chatgpt" and n != "again"
    }
    assert temperatures == {"main": 0, "chatgpt": 0, "temperature-05": 0.5, "temperature-1": 1}
    # Figures 2 and 4 compare wordings in one order.
    for name in ("chatgpt", "temperature-05", "temperature-1", "gemini", "pegasus"):
        assert study.arms[name].orders.plain() == {"method": "fixed", "count": 1}
    again = study.arms["again"]
    assert (again.temperature, again.sample, again.dataset) == (0, 2, "iot")
    main = study.arms["main"]
    assert (main.orders.plain(), main.temperature) == ({"method": "random", "count": 3}, 0)
    assert study.templates("main") == 11
    assert study.templates("main", "gpt-4o-mini") == 3
    assert (study.t_val("tulu-2-7b"), study.t_val("gpt-4o-mini")) == (30, 9)
    assert study.settings.norms.consensus == "papers"


def test_llm_ci2024_is_the_papers_study(build_study, folder):
    study = build_study(load_yaml(folder / "config/llm-ci2024.yaml"))
    assert set(study.all_models()) == PETS_MODELS | {"tulu-2-dpo-7b-awq", "tulu-2-dpo-13b-awq"}
    assert set(study.datasets()) == {"iot", "coppa"}
    for dataset in ("iot", "coppa"):
        arms = [arm for name, arm in study.arms.items() if arm.dataset == dataset and name != "again"]
        assert sorted(arm.temperature for arm in arms) == [0, 1]
        assert all(arm.orders.plain() == {"method": "fixed", "count": 1} for arm in arms)
        assert all(arm.prompts == "chatgpt" for arm in arms)
    assert (study.t_val("tulu-2-7b"), study.t_val("gpt-4o-mini")) == (10, 3)
