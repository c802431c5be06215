"""Every engine is found by its file or folder, and declares everything that is derived from it."""

import re
from pathlib import Path

import pytest

import cinorms
from cinorms.core.schema import schema_of
from cinorms.inference.engine_kind import ENGINES, Cost, Work, cost_by_rates, engine_kind, engine_kinds
from cinorms.inference.request import ReasoningLevel
from cinorms.inference.respondent_kinds import cost_of, respondent_kind, respondent_names
from cinorms.inference.settings import ServedSettings
from cinorms.study.settings import ArmDefaults

from ...asking import make_model


def test_engines_are_found_and_each_declaration_is_whole(folder):
    assert [(kind.name, kind.checkpoint) for kind in engine_kinds()] == [("openai", False), ("vllm", True)]
    assert respondent_names() == ["human", "openai", "planted", "vllm"]
    with pytest.raises(KeyError):
        engine_kind("settings")
    for kind in engine_kinds():
        assert (folder / f"envs/{kind.environment}.yaml").is_file(), kind.name
        assert issubclass(kind.settings, ServedSettings)
    for kind in map(respondent_kind, respondent_names()):
        assert all("description" in key for key in schema_of(kind.settings)["properties"].values()), kind.name


@pytest.mark.parametrize(
    ("entry", "origin"),
    [
        ({"engine": "vllm", "source": "o/n"}, "Hugging Face: o/n"),
        ({"engine": "vllm", "source": "o/n", "revision": "abc"}, "Hugging Face: o/n, revision abc"),
        ({"engine": "vllm", "source": "results/a/model"}, "results/a/model"),
        ({"engine": "openai", "source": "gpt"}, "OpenAI"),
        ({"engine": "openai", "source": "x", "base_url": "https://host/v1"}, "https://host/v1"),
        ({"engine": "planted", "planted": {}}, "planted respondent"),
    ],
)
def test_a_table_shows_where_a_model_comes_from(entry, origin):
    made = make_model("m", **entry)
    assert made.kind.origin(made.stated) == origin


@pytest.mark.parametrize(
    ("entry", "variable"),
    [
        ({"engine": "openai"}, "OPENAI_API_KEY"),
        ({"engine": "openai", "base_url": "http://localhost:8000/v1"}, None),
        ({"engine": "openai", "base_url": "http://localhost:8000/v1", "key_variable": "MINE"}, "MINE"),
        ({"engine": "vllm"}, None),
    ],
)
def test_a_key_is_for_one_address(entry, variable):
    assert make_model("m", source="s", **entry).key_variable == variable


def test_a_cluster_is_asked_for_what_a_model_needs_and_a_stand_in_takes_no_gpu():
    api = make_model("m", engine="openai", source="s").kind.needs
    assert (api.gpus, api.more) == (None, {"api_jobs": 1})
    entry = make_model("m", engine="vllm", source="o/n", gpus=4, capacity=70, stand_in="p")
    assert (entry.kind.needs.gpus(entry.settings), entry.gpus) == (4, 4)
    standing = entry.answered_by(make_model("p", engine="planted", planted={"noise": 2}))
    assert (standing.name, standing.engine, standing.gpus) == ("m", "planted", 0)
    assert standing.request == {"planted": {"noise": 2}}
    assert standing.get("capacity") == 70
    assert entry.settings.shards == 1
    assert isinstance(standing.settings, standing.kind.settings)
    assert standing.original_settings == entry.settings


@pytest.mark.parametrize(
    ("limits", "per_minute"),
    [({}, 960), ({"requests_per_minute": 5}, 5), ({"requests_per_minute": 5, "tokens_per_minute": 800}, 2)],
)
def test_an_endpoints_limits_bound_how_fast_a_job_is(limits, per_minute):
    model = make_model("m", engine="openai", source="s", limits=limits)
    assert model.kind.needs.prompts_per_minute(model.settings) == per_minute


def test_engine_facts_are_known_to_engines_alone():
    """Nothing else in the library speaks to the same packages."""
    own = {name for kind in engine_kinds() for name in (kind.name, *kind.public)}
    own -= set(ArmDefaults.model_fields)  # an arm can state how models reason, too
    library = Path(cinorms.__file__).parent
    others = [path for path in library.rglob("*.py") if library / "inference/engines" not in path.parents]
    assert len(others) > 100
    for path in others:
        code = path.read_text(encoding="utf-8")
        assert not own.intersection(re.findall(r'"([^"\n]*)"', code)), path
        assert f"from {ENGINES}." not in code or library / "inference" not in path.parents, path


SPEED, PAID = {"tokens_per_second": 1000}, {"usd_per_million_input": 2, "usd_per_million_output": 3}


@pytest.mark.parametrize(
    ("gpus", "rates", "trace_tokens", "cost"),
    [
        (2, {**SPEED, "usd_per_million_input": 2}, 0, Cost(200.0, None)),
        (0, PAID, 0, Cost(None, 15.0)),
        (0, PAID, 500_000, Cost(None, 16.5)),
        (2, SPEED, 600_000, Cost(None, None)),  # nobody knows how fast it writes traces
        (2, {**SPEED, "output_tokens_per_second": 500}, 600_000, Cost(240.0, None)),
    ],
)
def test_costs(gpus, rates, trace_tokens, cost):
    work = Work(6_000_000, 1_000_000, gpus, rates, trace_tokens)
    assert cost_by_rates(work) == cost
    assert cost_of("planted", work) == Cost(0.0, 0.0)
    assert cost_of("openai", work) == cost


@pytest.mark.parametrize(
    ("stated", "leveled"),
    [
        (None, None),
        ({"extra_tokens": 5}, {"extra_tokens": 9, "effort": "low"}),
        ({"switch": "thinks"}, {"extra_tokens": 9, "effort": "low", "switch": "thinks"}),
    ],
)
def test_an_arm_overrides_how_long_a_model_behind_an_endpoint_reasons(stated, leveled):
    model = make_model("m", engine="openai", source="s", **({"reasoning": stated} if stated else {}))
    # A model that reasons takes no temperature, unless it has a switch.
    drawn = {"temperature": None} if stated and "switch" not in stated else {}
    assert model.request == {"source": "s", **({"reasoning": stated} if stated else {}), **drawn}
    found = model.kind.reasoning(model.settings, ReasoningLevel("low", 9))
    assert found == (stated and {"reasoning": leveled, **drawn})


def test_a_reasoning_that_states_nothing_is_the_models_own():
    def asked(**entry):
        made = make_model("m", engine="openai", source="s", **entry).request
        return made.get("reasoning"), made.get("temperature", "the arm's")

    assert asked() == (None, "the arm's")
    assert asked(reasoning={}) == ({"extra_tokens": 0}, None)
    assert asked(reasoning={"effort": "low"}) == ({"effort": "low"}, None)
    assert asked(reasoning={"switch": "thinks"}) == ({"switch": "thinks"}, "the arm's")


def test_how_a_model_under_vllm_is_switched_is_part_of_its_level():
    model = make_model("m", engine="vllm", source="o/n", reasoning={"switch": "thinks"})
    marks = {"begin": "<think>", "end": "</think>", "switch": "thinks"}
    level = ReasoningLevel("low", 9)
    assert model.kind.reasoning(model.settings, level) == {
        "reasoning": {"effort": "low", "budget": 9, **marks}
    }
    plain = make_model("m", engine="vllm", source="o/n")
    assert plain.kind.reasoning(plain.settings, level) is None
