"""Asked until decided through real vLLM: one load, fewer prompts, and the verdicts of the whole design."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from cinorms.answers.read import read_responses
from cinorms.inference.engine_kind import Keep
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.inference.until_decided import add_not_asked
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cinorms.stats.deciding.rounds import DecidingRule

from ..scales import ACCEPTABILITY
from ..specs import ask_shard
from .conftest import Session, spec_of

THRESHOLDS = Thresholds(3, 0.5, "strict")
RISK, PILOT = 0.05, 60
#: For a flow without a norm.
NONE = 99.0
#: 216 flows in 12 variants.
ASKED = {
    "select": {
        "sender": ["a door lock"],
        "recipient": ["its manufacturer", "the local police"],
    },
    "n_templates": 6,
    "factors": ["subject", "information_type", "recipient", "transmission_principle"],
}


class Counted:
    """An engine that notes which rows it is asked, round by round."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.rounds = engine, list[npt.NDArray[np.int64]]()

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        self.rounds.append(todo)
        self.engine.ask(questions, todo, keep)

    def facts(self) -> dict[str, Any]:
        return self.engine.facts()


class Study:
    """Both ways of asking the same flows, and what they say of each."""

    def __init__(
        self,
        session: Session,
        checkpoint: Path,
        questions_of: Callable[[Spec], Questions],
        flows: pd.DataFrame,
    ) -> None:
        self.whole = spec_of(checkpoint, **ASKED)
        self.decided = spec_of(checkpoint, **ASKED, asking=DecidingRule(THRESHOLDS, RISK, PILOT).plain())
        self.variants = questions_of(self.decided).variants
        self.loads = session.loads
        self.engine = Counted(session.engine(self.decided))
        self.some = ask_shard(self.decided, flows, self.variants, self.engine)[0]
        self.all = ask_shard(self.whole, flows, self.variants, session.engine(self.whole))[0]
        self.loads = session.loads - self.loads

    def verdicts(self, spec: Spec, responses: pd.DataFrame, flows: pd.DataFrame) -> pd.Series[float]:
        """Return the level that each flow holds; NONE where it holds none."""
        read = read_responses(responses, ACCEPTABILITY, prompts=self.variants)
        answers = add_not_asked(read, spec.as_plain(), flows, self.variants)
        norms = assessment.assess(answers, "strict", ACCEPTABILITY)
        return (
            assessment.kept(norms, THRESHOLDS).set_index("flow")["value"].reindex(norms["flow"]).fillna(NONE)
        )


@pytest.fixture(scope="module")
def study(
    session: Session, checkpoint: Path, questions_of: Callable[[Spec], Questions], flows: pd.DataFrame
) -> Study:
    return Study(session, checkpoint, questions_of, flows)


def test_fewer_prompts_are_asked_in_rounds_of_one_load(study):
    rounds = study.engine.rounds
    rows = np.concatenate(rounds)
    print(f"\n{len(rows):,} of {len(study.all):,} prompts in {len(rounds)} rounds")
    assert len(rounds) > 1
    assert len(np.unique(rows)) == len(rows) == len(study.some) < len(study.all)
    assert study.loads <= 1


def test_the_replies_are_those_of_the_whole_design(study):
    both = study.some.merge(study.all, on=["flow", "variant"], suffixes=("", "_all"))
    assert len(both) == len(study.some)
    assert (both["order"].astype(str) == both["order_all"].astype(str)).all()
    # The same prompts in other batches: the model has near ties in few of them.
    assert (both["text"].astype(str) != both["text_all"].astype(str)).mean() <= 0.01


def test_so_are_the_verdicts(study, flows):
    some, every = (
        study.verdicts(spec, responses, flows)
        for spec, responses in ((study.decided, study.some), (study.whole, study.all))
    )
    changed = (some != every).mean()
    print(f"\n{changed:.2%} of {len(every)} verdicts changed")
    assert len(some) == len(every) == 216
    assert (every != NONE).any()
    assert changed <= RISK
