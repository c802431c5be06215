"""A request holds everything that can change a reply, and nothing that cannot; jobs, and the time that they request."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from cinorms.planted.respondents import respondent_of
from cinorms.prompts.paraphrase.paraphrasers import PARAPHRASERS
from cinorms.run.status import Row, as_text
from cinorms.study.norm_room import plan_warnings
from cinorms.study.requests import (
    MOST_MINUTES,
    arms_of,
    asking_minutes,
    cap_notes,
    job_of,
    loaded_models,
    paraphraser_environment,
    request_of,
    requests_of,
    runtime_of,
    shards_of,
    stored_models,
)
from cinorms.study.settings import Reasoning
from cinorms.study.study import Study

from ...asking import make_model
from ...studies import arm

Build = Callable[..., Study]

ARM = {"dataset": "iot", "prompts": "chatgpt"}
MODELS = ["gpt-4o-mini", "tulu-2-7b", "llama-3.1-8b-instruct"]
NO_ENTRIES: dict[str, Any] = {"analyses": {}, "figures": {}}


def request(study: Study, model: str = "tulu-2-7b") -> dict[str, Any]:
    return request_of(study, "main", model).plain()


def study_of(build_study: Build, registry: dict[str, Any] | None = None, **arm: Any) -> Study:
    study = build_study({"models": MODELS, "arms": {"main": {**ARM, **arm}}})
    for model, changes in (registry or {}).items():
        study.registry[model] = make_model(model, **{**study.registry[model].stated, **changes})
    return study


def test_what_can_change_a_response_changes_the_request(build_study):
    arm = {
        "select": {"sender": ["a door lock"]},
        "templates": 3,
        "templates_for": {"tulu-2-7b": 3},
        "orders": {"method": "random"},
        "temperature": 0.5,
        "max_tokens": 7,
        "readout": "options",
        "layout": "instruction_in_system",
        "system": "Be brief.",
        "wrap": "paper",
        "sample": 2,
    }
    entry = {
        "source": "elsewhere/tulu",
        "revision": "abc",
        "dtype": "float16",
        "quantisation": "awq",
        "trust_remote_code": True,
        "wrap": "tulu",
    }
    made = {f"arm {key}": study_of(build_study, **{key: value}) for key, value in arm.items()}
    made |= {f"{key}": study_of(build_study, {"tulu-2-7b": {key: value}}) for key, value in entry.items()}
    made["seed"] = build_study({"models": MODELS, "seed": 1})
    before = request(study_of(build_study))
    assert [change for change, study in made.items() if request(study) == before] == []


def test_what_changes_no_response_leaves_the_request(build_study):
    others = [
        {"norms": {"t_val": 3, "t_maj": "plurality", "consensus": "papers"}},
        NO_ENTRIES,
        {"models": ["tulu-2-7b"]},
        {"study": "another"},
        {"arm_defaults": {"templates_for": {"gpt-4o-mini": 3}}},
        {"arm_defaults": {"orders": {"count": 1}}},  # more orders are more variants, not other ones
        {"arms": {"main": ARM, "more": {**ARM, "temperature": 1}}, **NO_ENTRIES},
    ]
    runs = {"gpus": 4, "rates": {}, "note": "x", "shards": 5, "stand_in": "planted-uniform"}
    named = {"capacity": 70, "family": "y", "alignment": "dpo"}
    made = [build_study({"models": MODELS, **changes}) for changes in others]
    made.append(study_of(build_study, {"tulu-2-7b": runs | named}))
    before = request(study_of(build_study))
    assert [number for number, study in enumerate(made) if request(study) != before] == []


def test_what_changes_no_reply_reaches_the_engine_beside_the_request(build_study):
    study = study_of(build_study, {"tulu-2-7b": {"gpus": 4, "max_model_len": 700}})
    runtime = runtime_of(study, "tulu-2-7b", "1-of-2")
    where = {"store": "results/.replies", "progress": "results/demo/.progress"}
    job = {"study": study.name, "model": "tulu-2-7b", "shard": "1-of-2"}
    assert runtime == {**job, **where, "gpus": 4, "max_model_len": 700, "batching": {}}
    assert not {"gpus", "max_model_len"} & set(request(study))
    api = runtime_of(study, "gpt-4o-mini", "1-of-1")
    assert api["key_variable"] == "OPENAI_API_KEY"
    assert json.loads(json.dumps(api)) == api
    capped = runtime_of(build_study({"models": MODELS, "max_cost_usd": 5}), "gpt-4o-mini", "1-of-1")
    assert capped == {**api, "max_cost_usd": 5, "expected_usd": f"{where['progress']}/expected_usd.json"}


def test_replies_of_planted_models_are_in_no_store_and_apis_load_no_checkpoint(build_study):
    planted, coder = "planted-gpt-4o-mini", {"answers": {"coder": "tulu-2-13b"}}
    given = {"source": "responses", "response_format": "plain", "response_files": "{model}.csv"}
    arms = {
        "main": {**ARM, "models": [*MODELS, planted]},
        "given": {**ARM, **given, "models": ["tulu-2-13b"]},
    }
    study = build_study({"models": [*MODELS, "tulu-2-13b", planted], "arms": arms, **NO_ENTRIES})
    assert stored_models(study) == MODELS
    assert loaded_models(study) == ["tulu-2-7b", "llama-3.1-8b-instruct"]
    coded = build_study({"models": MODELS[:1], "arms": {"main": ARM}, **NO_ENTRIES, **coder})
    assert (stored_models(coded), loaded_models(coded)) == (MODELS[:1], ["tulu-2-13b"])


def test_models_that_load_the_same_are_asked_by_one_job(build_study):
    names, more = ["tulu-2-7b", "adapted", "gpt-4o-mini"], {**ARM, "temperature": 1}
    study = build_study({"models": MODELS, "arms": {"main": ARM, "more": more}, **NO_ENTRIES})
    assert [job_of(study, model) for model in MODELS] == MODELS
    base = {**study.registry["tulu-2-7b"].stated, "lora_rank": 8}
    for name, entry in {"tulu-2-7b": base, "adapted": {**base, "lora": "adapter", "shards": 3}}.items():
        study.registry[name] = make_model(name, **entry)
    for name, models in (("main", names), ("more", names[1:])):
        study.arms[name].__dict__["models"] = tuple(models)
    assert [job_of(study, model) for model in names] == ["tulu-2-7b", "tulu-2-7b", "gpt-4o-mini"]
    assert arms_of(study, "tulu-2-7b") == [("main", "tulu-2-7b"), ("main", "adapted"), ("more", "adapted")]
    assert arms_of(study, "gpt-4o-mini") == [("main", "gpt-4o-mini"), ("more", "gpt-4o-mini")]
    assert shards_of(study, "tulu-2-7b") == ["1-of-1"], "those of the model that names the job"
    asked = requests_of(study, "gpt-4o-mini")
    assert [(arm, one["temperature"]) for arm, one in asked] == [("main", 0), ("more", 1)]


def test_an_arm_states_how_long_a_model_reasons(build_study):
    """The arm's effort and budget go where the engine has them; without them a request is as it was."""
    marks = {"begin": "<think>\n", "switch": "enable_thinking"}
    own = {"effort": "high", "extra_tokens": 2000}
    registry = {"gpt-4o-mini": {"reasoning": own}, "tulu-2-7b": {"reasoning": marks}}
    study = study_of(build_study, registry, temperature=0.5)
    assert request(study) == request(study_of(build_study, temperature=0.5))
    api = request(study, "gpt-4o-mini")
    assert (api["reasoning"], api["temperature"]) == (own, None), "a reasoning model takes no temperature"
    level = {"effort": "low", "budget": 500}
    study.arms["main"].__dict__["reasoning"] = Reasoning(**level)
    api, vllm = request(study, "gpt-4o-mini"), request(study)
    assert (api["reasoning"], api["temperature"]) == ({"effort": "low", "extra_tokens": 500}, None)
    assert vllm["reasoning"] == {**level, **marks, "end": "</think>"}
    assert (vllm["temperature"], vllm["max_tokens"]) == (0.5, 100)


def test_the_papers_wrapper_and_layout_are_the_models_own(build_study):
    study = study_of(build_study, wrap="paper", layout="paper")
    found = {model: (request(study, model)["wrap"], request(study, model)["layout"]) for model in MODELS}
    assert found == {
        "gpt-4o-mini": ("none", "paper_random_orders"),
        "tulu-2-7b": ("tulu", "single"),
        "llama-3.1-8b-instruct": ("llama3", "single"),
    }
    # A wrapper that an arm names goes before the registry's.
    assert request(study_of(build_study))["wrap"] == "chat_template"
    assert request(study_of(build_study, wrap="llama2"))["wrap"] == "llama2"
    assert request(study_of(build_study, {"tulu-2-7b": {"wrap": "tulu"}}))["wrap"] == "tulu"


def test_a_planted_request_holds_the_coefficients_and_what_the_entry_says_instead(build_study):
    model = "planted-gpt-4o-mini"
    stated = build_study().registry[model].stated["planted"]
    study = study_of(build_study, {model: {"planted": {**stated, "shift": 0.25}}})
    made = request(study, model)["planted"]
    assert made["coefficients"]["transmission_principle"]["if owner has given consent"] == 12.43
    assert (made["shift"], made["noise"], len(made["thresholds"])) == (0.25, 0.4, 4)
    assert not {"norms", "title"} & set(made)
    assert stated["norms"] == "gpt-4o-mini"  # nothing was taken out
    for name, entry in study.registry.items():
        if entry.planted:
            respondent = respondent_of(request(study, name))
            assert respondent.name == name
            assert sum(respondent.invalid_shares.values()) < 0.3


@pytest.mark.parametrize("name", PARAPHRASERS)
def test_a_paraphraser_runs_in_the_environment_of_its_engine(name, folder):
    own = paraphraser_environment(name)
    assert (folder / f"envs/{own.environment}.yaml").is_file()
    expected = {"vllm": ".venv-vllm", "pegasus": ".venv-paraphrase"}
    assert own.virtual_environment == expected.get(name)


# --- The time that a job requests

TIMED = {"dataset": "iot", "prompts": "chatgpt", "templates": 10, "orders": {"count": 1}}
SELECT = {"sender": ["a door lock"]}
SHORT = {"effort": "low", "budget": 100}


@pytest.fixture
def minutes(build_study: Callable[..., Study]) -> Callable[..., int]:
    """Return the minutes that a job of one model in some equal arms requests, beyond those of its start."""

    def of(
        model: str = "tulu-2-7b",
        changes: dict[str, Any] | None = None,
        reasoning: dict[str, Any] | None = None,
        arms: int = 1,
        **arm: Any,
    ) -> int:
        stated = {f"arm{n}": {**TIMED, **arm} for n in range(arms)}
        study = build_study({"models": [model], "arms": stated, **NO_ENTRIES})
        for settings in study.arms.values():
            settings.__dict__["reasoning"] = reasoning and Reasoning(**reasoning)
        study.registry[model] = make_model(model, **{**study.registry[model].stated, **(changes or {})})
        first, second = (asking_minutes(study, model, attempt) for attempt in (1, 2))
        assert second == 2 * first
        return first - study.registry[model].kind.needs.start_minutes

    return of


def test_a_job_requests_the_time_of_every_arm_and_of_its_traces(minutes):
    alone = minutes()
    assert alone == 56  # seven billion parameters
    assert minutes(arms=3) == 3 * alone
    assert minutes(changes={"shards": 2}) == 28
    # 69,120 prompts, of which 64 are under way for 4 seconds each, and their traces.
    assert minutes("gpt-4o-mini") == 72
    assert minutes("gpt-4o-mini", reasoning=SHORT) == 102
    assert minutes("gpt-4o-mini", {"reasoning": {"extra_tokens": 100}}) == 102
    assert minutes("gpt-4o-mini", {"limits": {"requests_per_minute": 120}}) == 576
    assert minutes("gpt-4o-mini", {"limits": {"tokens_per_minute": 100_000}}) == 277
    assert minutes("gpt-4o-mini", select=SELECT) < 10
    assert minutes(reasoning={"effort": "none"}) == alone
    # 6,912 flows in 10 templates, half of 100 tokens each, at 20,000 / 7 tokens per second.
    assert minutes(reasoning=SHORT) == alone + 21
    assert minutes(reasoning={**SHORT, "budget": 1000}) == alone + 202
    assert minutes(reasoning=SHORT, templates=5) == alone + 11
    assert minutes(reasoning=SHORT, orders={"count": 3}) == alone + 61
    assert minutes(changes={"rates": {"output_tokens_per_second": 1000}}, reasoning=SHORT) == alone + 58
    assert minutes(changes={"rates": {"trace_share": 1.0}}, reasoning=SHORT) == alone + 41
    assert 0 < minutes(reasoning={**SHORT, "budget": 1000}, select=SELECT) - alone <= 202 / 5
    assert minutes(reasoning={"effort": "high", "budget": 30_000}) == MOST_MINUTES - 30


@pytest.mark.parametrize("layout", ["paper", "single"])
def test_a_cap_that_a_paper_s_layout_can_exceed_is_named_in_the_plan_and_the_status(build_study, layout):
    orders = {"method": "random", "count": 3}
    study = build_study({"models": ["gpt-4o-mini"], **arm(layout=layout, orders=orders), "max_cost_usd": 5})
    note = (
        "max_cost_usd can be exceeded by at most what the requests under way cost (limits.concurrency): "
        "gpt-4o-mini gets no token limit in main, as in the paper (layout)"
    )
    notes = [note] if layout == "paper" else []
    assert [text for text in plan_warnings(study) if "max_cost_usd" in text] == notes
    row = Row("main", "gpt-4o-mini", "missing", 0, 1, 1, "-", None, "")
    assert (note in as_text(study, [row])) == bool(notes)
    study.settings.__dict__["max_cost_usd"] = None
    assert cap_notes(study) == []
