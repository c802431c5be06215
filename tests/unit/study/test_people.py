"""Who answers in an arm of people, and what marks say of it."""

from typing import Any

import pytest

from cinorms.core.errors import ConfigError
from cinorms.report.description import metadata_of, people_page_metadata
from cinorms.study.data import sources

from ...studies import ARM, change, load

MODELS = ["planted-tulu-2-7b", "planted-uniform"]
ASKED = {"dataset": "confaide_2a", "prompts": "confaide"}
PEOPLE = {"dataset": "confaide_2a", "source": "human", "ratings": "confaide_2a"}


def of_arms(analyses: dict[str, Any] | None = None, **arms: dict[str, Any]) -> dict[str, Any]:
    return {"models": MODELS, "arms": arms, "analyses": analyses or {}, "figures": {}, "printed": {}}


def test_people_answer_in_their_arms_and_models_in_theirs(build_study):
    other = {"dataset": "confaide_2b", "source": "human", "ratings": "confaide_2b/personal"}
    study = build_study(of_arms(main=ASKED, a=PEOPLE, b=other))
    assert study.models("main") == study.planted() == MODELS
    assert study.models("a") == study.models("b") == study.people() == ["people"]
    assert study.all_models() == [*MODELS, "people"]
    assert [ask["arm"] for ask in study.asked()] == ["main"] * 2
    assert (study.templates("a"), study.templates("b")) == (26, 46)
    assert study.question("b").column == "Answer.personalPrivacyQuestion"
    assert study.worded() == ["confaide"]
    files = {file.url.rpartition("/")[2] for file in sources(study)}
    assert files > {"results_tier_2a_n5.csv", "results_tier_2b_n20.csv"}
    assert study.mark(["people"]) == "Ratings by people: no model gave these answers."
    assert study.mark(study.all_models()) == (
        "Rated by people, not by a model: people. The others are simulated respondents: no model gave their answers."
    )


def test_ratings_that_a_script_made_are_called_simulated(build_study):
    rated = {"dataset": "iot", "source": "human", "ratings": "planted_people"}
    compared = {"d": {"kind": "people_distances", "arms": ["main", "people"]}}
    study = build_study(of_arms(compared, main=ARM, people=rated))
    mark = "Simulated ratings: no people and no model gave these answers."
    assert [study.mark(["people"]), study.mark(study.all_models())] == [mark, mark]
    assert study.mark(["people", "tulu-2-7b"]) == (
        "Simulated ratings, not by real people: people. The others are models."
    )
    assert metadata_of(study).arms["people"].simulated
    assert people_page_metadata(study)["mark"] == mark


def test_an_arm_of_people_has_one_entry_for_them(copied):
    change(copied.folder / "config/models.yaml", lambda models: models.update(more=models["people"]))
    with pytest.raises(ConfigError, match="ratings of one survey, but 2 entries for its people; name one"):
        load(copied, of_arms(main={**PEOPLE, "models": ["people", "more"]}))


@pytest.mark.parametrize("kind", ["people_distances", "people_flows", "model_pairs", "agreement_pairs"])
def test_stories_tell_the_flows_of_sentences(build_study, kind):
    stories = {"dataset": "confaide_2b", "source": "human", "ratings": "confaide_2b"}
    more = {"people": ["people"]} if kind.startswith("people") else {"factor": "dataset"}
    build_study(
        of_arms({"a": {"kind": kind, "arms": ["main", "people"], **more}}, main=ASKED, people=stories)
    )
