"""What is refused of an arm of people, and who answers in which arm."""

from typing import Any

import pytest

from cinorms.core.errors import ConfigError
from cinorms.report.description import facts_of, people_page_facts
from cinorms.study.data import sources
from cinorms.study.study import Study

from ...studies import Build, change, load, message_of

PEOPLE = {"dataset": "confaide_2a", "source": "human", "ratings": "confaide_2a"}


@pytest.fixture(scope="module")
def study(build_study: Build) -> Study:
    """Return a study of two planted models and the people of two surveys."""
    asked = {"dataset": "confaide_2a", "prompts": "confaide"}
    other = {"dataset": "confaide_2b", "source": "human", "ratings": "confaide_2b/personal"}
    models = ["planted-tulu-2-7b", "planted-uniform"]
    return build_study(
        {"models": models, "engine": "planted", "arms": {"main": asked, "a": PEOPLE, "b": other}, **NOTHING}
    )


NOTHING: dict[str, Any] = {"analyses": {}, "figures": {}, "printed": {}}


def test_people_answer_in_their_arms_and_models_in_theirs(study):
    assert study.models("main") == ["planted-tulu-2-7b", "planted-uniform"]
    assert study.models("a") == study.models("b") == ["people"]
    assert study.all_models() == ["planted-tulu-2-7b", "planted-uniform", "people"]
    assert study.people() == ["people"]
    assert study.planted() == ["planted-tulu-2-7b", "planted-uniform"]
    assert [ask["arm"] for ask in study.asked()] == ["main"] * 2
    assert (study.templates("a"), study.templates("b")) == (26, 46)
    assert study.question("b").column == "Answer.personalPrivacyQuestion"
    assert study.worded() == ["confaide"]
    assert {file.url.rpartition("/")[2] for file in sources(study)} > {
        "results_tier_2a_n5.csv",
        "results_tier_2b_n20.csv",
    }


def test_marks_say_who_are_people(study):
    assert study.mark(["people"]) == "Ratings by people: no model gave these answers."
    assert study.mark(study.all_models()) == (
        "Rated by people, not by a model: people. The others are simulated respondents: no model gave their answers."
    )
    assert "are simulated" in study.mark(["people", "tulu-2-7b"])


TOYS = {"dataset": "coppa", "prompts": "chatgpt"}
RATED = {"dataset": "iot", "source": "human", "ratings": "planted_people"}


def test_ratings_that_a_script_made_are_called_simulated(build_study):
    asked = {"dataset": "iot", "prompts": "chatgpt"}
    study = build_study({"models": ["planted-uniform"], "arms": {"main": asked, "people": RATED}, **NOTHING})
    mark = "Simulated ratings: no people and no model gave these answers."
    assert [study.mark(["people"]), study.mark(study.all_models())] == [mark, mark]
    assert study.mark(["people", "tulu-2-7b"]) == (
        "Simulated ratings, not by real people: people. The others are models."
    )
    assert facts_of(study).arms["people"].simulated
    compared = {"d": {"kind": "people_distances", "arms": ["main", "people"]}}
    study = build_study(
        {
            "models": ["planted-uniform"],
            "arms": {"main": asked, "people": RATED},
            **NOTHING,
            "analyses": compared,
        }
    )
    assert people_page_facts(study)["mark"] == mark


def test_an_arm_of_people_has_one_entry_for_them(copied):
    change(copied.folder / "config/models.yaml", lambda models: models.update(more=models["people"]))
    with pytest.raises(
        ConfigError, match="has ratings of one survey, but 2 entries for its people; name one"
    ):
        load(copied, {"arms": {"main": {**PEOPLE, "models": ["people", "more"]}}, **NOTHING})


@pytest.mark.parametrize(
    "entry",
    [{"kind": kind, "people": ["people"]} for kind in ("people_distances", "people_flows")]
    + [
        {"kind": "model_pairs", "factor": "dataset"},
        {"kind": "agreement_pairs", "factor": "temperature+dataset"},
    ],
)
def test_flows_of_two_datasets_are_not_matched_by_their_number(build_study, entry):
    def study(**arms: Any) -> dict[str, Any]:
        analyses = {"a": {"arms": list(arms), **entry}}
        return {"models": ["planted-uniform"], "arms": arms, **NOTHING, "analyses": analyses}

    message = message_of(build_study, study(main=TOYS, people=RATED))
    assert message.startswith(
        "study.yaml: analyses.a.arms: arms 'main' and 'people': dataset 'coppa' does not have"
    )
    assert "flows of 'iot'" in message
    # ConfAIde's stories tell the flows of its sentences.
    told = {"dataset": "confaide_2a", "prompts": "confaide"}
    stories = {"dataset": "confaide_2b", "source": "human", "ratings": "confaide_2b"}
    build_study(study(main=told, people=stories))
