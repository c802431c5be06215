"""What is complete: whether a file of responses has every question of its job, and what a job would still ask."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from cinorms.core import tables
from cinorms.core.errors import CinormsError, DataError
from cinorms.core.tables import RESPONSES
from cinorms.inference.collected_replies import CollectedReplies
from cinorms.inference.journal import Journal
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.inference.until_decided import is_possible, rounds_of, rows_of, rule_of

#: The fact of a file of responses that names its questions (``Questions.digest``).
QUESTIONS = "questions_sha256"


def check_complete(
    path: str | Path,
    responses: pd.DataFrame,
    spec: Mapping[str, Any],
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
) -> None:
    """Raise ``DataError`` unless the ``responses`` in ``path`` are those of its shard's questions, row for row.

    ``spec`` is the model's in the arm, as plain data; the file has the name of the shard.
    """
    questions = Questions.of(Spec.from_plain({**spec, "shard": Path(path).stem}), vignettes, variants)
    asked, rule = questions.named().astype({"variant": object, "order": object}), rule_of(questions.spec)
    if rule is not None:
        asked_rows = rows_of(questions, responses)
        if not is_possible(questions, rule, asked_rows):
            raise DataError(f"{path}: has responses that no rounds ask for; {RESPONSES.remedy}")
        asked = asked[asked_rows].reset_index(drop=True)
    found = pd.DataFrame({name: responses[name].to_numpy() for name in asked})
    if len(found) == len(asked) and all((found[name] == asked[name]).all() for name in asked):
        return
    rows = pd.MultiIndex.from_frame(asked)
    missing = rows[~rows.isin(pd.MultiIndex.from_frame(found))]
    what = "rows are missing, doubled or in another order"
    if len(missing):
        flow, variant, _ = missing[0]
        what = f"{len(missing):,} of {len(asked):,} questions are missing, e.g. flow {flow} with variant {variant}"
    raise DataError(
        f"{path}: has {len(found):,} responses that are not those asked ({what}); {RESPONSES.remedy}"
    )


def count_current(path: Path, questions: Questions) -> int | None:
    """Return how many responses are in ``path``; None unless it is there and answers ``questions`` as they are now."""
    try:
        facts = tables.facts(path)
        spec, n = Spec.from_plain(json.loads(facts["spec"])), pq.read_metadata(path).num_rows
    except (CinormsError, OSError, KeyError, TypeError, ValueError):
        return None
    # The commit of a checkpoint is not known before it is fetched; a scale of one's own has tuples.
    plain = [each.with_identity(revision=None).as_plain() for each in (spec, questions.spec)]
    known, asked = (json.dumps(each, sort_keys=True) for each in plain)
    return int(n) if known == asked and facts.get(QUESTIONS) == questions.digest else None


def count_left(questions: Questions, journal: Journal) -> tuple[int, int]:
    """Return how many ``questions`` have a reply in ``journal``, and how many a job would ask, without asking.

    In an arm that is asked until decided the second number is the most that it can be, or 0.
    """
    total = len(questions.grid)
    if journal.is_empty:
        return 0, total
    replies = CollectedReplies(questions, journal)
    replies.recall(mend=False)
    answered, rule = replies.n_answered, rule_of(questions.spec)
    if rule is not None:
        with redirect_stdout(StringIO()):
            if all(replies.answered[rows].all() for rows in rounds_of(questions, rule, replies.frame)):
                return answered, 0
    return answered, total - answered
