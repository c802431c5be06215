"""What is wrong or does not fit together in a study, an arm or an entry gets one exact message."""

from typing import Any

import pytest

from cinorms.core.errors import ConfigError

from ...studies import ARM, arm, figure, message_of

WRONG: dict[str, tuple[Any, str]] = {
    "an unknown key": (
        {"modles": []},
        "modles: there is no such key here; did you mean 'models'? allowed: {study_keys}",
    ),
    "an empty file": (None, "the whole file: null is not a mapping of keys to values"),
    "a word for a share": (
        {"norms": {"t_maj": "pluralty"}},
        "norms.t_maj: 'pluralty' is not allowed; did you mean 'plurality'? "
        "allowed: a number (more than 0, at most 1) or plurality",
    ),
    "an arm without a prompt set": (
        {"arms": {"main": {"dataset": "iot"}}},
        "arms.main: key 'prompts' is missing; required: dataset, prompts",
    ),
    "an arm with a space in its name": (
        {"arms": {"the arm": ARM}},
        "arms.the arm: 'the arm' is not allowed; an arm's name has lower-case letters, digits, '-' and '_' "
        "(at most 100)",
    ),
    "an arm whose name is a truth value": (
        {"arms": {True: ARM}},  # `on:` or `yes:` in YAML
        "arms: YAML reads one of its keys as True; put it in quotes",
    ),
    "a kind that is a list": (
        figure(kind=["distribution"]),
        "figures.fig.kind: ['distribution'] is not a kind; did you mean 'distribution'? allowed: {figure_kinds}",
    ),
    "a figure without a kind": (
        {"figures": {"fig": {"arms": ["main"]}}},
        "figures.fig: key 'kind' is missing; required: kind",
    ),
    "a study name that is no folder": (
        {"study": "My Study"},
        "study: 'My Study' is not allowed; Name of the study, in lower-case letters, digits, '-' and '_' "
        "(at most 100); its results go to results/{{study}}.",
    ),
    "an unknown model": (
        {"models": ["gpt-4o-mnii"]},
        "models: 'gpt-4o-mnii' is not a model; did you mean 'gpt-4o-mini'? allowed: {models}",
    ),
    "a null principle that a dataset does not have": (
        {"datasets": {"location_1": {"null_principle": True}}},
        "datasets.location_1.null_principle: true needs a 'null_level', which the dataset lacks; set it to false",
    ),
    "overrides that are not there": (
        {"overrides": "mine.csv"},
        "overrides: there is no file 'mine.csv' in the folder that the study runs in ({cwd}); correct the path",
    ),
    "a pilot without answers": (
        {"plan": {"pilot": "elsewhere"}},
        "plan.pilot: there is no results/elsewhere/answers in the folder that the study runs in; "
        "run the study 'elsewhere' first",
    ),
    "a threshold for a model that is not asked": (
        {"norms": {"t_val_for": {"planted-gpt-4o": 9}}},
        "norms.t_val_for: 'planted-gpt-4o' is not a model of this study; did you mean 'planted-gpt-4o-mini'? "
        "allowed: {asked}",
    ),
    "an act without trajectories": (
        arm(task="act", prompts="act"),
        "arms.main.task: models can act on trajectories only, and dataset 'iot' has none; allowed: ci_rl, "
        "confaide_trajectory, privacylens_trajectory",
    ),
    "an act with prompts for ratings": (
        arm(task="act", dataset="privacylens_trajectory"),
        "arms.main.prompts: prompt set 'chatgpt' asks models to rate, but the task of arm 'main' is act; "
        "allowed: act, published_act (or set task: rate)",
    ),
    "an act that reads probabilities": (
        arm(task="act", prompts="act", dataset="privacylens_trajectory", readout="options", temperature=0),
        "arms.main.task: 'act' does not fit readout 'options' of arm 'main'; set it to text",
    ),
    "a system prompt that no command line takes": (
        arm(system="x" * 99_997),
        "arms.main.system: the text has 99,997 characters, 100,001 bytes as a job receives it; "
        "allowed: at most 100,000; shorten it",
    ),
    "asked again, though nothing is asked": (
        arm(source="published", frame="pets2026/regular", sample=2),
        "arms.main.sample: 2 does not fit source 'published' of arm 'main': nothing is asked there; set it to 1",
    ),
    "reasoning without a budget": (
        arm(reasoning={"effort": "low"}),
        "arms.main.reasoning: effort 'low' needs the key 'budget', the most tokens of a trace; allowed: 1 to 1000000",
    ),
    "reasoning of a model that nobody knows how to tell": (
        arm(reasoning={"effort": "none"}, models=["tulu-2-7b"]),
        "arms.main.reasoning: it is not known how to make 'tulu-2-7b' reason; state `reasoning` in its entry in "
        "config/models.yaml (docs/method/inference/asking.md), or name other models in the arm",
    ),
    "probabilities of options after a trace": (
        arm(reasoning={"effort": "low", "budget": 9}, readout="options"),
        "arms.main.readout: 'options' reads probabilities right after the prompt, before any trace; set it to text, or "
        "the effort of reasoning to none",
    ),
    "options of an unknown dataset": (
        {"datasets": {"copa": {"null_principle": True}}},
        "datasets: 'copa' is not a dataset; did you mean 'coppa'? allowed: {datasets}",
    ),
    "no reasoning with a budget": (
        arm(reasoning={"effort": "none", "budget": 5}),
        "arms.main.reasoning: effort 'none' writes no trace; remove budget (5)",
    ),
    "reasoning where nothing is asked": (
        arm(reasoning={"effort": "none"}, source="raw_csv", raw_files="x.csv"),
        "arms.main.reasoning: does not fit source 'raw_csv', which asks no model; remove it",
    ),
    "an unknown scale": (
        arm(scale="acceptability_6"),
        "arms.main.scale: 'acceptability_6' is not a scale; did you mean 'acceptability_7'? allowed: {scales}",
    ),
    "no models": (
        {"models": []},
        "models: arm 'main' has no models; name some from config/models.yaml",
    ),
    "more templates than there are": (
        arm(templates=12),
        "arms.main.templates: 12 is more than prompt set 'chatgpt' has; allowed: at most 11",
    ),
    "templates for a model that is not asked": (
        arm(templates_for={"planted-tulu-2-7": 2}),
        "arms.main.templates_for: 'planted-tulu-2-7' is not a model of this arm; did you mean 'planted-tulu-2-7b'? "
        "allowed: {asked}",
    ),
    "two scales": (
        arm(prompts="confaide"),
        "arms.main: scale 'acceptability' measures acceptability, but prompt set 'confaide' asks for agreement; "
        "allowed: agreement (or choose other prompts)",
    ),
    "probabilities of samples": (
        arm(readout="options", temperature=0.5),
        "arms.main.readout: 'options' reads probabilities, not samples; temperature is 0.5, set it to 0",
    ),
    "the same prompt three times": (
        arm(orders={"method": "fixed", "count": 3}),
        "arms.main.orders.count: 3 sends every prompt 3 identical times (method: fixed, temperature: 0); "
        "set it to 1",
    ),
    "a number line, which has one order, twice": (
        arm(dataset="chatbot", prompts="chatbot", orders={"count": 2}),
        "arms.main.orders.count: 2 sends every prompt 2 identical times, because the number line "
        "'appropriateness_0_100' has one order only; set it to 1",
    ),
    "an unknown factor": (
        arm(select={"sendr": ["a door lock"]}),
        "arms.main.select: 'sendr' is not a factor of dataset 'iot'; did you mean 'sender'? "
        "allowed: {factors}",
    ),
    "an unknown level": (
        arm(select={"sender": ["a dor lock"]}),
        "arms.main.select.sender: 'a dor lock' is not a level; did you mean 'a door lock'? "
        "allowed: {senders}",
    ),
    "a mistake in arm_defaults is shown there": (
        {"arm_defaults": {"templates": 12}},
        "arm_defaults.templates: 12 is more than prompt set 'chatgpt' has; allowed: at most 11",
    ),
    "an unknown arm of a figure": (
        figure(arms=["mian"]),
        "figures.fig.arms: 'mian' is not an arm; did you mean 'main'? allowed: main",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_gets_one_message(build_study, names, wrong):
    document, message = WRONG[wrong]
    assert message_of(build_study, document) == f"study.yaml: {message.format(**names)}"


def test_the_longest_system_prompt_is_taken(build_study):
    build_study(arm(system="x" * 99_996))


def test_a_default_that_an_arm_does_not_fit_is_shown_where_it_is_stated(build_study):
    assert message_of(build_study, arm(orders={"method": "fixed"})).startswith(
        "config/config.yaml: arm_defaults.orders.count: 3 sends every prompt 3 identical times (method: fixed"
    )


def test_templates_for_in_arm_defaults_may_name_a_model_that_only_some_arms_ask(build_study):
    study = build_study(
        {
            "arm_defaults": {"templates_for": {"planted-uniform": 3}},
            "arms": {"main": ARM, "more": {**ARM, "models": ["planted-uniform"]}},
        }
    )
    assert study.templates("more", "planted-uniform") == 3


def test_models_that_a_release_does_not_have_are_shown_where_they_are_stated(build_study):
    published = {"source": "published", "frame": "pets2026/regular"}
    for key, document in (
        ("models", {"models": ["smollm2-135m-instruct"], **arm(**published)}),
        ("arms.main.models", arm(**published, models=["smollm2-135m-instruct"])),
    ):
        message = message_of(build_study, document)
        assert message.startswith(
            f"study.yaml: {key}: 'smollm2-135m-instruct' is not a model of this release"
        )


def test_an_arm_without_models_is_refused_even_beside_one_that_has_some(build_study):
    arms = {"main": {**ARM, "models": ["planted-uniform"]}, "other": ARM}
    with pytest.raises(ConfigError, match="arm 'other' has no models"):
        build_study({"models": [], "arms": arms})


def test_levels_of_a_file_cannot_be_checked_before_it_is_fetched_but_its_factors_can(
    build_study,
):
    build_study(arm(dataset="published_iot", select={"sender": ["whoever"]}))
    with pytest.raises(ConfigError, match=r"'sendr' is not a factor .*; .*did you mean 'sender'"):
        build_study(arm(dataset="published_iot", select={"sendr": ["whoever"]}))


def test_defaults_that_do_not_fit_ones_own_arms_are_left_out_and_ones_own_mistakes_are_not(
    build_study,
):
    """The likeliest first study names its arms and nothing else."""
    assert build_study({"study": "s"}).left_out == ()
    study = build_study({"arms": {"other": ARM, "more": ARM}})
    assert study.left_out == ()
    assert study.settings.figures["norms"]["arms"] == ["other"]
    study = build_study(arm(dataset="coppa"))
    assert "distribution" in study.settings.figures
    assert "norms" not in study.settings.figures
    assert any("figures.norms" in text for text in study.left_out)
    with pytest.raises(ConfigError, match=r"study\.yaml: figures\.fig\.arms: 'main' is not an arm"):
        build_study({"arms": {"other": ARM}, **figure()}, study_file=True)


# --- Arms with responses of another tool

RESPONSES = {
    "source": "responses",
    "response_format": "plain",
    "response_files": "received/{model}.jsonl",
    "models": ["tulu-2-7b"],
}


def responses(**changes: Any) -> dict[str, Any]:
    return {**arm(**{**RESPONSES, **changes}), "analyses": {}, "figures": {}}


def test_the_place_of_a_models_files(build_study):
    assert build_study(responses()).collected_files("main", "tulu-2-7b") == "received/tulu-2-7b.jsonl"
    other = build_study(responses(response_files="{organisation}/{name}-*.jsonl"))
    assert other.collected_files("main", "tulu-2-7b") == "allenai/tulu-2-7b-*.jsonl"
    assert other.asked() == []


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (responses(response_files=None), "source: 'responses' also needs the key 'response_files'"),
        (responses(response_format=None), "source: 'responses' also needs the key 'response_format'"),
        (responses(response_format="plian"), "'plian' is not a format; did you mean 'plain'"),
        (responses(raw_files="x"), "arms.main.raw_files: 'x' does not fit source 'responses'; remove it"),
        (
            responses(source="model", response_files=None, response_format=None, response_origin="us"),
            "arms.main.response_origin: 'us' does not fit source 'model'",
        ),
        (
            responses(models=["tulu-2-7b", "tulu-2-13b"], response_files="all.jsonl"),
            "'all.jsonl' names the same files for 'tulu-2-7b' and 'tulu-2-13b'; put {model} into the path",
        ),
        (responses() | {"engine": "planted"}, "'planted' cannot replace the existing answers of arm 'main'"),
    ],
)
def test_mistakes_of_responses_are_named(build_study, document, message):
    with pytest.raises(ConfigError, match=message):
        build_study(document)
