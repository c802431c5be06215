"""Collected replies: the replies to a shard's questions in order, from the journal or received and kept there.

Also what is complete: whether a file of responses has every question of its job, and what a job would still ask.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cinorms.core import tables
from cinorms.core.errors import CinormsError, DataError, EngineError
from cinorms.core.tables import RESPONSES
from cinorms.inference import job_state
from cinorms.inference.journal import Journal
from cinorms.inference.journal_files import PART, part_of, traces_of
from cinorms.inference.questions import KEY_BYTES, Questions, as_column
from cinorms.inference.spec import Spec, reasons

#: The fact of a file of responses that names its questions (``Questions.digest``).
QUESTIONS = "questions_sha256"
#: The columns of a part that are columns of the responses.
COLUMNS = ("text", "finish_reason", "n_prompt_tokens", "n_output_tokens", "p_options")
#: Those that the responses of a model that reasons have in addition.
TRACE_COLUMNS = ("n_trace_tokens", "trace_status")


class CollectedReplies:
    """The replies to ``questions``: those in ``journal``, and what is received, which is kept there. The first counts.

    Without a journal the replies need no keys, which saves a second per 200,000 of them.
    """

    def __init__(self, questions: Questions, journal: Journal | None = None) -> None:
        self.questions, self.journal = questions, journal
        self.answered: npt.NDArray[np.bool_] = np.zeros(len(questions.grid), dtype=bool)
        self._tables: list[pa.Table] = []
        self._places: list[npt.NDArray[np.int64]] = []
        self._old = 0

    @property
    def n_answered(self) -> int:
        """Number of questions that have a reply."""
        return int(self.answered.sum())

    def recall(self, mend: bool = True) -> None:
        """Take from the journal every reply to one of the questions; see ``Journal.read``."""
        assert self.journal is not None
        parts = self.journal.read(mend)
        places = pc.index_in(as_column(self.questions.prompts), parts["prompt"])
        at = np.flatnonzero(places.is_valid().to_numpy(zero_copy_only=False) & ~self.answered)
        self._add(parts.take(places.take(pa.array(at))), at)
        self._old += len(at)

    def keep(self, chunk: pd.DataFrame) -> None:
        """Take a finished chunk (see ``engine_kind.Keep``), and keep it as a part of the journal.

        A reply that the journal cannot hold becomes an error; the other replies of its chunk are kept.
        """
        at = chunk["at"].to_numpy(dtype=np.int64)
        keys = self.questions.prompts[at] if self.journal else np.zeros(len(at), dtype=f"V{KEY_BYTES}")
        part = part_of(chunk, keys)
        self._add(part, at)
        job_state.current().at_least(self.n_answered)
        if self.journal:
            self.journal.keep(part, traces_of(part, chunk))

    __call__ = keep

    def log(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write replies that are still to be kept into the journal's log; each has what a row of a chunk has."""
        if self.journal:
            self.journal.log.add([bytes(self.questions.prompts[row["at"]]) for row in rows], rows)

    def _add(self, part: pa.Table, at: npt.NDArray[np.int64]) -> None:
        self._tables.append(part)
        self._places.append(at)
        self.answered[at] = True

    def frame(self) -> pd.DataFrame:
        """Return text, finish_reason, tokens and option probabilities for each row of the grid.

        Raises ``EngineError`` where a question has no reply.
        """
        without = len(self.answered) - self.n_answered
        if without:
            raise EngineError(
                f"{without:,} of {len(self.answered):,} questions have no reply; run again to ask them"
            )
        traced = reasons(self.questions.spec)
        table = self._in_order().select([*COLUMNS, *(TRACE_COLUMNS if traced else ())])
        frame = pd.DataFrame(index=self.questions.grid.index)
        for name in ("text", "finish_reason", *(("trace_status",) if traced else ())):
            # Encoded again, so that neither the engine's chunks nor its other words leave a trace.
            words = pc.dictionary_encode(pc.cast(table[name], pa.string())).combine_chunks()
            codes = words.indices.fill_null(-1).to_numpy() if len(words) else np.empty(0, dtype=np.int32)
            categories = pd.Index(words.dictionary.to_pylist() if len(words) else [], dtype="str")
            frame[name] = pd.Categorical.from_codes(codes, categories=categories)
        for name in table.column_names:
            if pa.types.is_int32(table.schema.field(name).type):
                frame[name] = table[name].to_pandas(types_mapper={pa.int32(): pd.Int32Dtype()}.get)
        frame["p_options"] = table["p_options"].to_pandas()
        in_order: pd.DataFrame = frame[table.column_names]
        return in_order

    def _in_order(self) -> pa.Table:
        """Return the first reply to every question that has one, in the order of the grid."""
        at = np.concatenate([np.empty(0, dtype=np.int64), *self._places])
        _, first = np.unique(at, return_index=True)
        table = pa.concat_tables([PART.empty_table(), *self._tables]).unify_dictionaries()
        return table.take(first).combine_chunks()

    def facts(self) -> dict[str, Any]:
        """Return what the replies in use say of themselves, as plain data: tokens, times, who answered, errors."""
        replies = self._in_order()
        created = pc.min_max(replies["created"]).as_py()
        facts = {
            "replies_kept": len(replies),
            "input_tokens": pc.sum(replies["n_prompt_tokens"]).as_py(),
            "output_tokens": pc.sum(replies["n_output_tokens"]).as_py(),
            "first_reply": created["min"],
            "last_reply": created["max"],
        }
        for fact, name in (
            ("errors", "error"),
            ("answered_by", "answered_by"),
            ("fingerprints", "fingerprint"),
        ):
            words = replies[name].drop_null().cast(pa.string()).to_pylist()
            facts[fact] = dict(sorted(Counter(words).items()))
        return facts

    def counts(self) -> dict[str, Any]:
        """Return how many questions there are, how many the journal held, and how many have a reply."""
        return {"questions": len(self.answered), "from_journal": self._old, "answered": self.n_answered}


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
    asked = questions.named().astype({"variant": object, "order": object})
    given = pd.DataFrame({name: responses[name].to_numpy() for name in asked})
    if len(given) == len(asked) and all((given[name] == asked[name]).all() for name in asked):
        return
    rows = pd.MultiIndex.from_frame(asked)
    missing = rows[~rows.isin(pd.MultiIndex.from_frame(given))]
    what = "rows are missing, doubled or in another order"
    if len(missing):
        flow, variant, _ = missing[0]
        what = f"{len(missing):,} of {len(asked):,} questions are missing, e.g. flow {flow} with variant {variant}"
    raise DataError(
        f"{path}: has {len(given):,} responses that are not those asked ({what}); {RESPONSES.remedy}"
    )


def count_current(path: Path, questions: Questions) -> int | None:
    """Return how many responses are in ``path``; None unless it is there and answers ``questions`` as they are now."""
    try:
        facts = tables.facts(path)
        spec, n = Spec.from_plain(json.loads(facts["spec"])), pq.read_metadata(path).num_rows
    except (CinormsError, OSError, KeyError, TypeError, ValueError):
        return None
    # Which checkpoint and adapter these are is not known before they are fetched; a scale of one's own has tuples.
    unknown = {"revision": None, "lora_revision": None}
    plain = [known_spec.with_identity(**unknown).as_plain() for known_spec in (spec, questions.spec)]
    known, asked = (json.dumps(known_spec, sort_keys=True) for known_spec in plain)
    return int(n) if known == asked and facts.get(QUESTIONS) == questions.digest else None


def count_left(questions: Questions, journal: Journal) -> tuple[int, int]:
    """Return how many ``questions`` have a reply in ``journal``, and how many a job would ask, without asking."""
    total = len(questions.grid)
    if journal.is_empty:
        return 0, total
    replies = CollectedReplies(questions, journal)
    replies.recall(mend=False)
    return replies.n_answered, total - replies.n_answered
