"""What is wrong or does not fit together in a study gets one exact message; what only looks wrong is taken."""

from pathlib import Path
from typing import Any

import pytest

from cinorms.core.errors import ConfigError
from cinorms.core.root import Root
from cinorms.core.yaml_files import load_yaml
from cinorms.entries.kind import kinds
from cinorms.inference.model_entry import load_registry
from cinorms.inference.respondent_kinds import PLANTED
from cinorms.study.settings import StudySettings

from ...mistakes import mistakes
from ...studies import ARM, DEFAULT_MODELS, arm, change, load, message_of


@pytest.fixture(scope="module")
def names(root: Root) -> dict[str, str]:
    """Return the lists of names that messages give."""
    factors, registry = load_yaml(root.names("vignettes")["iot"])["factors"], load_registry(root)
    lists = {
        "study_keys": StudySettings.model_fields,
        "models": registry,
        "datasets": root.names("vignettes"),
        "scales": root.names("scales"),
        "figure_kinds": kinds("figures"),
        "asked": DEFAULT_MODELS,
        "factors": factors,
        "senders": factors["sender"],
        "planted_keys": PLANTED.settings.model_fields,
        "norms": root.names("planted"),
        "planted": [name for name, entry in registry.items() if entry.engine == "planted"],
    }
    return {"cwd": str(Path.cwd()), **{key: ", ".join(sorted(values)) for key, values in lists.items()}}


@pytest.mark.parametrize(("made", "message"), mistakes(Path(__file__).with_name("mistakes.txt")))
def test_a_mistake_gets_one_message(request, build_study, names, made, message):
    file = next(iter(made or [""]))
    if "/" in file:  # of the project
        copied = request.getfixturevalue("copied")
        change(copied.folder / file, lambda document: document.update(made[file]))
        with pytest.raises(ConfigError) as caught:
            load(copied)
        found = str(caught.value)
    else:
        config = made and made.pop("--config", None)
        found = message_of(lambda study, **_: build_study(study, config, study_file=True), made)
    for name, listed in names.items():
        message = message.replace(f"{{{name}}}", listed)
    assert found == message


def test_the_longest_system_prompt_that_a_command_line_takes(build_study):
    build_study(arm(system="x" * 99_996))
    assert message_of(build_study, arm(system="x" * 99_997)) == (
        "study.yaml: arms.main.system: the text has 99,997 characters, 100,001 bytes as a job receives it; "
        "allowed: at most 100,000; shorten it"
    )


@pytest.mark.parametrize(
    "key", ["seed", "norms", "norms.grid.t_val", "arm_defaults", "arm_defaults.orders.count"]
)
def test_a_default_that_is_missing_is_named(copied, key):
    def remove(document: dict[str, Any]) -> None:
        *above, last = key.split(".")
        for name in above:
            document = document[name]
        del document[last]

    change(copied.folder / "config/config.yaml", remove)
    with pytest.raises(ConfigError) as caught:
        load(copied)
    section, _, last = key.rpartition(".")
    where = f"config/config.yaml: {section or 'the whole file'}"
    assert str(caught.value) == f"{where}: key '{last}' is missing; required: {last}"


@pytest.mark.parametrize(
    "study",
    [
        arm(templates=11),
        arm(sample=2),
        arm(select={"sender": ["a door lock"]}),
        arm(orders={"method": "fixed"}, temperature=0.5),
        arm(dataset="chatbot", prompts="chatbot", orders={"count": 2}, temperature=0.5),
        arm(dataset="chatbot", prompts="chatbot", orders={"count": 1}),
        arm(
            dataset="published_iot_null", select={"sender": ["whoever"]}
        ),  # unknown until the file is fetched
        arm(reasoning={"effort": "low", "budget": 9}, models=["planted-reasoner"]),
        arm(reasoning={"effort": "none"}, readout="options", models=["planted-reasoner"]),
        arm(dataset="privacylens_trajectory", prompts="act", task="act"),
        # Some arm asks this model.
        {
            "arm_defaults": {"templates_for": {"planted-uniform": 3}},
            "arms": {"main": ARM, "more": {**ARM, "models": ["planted-uniform"]}},
        },
    ],
)
def test_what_only_looks_wrong_is_taken(build_study, study):
    build_study({**study, "analyses": {}, "figures": {}})


def test_defaults_that_do_not_fit_ones_own_arms_are_left_out(build_study):
    """The likeliest first study names its arms and nothing else."""
    assert build_study({"study": "s"}).left_out == ()
    study = build_study({"arms": {"other": ARM, "more": ARM}})
    assert study.left_out == ()
    assert study.settings.figures["norms"]["arms"] == ["other"]
    both = build_study({"arms": {"other": ARM, "main": ARM}})
    assert both.settings.figures["norms"]["arms"] == ["main"]
    study = build_study(arm(dataset="coppa"))
    assert "distribution" in study.settings.figures
    assert "norms" not in study.settings.figures
    assert any("figures.norms" in text for text in study.left_out)


def test_the_place_of_a_models_files(build_study):
    for files, place in (
        ("received/{model}.jsonl", "received/tulu-2-7b.jsonl"),
        ("{organisation}/{name}-*.jsonl", "allenai/tulu-2-7b-*.jsonl"),
    ):
        stated = {"source": "responses", "response_format": "plain", "response_files": files}
        study = build_study({**arm(**stated, models=["tulu-2-7b"]), "analyses": {}, "figures": {}})
        assert study.collected_files("main", "tulu-2-7b") == place
        assert study.asked() == []
