"""Facts of small studies for tests: what `study.json` states, with changes."""

from typing import Any, TypeVar

from pydantic import BaseModel

from cinorms.core.scales import papers_scale
from cinorms.study.metadata import ArmMetadata, DatasetMetadata, EntryMetadata, ModelMetadata, StudyMetadata

T = TypeVar("T", bound=BaseModel)
SCALE = papers_scale("acceptability")
_DATASET = {"title": "Flows", "factors": (), "expected_range": None, "flows_of": None, "citation": ""}
#: What metadata of each class state unless a test says otherwise.
_USUAL: dict[type[BaseModel], dict[str, Any]] = {
    ArmMetadata: {
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
    DatasetMetadata: _DATASET,
    ModelMetadata: {"planted": False, "arms": ()},
    EntryMetadata: {
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
    StudyMetadata: {
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


def metadata(cls: type[T], **changes: Any) -> T:
    """Return the usual metadata of a class, with changes."""
    return cls.model_validate({**_USUAL[cls], **changes})


def changed(study: StudyMetadata, **changes: Any) -> StudyMetadata:
    """Return the study with other metadata, as plain data."""
    return StudyMetadata.model_validate({**study.plain(), **changes})
