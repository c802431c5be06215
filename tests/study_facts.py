"""Facts of small studies for tests: what `study.json` states, with changes."""

from typing import Any, TypeVar

from pydantic import BaseModel

from cinorms.core.scales import papers_scale
from cinorms.study.facts import ArmFacts, DatasetFacts, EntryFacts, ModelFacts, StudyFacts

T = TypeVar("T", bound=BaseModel)
SCALE = papers_scale("acceptability")
_DATASET = {"title": "Flows", "factors": (), "expected_range": None, "flows_of": None, "citation": ""}
#: What facts of each class state unless a test says otherwise.
_USUAL: dict[type[BaseModel], dict[str, Any]] = {
    ArmFacts: {
        "dataset": "iot",
        "source": "model",
        "origin": "",
        "scale": SCALE,
        "prompts": "Paraphrases",
        "prompts_citation": "",
        "people": "",
        "orders": {"method": "balanced", "count": 2},
        "temperature": 0,
        "system": None,
        "models": (),
        "layouts": {},
    },
    DatasetFacts: _DATASET,
    ModelFacts: {"planted": False, "arms": ()},
    EntryFacts: {
        "kind": "answer_counts",
        "title": "",
        "about": "",
        "sentence": "",
        "meanings": {},
        "section": "answers",
        "arms": ("main",),
        "models": (),
        "columns": (),
    },
    StudyFacts: {
        "name": "study",
        "coder": None,
        "hand_sample": None,
        "consensus": "strict",
        "t_maj": "plurality",
        "t_val": {},
        "arms": {},
        "datasets": {"iot": _DATASET},
        "models": {},
        "analyses": {},
        "figures": {},
        "settings": {},
    },
}


def facts(cls: type[T], **changes: Any) -> T:
    """Return the usual facts of a class, with changes."""
    return cls.model_validate({**_USUAL[cls], **changes})


def changed(study: StudyFacts, **changes: Any) -> StudyFacts:
    """Return the study with other facts, as plain data."""
    return StudyFacts.model_validate({**study.plain(), **changes})
