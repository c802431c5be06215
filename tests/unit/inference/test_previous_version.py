"""What the version before typed specs wrote is read on: specs, journals and facts are the same to the byte.

``tests/data/previous`` was written by that version (commit aa8f99b): a study of three models, the specs of its
jobs, and the journals of two jobs that were killed when half of their questions were answered.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import yaml

from cinorms.ask import response_facts, run_facts, write_shard
from cinorms.core import tables
from cinorms.inference.completeness import QUESTIONS
from cinorms.inference.engine import Keep
from cinorms.inference.engine_kind import make_engine
from cinorms.inference.journal import Journal
from cinorms.inference.questions import Questions
from cinorms.inference.samples import settings_of
from cinorms.inference.spec import Spec
from cinorms.study.spec import make_spec
from cinorms.study.study import Study

from ...specs import make_model

PREVIOUS = Path(__file__).parents[2] / "data/previous"
SPECS: dict[str, str] = json.loads((PREVIOUS / "specs.json").read_text(encoding="utf-8"))
FACTS: dict[str, dict[str, str]] = json.loads((PREVIOUS / "facts.json").read_text(encoding="utf-8"))
JOURNALLED = ["endpoint", "weights"]


class Rest:
    """Answers what it is asked and counts it."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        self.asked += len(todo)
        keep(pd.DataFrame({"at": todo, "text": [f"answer {at}" for at in todo], "finish_reason": "stop"}))

    def facts(self) -> dict[str, Any]:
        return {}


@pytest.fixture(scope="module")
def study(build_study: Callable[..., Study]) -> Study:
    """Return the study, whose models are entries of the registry."""
    entries = yaml.safe_load((PREVIOUS / "entries.yaml").read_text(encoding="utf-8"))
    stated = yaml.safe_load((PREVIOUS / "study.yaml").read_text(encoding="utf-8"))
    built = build_study(
        {**stated, "models": []} | {"arms": {"main": {**stated["arms"]["main"], "models": ["control"]}}}
    )
    built.registry.update({name: make_model(name, **entry) for name, entry in entries.items()})
    return built


@pytest.mark.parametrize("model", SPECS)
def test_a_job_receives_the_same_spec(study: Study, model: str) -> None:
    spec = make_spec(study, "main", model, "1-of-1")
    assert json.dumps(spec.as_plain(), sort_keys=True) == SPECS[model]
    assert Spec.from_plain(json.loads(SPECS[model])) == spec


@pytest.mark.parametrize("model", JOURNALLED)
def test_a_journal_is_found_and_read_on(
    model: str, tmp_path: Path, iot_flows: pd.DataFrame, iot_variants: pd.DataFrame
) -> None:
    folder = Path(shutil.copytree(PREVIOUS / "responses/main" / model, tmp_path / model))
    spec = Spec.from_plain(json.loads(SPECS[model]))
    where = {
        "journal": str(tmp_path / ".journal"),
        "earlier": str(folder / ".journal"),
        "asker": ["s", "main", model],
    }
    journal, rest = Journal.of(where, spec).begin(spec), Rest()
    assert journal.earlier
    assert [path.name for path in (folder / ".journal").iterdir()] == [journal.earlier.folder.name]
    assert json.loads((journal.earlier.folder / "settings.json").read_bytes()) == settings_of(spec)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    variants = iot_variants[iot_variants["order_no"] == 0].reset_index(drop=True)
    responses = write_shard(spec, iot_flows, variants, folder / "1-of-1.parquet", rest, journal)
    assert (len(responses), rest.asked) == (24, 12)
    assert sorted(responses["text"]) == sorted(f"answer {at}" for at in range(24))
    assert all(path.read_bytes() == data for path, data in before.items()), "nothing is written there"
    # Copied once: another study finds them in the journal that all share.
    again = Rest()
    other = Journal.of({"journal": where["journal"], "asker": ["t", "a", model]}, spec).begin(spec)
    assert write_shard(spec, iot_flows, variants, tmp_path / "o.parquet", again, other).equals(responses)
    assert again.asked == 0
    facts = tables.facts(folder / "1-of-1.parquet")
    assert {name: facts[name] for name in FACTS[model] if name != "cinorms"} == {
        name: fact for name, fact in FACTS[model].items() if name != "cinorms"
    }
    assert run_facts(spec)["spec"] == json.loads(SPECS[model])


def test_a_planted_file_states_the_same_facts(iot_flows: pd.DataFrame, iot_variants: pd.DataFrame) -> None:
    spec = Spec.from_plain(json.loads(SPECS["respondent"]))
    variants = iot_variants[iot_variants["order_no"] == 0].reset_index(drop=True)
    facts = response_facts(Questions.of(spec, iot_flows, variants))
    new = {QUESTIONS, "cinorms"}
    assert all(fact == FACTS["respondent"][name] for name, fact in facts.items() if name not in new)
    assert make_engine(spec, {}, None, None).facts() == {"device": "none: no model was asked"}
