"""What the page on people and models says of its study: who was asked what, on which scale, and who is planted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cinorms.core.scales import Scale

if TYPE_CHECKING:
    from cinorms.study.study import Study


def tables_of(analyses: Mapping[str, Mapping[str, Any]]) -> Sequence[str]:
    """Return the study's first analysis of distances, and its first of flows; fewer where it has none."""
    found = []
    for kind in ("people_distances", "people_flows"):
        found += [name for name, entry in analyses.items() if entry["kind"] == kind][:1]
    return found


def people_page_facts(study: Study) -> dict[str, Any]:
    """Return the facts as plain data, for a parameter of a rule; without arms and scale where nothing is compared."""
    stated = study.settings.analyses
    arms = [arm for name in tables_of(stated)[:1] for arm in stated[name]["arms"]]
    rated = [arm for arm in arms if study.arms[arm].source == "human"]
    compared = [arm for arm in arms if arm not in rated]
    # People are named as such all over the page; the mark is about the models.
    models = dict.fromkeys(model for arm in compared for model in study.models(arm))
    # People answer on the scale of the dataset; an arm of models can be asked on another, and is put on this one.
    shown = (rated + compared)[:1]
    return {
        "study": study.name,
        "datasets": list(dict.fromkeys(study.arms[arm].dataset for arm in compared or rated))[:1],
        "people": {arm: _of_people(study, arm) for arm in rated},
        "models": {arm: _of_models(study, arm) for arm in compared},
        "mark": study.mark(models),
        "scale": {
            name: value for arm in shown for name, value in _words(study, arm, study.scale(arm)).items()
        },
    }


def _of_people(study: Study, arm: str) -> dict[str, str]:
    survey = study.survey(arm)
    return {"title": survey.title, "people": survey.people, "question": study.question(arm).text}


def _of_models(study: Study, arm: str) -> dict[str, Any]:
    prompts = study.prompt_set(study.arms[arm].prompts)
    return {
        "question": prompts.templates[0],
        "wordings": study.templates(arm),
        "models": len(study.models(arm)),
    }


def _words(study: Study, arm: str, scale: Scale) -> dict[str, Any]:
    """Return the units in which means are compared, and what their ends and directions are called."""
    lowest, highest = study.factors_of(arm).expected_range or (scale.levels[0], scale.levels[-1])
    words = {"measure": scale.measured, "more": scale.spoken.more, "less": scale.spoken.less}
    return {"lowest": lowest, "highest": highest, "ends": list(scale.ends), **words}
