"""A spec holds everything that can change a response, and nothing that cannot."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from cinorms.inference.model_entry import load_registry
from cinorms.inference.spec import take_shard
from cinorms.planted.respondents import respondent_of
from cinorms.prompts.paraphrase.paraphrasers import PARAPHRASERS
from cinorms.prompts.variants import list_variants
from cinorms.study.settings import Reasoning
from cinorms.study.spec import (
    MOST_MINUTES,
    asking_minutes,
    make_spec,
    make_tuning,
    paraphraser_environment,
    shards_of,
    trace_minutes,
)
from cinorms.study.study import Study

from ...specs import make_model

Build = Callable[..., Study]

ARM = {"dataset": "iot", "prompts": "chatgpt"}
MODELS = ["gpt-4o-mini", "tulu-2-7b", "llama-3.1-8b-instruct"]


def spec(study: Study, model: str = "tulu-2-7b") -> dict[str, Any]:
    return make_spec(study, "main", model, "1-of-1").as_plain()


def study_of(build_study: Build, registry: dict[str, Any] | None = None, **arm: Any) -> Study:
    study = build_study({"models": MODELS, "arms": {"main": {**ARM, **arm}}})
    for model, changes in (registry or {}).items():
        study.registry[model] = make_model(model, **{**study.registry[model].stated, **changes})
    return study


def test_a_spec_is_plain_data(build_study):
    for engine in (None, "planted"):
        made = spec(build_study({"models": MODELS, "engine": engine}))
        assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize(
    "arm",
    [
        {"select": {"sender": ["a door lock"]}},
        {"templates": 3},
        {"templates_for": {"tulu-2-7b": 3}},
        {"orders": {"method": "random"}},
        {"temperature": 0.5},
        {"max_tokens": 7},
        {"readout": "options"},
        {"layout": "instruction_in_system"},
        {"system": "Be brief."},
        {"wrap": "paper"},
    ],
    ids=lambda arm: next(iter(arm)),
)
def test_what_can_change_a_response_changes_the_spec(build_study, arm):
    assert spec(study_of(build_study, **arm)) != spec(study_of(build_study))
    assert spec(build_study({"models": MODELS, "seed": 1})) != spec(build_study({"models": MODELS}))


@pytest.mark.parametrize(
    "change",
    [
        {"source": "elsewhere/tulu"},
        {"revision": "abc"},
        {"dtype": "float16"},
        {"quantisation": "awq"},
        {"trust_remote_code": True},
        {"wrap": "tulu"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_a_model_is_changes_the_spec(build_study, change):
    assert spec(study_of(build_study, {"tulu-2-7b": change})) != spec(study_of(build_study))


@pytest.mark.parametrize(
    "study",
    [
        {"norms": {"t_val": 3, "t_maj": "plurality", "consensus": "papers"}},
        {"figures": {}},
        {"analyses": {}, "figures": {}},
        {"models": ["tulu-2-7b"]},
        {"study": "another", "mirror": "somewhere"},
        {"arm_defaults": {"templates_for": {"gpt-4o-mini": 3}}},
        {"arm_defaults": {"orders": {"count": 1}}},  # more orders are more variants, not other ones
        {"arms": {"main": ARM, "more": {**ARM, "temperature": 1}}, "figures": {}, "analyses": {}},
        {"datasets": {"coppa": {"null_principle": True}}},
    ],
    ids=lambda study: next(iter(study)),
)
def test_what_changes_no_response_leaves_the_spec(build_study, study):
    assert spec(build_study({"models": MODELS, **study})) == spec(build_study({"models": MODELS}))


def test_what_a_run_costs_and_where_it_runs_leave_the_spec(build_study):
    tuning = {
        "gpus": 4,
        "rates": {},
        "note": "x",
        "capacity": 70,
        "family": "y",
        "alignment": "dpo",
        "stand_in": "planted-uniform",
        "shards": 5,
    }
    assert spec(study_of(build_study, {"tulu-2-7b": tuning})) == spec(study_of(build_study))


def test_what_changes_no_response_reaches_the_engine_beside_the_spec(build_study):
    study = study_of(build_study, {"tulu-2-7b": {"gpus": 4, "max_model_len": 700, "shards": 2}})
    journal = {
        "journal": "results/.journal",
        "asker": [study.name, "main", "tulu-2-7b"],
    }
    tuning = make_tuning(study, "main", "tulu-2-7b", "1-of-2", "results/s/responses")
    journal["companions"] = "results/s/responses/.asking/main.tulu-2-7b.1-of-2.json"
    assert tuning == {**journal, "gpus": 4, "max_model_len": 700}
    assert not {"gpus", "max_model_len"} & set(spec(study))
    api = make_tuning(study, "main", "gpt-4o-mini", "1-of-1", "results/s/responses")
    assert (api["spending"], api["job"]) == ("results/s/responses/.spending", "main.gpt-4o-mini.1-of-1")
    assert api["key_variable"] == "OPENAI_API_KEY"
    assert json.loads(json.dumps(api)) == api


def test_an_arm_states_how_long_a_model_reasons(build_study):
    """The arm's effort and budget go where the engine has them; without them a spec is as it was."""
    marks = {"begin": "<think>\n", "switch": "enable_thinking"}
    registry = {"gpt-4o-mini": {"reasoning": {"effort": "high"}}, "tulu-2-7b": {"reasoning": marks}}
    asked = {"effort": "low", "budget": 500}
    before, arm = study_of(build_study, registry), study_of(build_study, registry)
    assert "reasoning" not in spec(before)
    assert spec(before) == spec(study_of(build_study))
    assert spec(before, "gpt-4o-mini")["reasoning"] == {"effort": "high"}
    arm.settings.arms["main"].__dict__["reasoning"] = Reasoning(**asked)
    api = spec(arm, "gpt-4o-mini")
    assert (api["reasoning"], api["temperature"]) == ({"effort": "low", "extra_tokens": 500}, None)
    own = spec(arm)
    assert own["reasoning"] == {**asked, **marks, "end": "</think>"}
    assert (own["temperature"], own["max_tokens"]) == (0, 100)


def test_a_reasoning_model_takes_no_temperature_and_its_effort_is_part_of_it(build_study):
    reasoning = {"effort": "low", "extra_tokens": 2000}
    study = study_of(build_study, {"gpt-4o-mini": {"reasoning": reasoning}}, temperature=0.5)
    made = spec(study, "gpt-4o-mini")
    assert (made["temperature"], made["reasoning"]) == (None, reasoning)
    study = study_of(build_study, {"gpt-4o-mini": {"reasoning": {**reasoning, "effort": "high"}}})
    assert spec(study, "gpt-4o-mini") != made


def test_the_papers_wrapper_and_layout_are_the_models_own(build_study):
    study = study_of(build_study, wrap="paper", layout="paper")
    found = {model: (spec(study, model)["wrap"], spec(study, model)["layout"]) for model in MODELS}
    assert found == {
        "gpt-4o-mini": ("none", "instruction_in_system"),
        "tulu-2-7b": ("tulu", "single"),
        "llama-3.1-8b-instruct": ("llama3", "single"),
    }
    # A wrapper that an arm names goes before the registry's.
    assert spec(study_of(build_study))["wrap"] == "chat_template"
    assert spec(study_of(build_study, wrap="llama2"))["wrap"] == "llama2"
    assert spec(study_of(build_study, {"tulu-2-7b": {"wrap": "tulu"}}))["wrap"] == "tulu"


def test_a_planted_spec_holds_the_coefficients_and_what_the_entry_says_instead(build_study):
    study = build_study()
    before = study.registry["planted-gpt-4o-mini"].stated
    changed = {**before, "planted": {**before["planted"], "shift": 0.25}}
    study.registry["planted-gpt-4o-mini"] = make_model("planted-gpt-4o-mini", **changed)
    made = spec(study, "planted-gpt-4o-mini")["planted"]
    assert made["coefficients"]["transmission_principle"]["if owner has given consent"] == 12.43
    assert (made["shift"], made["noise"], len(made["thresholds"])) == (0.25, 0.4, 4)
    assert "norms" not in made
    assert "title" not in made
    assert before["planted"]["norms"] == "gpt-4o-mini"  # nothing was taken out


def test_every_planted_model_of_the_registry_is_a_respondent(build_study, root):
    planted = [name for name, entry in load_registry(root).items() if entry.kind.planted]
    study = build_study({"models": planted})
    for model in planted:
        respondent = respondent_of(spec(study, model))
        assert respondent.name == model
        assert sum(respondent.invalid.values()) < 0.3


def test_shards_are_the_registrys_but_never_more_than_variants(build_study):
    study = study_of(build_study, {"tulu-2-7b": {"shards": 3}, "gpt-4o-mini": {"shards": 100}})
    assert shards_of(study, "main", "tulu-2-7b") == ["1-of-3", "2-of-3", "3-of-3"]
    assert len(shards_of(study, "main", "gpt-4o-mini")) == 33
    assert shards_of(study, "main", "llama-3.1-8b-instruct") == ["1-of-1"]


def test_shards_by_template_are_the_templates(build_study):
    by = {"tulu-2-7b": {"shards": {"by": "template"}}, "gpt-4o-mini": {"shards": {"by": "variant"}}}
    study = study_of(build_study, by)
    shards = shards_of(study, "main", "tulu-2-7b")
    assert len(shards) == study.templates("main", "tulu-2-7b") == 11
    variants = list_variants("p", [f"{{{{ vignette }}}} {n}" for n in range(11)], 11, 3)
    for number, shard in enumerate(shards):
        assert take_shard(variants, shard)["variant"].tolist() == [f"{number}_{order}" for order in range(3)]
    assert len(shards_of(study, "main", "gpt-4o-mini")) == 33


@pytest.mark.parametrize("name", PARAPHRASERS)
def test_a_paraphraser_runs_in_the_environment_of_its_engine(name, folder):
    own = paraphraser_environment(name)
    assert (folder / f"envs/{own.environment}.yaml").is_file()
    expected = {"vllm": ".venv-vllm", "pegasus": ".venv-paraphrase"}
    assert own.virtual_environment == expected.get(name)


# --- The time that a job requests for traces

TIMED = {"dataset": "iot", "prompts": "chatgpt", "templates": 10, "orders": {"count": 1}}
SELECT = {"sender": ["a door lock"]}
SHORT = {"effort": "low", "budget": 100}


@pytest.fixture
def minutes(build_study: Callable[..., Study]) -> Callable[..., int]:
    """Return the minutes for traces in one arm of one model, with changes to both; for all of an ``attempt``."""

    def of(
        model: str = "tulu-2-7b",
        changes: dict[str, Any] | None = None,
        reasoning: dict[str, Any] | None = None,
        attempt: int | None = None,
        **arm: Any,
    ) -> int:
        study = build_study({"models": [model], "arms": {"main": {**TIMED, **arm}}})
        settings = study.arms["main"]
        study.arms["main"] = settings.model_copy(update={"reasoning": reasoning and Reasoning(**reasoning)})
        study.registry[model] = make_model(model, **{**study.registry[model].stated, **(changes or {})})
        if attempt:
            return asking_minutes(study, "main", model, attempt)
        return trace_minutes(study, "main", model)

    return of


def test_an_arm_without_traces_requests_no_time_for_them(minutes):
    assert minutes() == 0
    assert minutes("gpt-4o-mini", reasoning=SHORT) == 0
    assert minutes(reasoning={"effort": "none"}) == 0


def test_the_time_follows_the_tokens(minutes):
    # 6,912 flows in 10 templates, half of 100 tokens each, at 20,000 / 7 tokens per second.
    assert minutes(reasoning=SHORT) == 21
    assert minutes(reasoning={**SHORT, "budget": 1000}) == 202
    assert minutes(reasoning=SHORT, templates=5) == 11
    assert minutes(reasoning=SHORT, orders={"count": 3}) == 61
    assert minutes(changes={"shards": 2}, reasoning=SHORT) == 11
    assert minutes(changes={"rates": {"output_tokens_per_second": 1000}}, reasoning=SHORT) == 58
    assert minutes(changes={"rates": {"trace_share": 1.0}}, reasoning=SHORT) == 41
    assert 0 < minutes(reasoning={**SHORT, "budget": 1000}, select=SELECT) <= 202 / 5
    assert minutes(reasoning={"effort": "high", "budget": 30_000}) == MOST_MINUTES


def test_each_attempt_adds_the_time_of_all_traces(minutes):
    first, second = (
        minutes(attempt=attempt, reasoning=SHORT) - minutes(attempt=attempt) for attempt in (1, 2)
    )
    assert (first, second) == (21, 42)
    assert minutes(attempt=2) > minutes(attempt=1) > 0
