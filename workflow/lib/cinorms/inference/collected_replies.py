"""Collected replies: the replies to a shard's questions, from the journal or just received, in order."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cinorms.core.errors import EngineError
from cinorms.inference.journal import PART
from cinorms.inference.journal_files import facts_of
from cinorms.inference.questions import KEY_BYTES, Questions, as_column
from cinorms.inference.spec import reasons

#: The columns of a part that are columns of the responses.
COLUMNS = ("text", "finish_reason", "n_prompt_tokens", "n_output_tokens", "p_options")
#: Those that the responses of a model that reasons have in addition.
TRACE_COLUMNS = ("n_trace_tokens", "trace_status")
#: Raised for a value that does not have the type of its column.
_NOT_STORABLE = (pa.ArrowException, ValueError, TypeError, OverflowError)


class CollectedReplies:
    """Collects the replies to ``questions``; the first reply to a question counts.

    Without a journal the replies need no keys: ``keyed`` is then false, which saves a second per 200,000 of them.
    """

    def __init__(self, questions: Questions, keyed: bool = True) -> None:
        self._questions, self._keyed = questions, keyed
        self._tables: list[pa.Table] = []
        self._places: list[npt.NDArray[np.int64]] = []
        self.answered: npt.NDArray[np.bool_] = np.zeros(len(questions.grid), dtype=bool)
        self._old = 0

    @property
    def n_answered(self) -> int:
        """Number of questions that have a reply."""
        return int(self.answered.sum())

    def take_old(self, parts: pa.Table) -> None:
        """Take from the journal every reply to one of the questions."""
        found = pc.index_in(as_column(self._questions.prompts), parts["prompt"])
        at = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False) & ~self.answered)
        self._add(parts.take(found.take(pa.array(at))), at)
        self._old += len(at)

    def take(self, chunk: pd.DataFrame) -> pa.Table:
        """Take a finished chunk (see ``engine_kind.Keep``) and return it as a part of the journal.

        A reply that the journal cannot hold becomes an error; the other replies of its chunk are kept.
        """
        try:
            part = self._part(chunk)
        except _NOT_STORABLE:
            rows = [self._part_or_error(chunk.iloc[[number]]) for number in range(len(chunk))]
            part = pa.concat_tables(rows).unify_dictionaries()
        self._add(part, chunk["at"].to_numpy(dtype=np.int64))
        return part

    def _part_or_error(self, row: pd.DataFrame) -> pa.Table:
        """Return one reply as a part, as an error where the journal cannot hold it."""
        try:
            return self._part(row)
        except _NOT_STORABLE:
            digest = hashlib.sha256(repr(row.to_dict("records")).encode("utf-8", "backslashreplace"))
            error = f"a reply that the journal cannot hold (sha256 {digest.hexdigest()})"
            return self._part(pd.DataFrame({"at": row["at"], "finish_reason": "error", "error": error}))

    def _part(self, chunk: pd.DataFrame) -> pa.Table:
        at = chunk["at"].to_numpy(dtype=np.int64)
        keys = self._questions.prompts[at] if self._keyed else np.zeros(len(at), dtype=f"V{KEY_BYTES}")
        known = {"prompt": as_column(keys)}
        columns = [known.get(field.name, _column(chunk, field)) for field in PART]
        return pa.Table.from_arrays(columns, schema=PART)

    def _add(self, part: pa.Table, at: npt.NDArray[np.int64]) -> None:
        self._tables.append(part)
        self._places.append(at)
        self.answered[at] = True

    def frame(self, rows: npt.NDArray[np.int64]) -> pd.DataFrame:
        """Return text, finish_reason, tokens and option probabilities for ``rows`` of the grid, sorted.

        Raises ``EngineError`` where one of these questions has no reply.
        """
        without = int((~self.answered[rows]).sum())
        if without:
            raise EngineError(f"{without:,} of {len(rows):,} questions have no reply; run again to ask them")
        traced = reasons(self._questions.spec)
        table = self._in_order().select([*COLUMNS, *(TRACE_COLUMNS if traced else ())])
        # Replies are in the order of the grid: how many come before each.
        table = table.take(pa.array(np.cumsum(self.answered)[rows] - 1)).combine_chunks()
        frame = pd.DataFrame(index=self._questions.grid.index[rows])
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
        return facts_of(self._in_order())

    def counts(self) -> dict[str, Any]:
        """Return how many questions there are, how many the journal held, and how many have a reply."""
        return {"questions": len(self.answered), "from_journal": self._old, "answered": self.n_answered}


def _column(chunk: pd.DataFrame, field: pa.Field) -> pa.Array:
    """Return a column of ``chunk`` in the type of the part; nulls where the engine reports nothing."""
    if field.name not in chunk:
        return pa.nulls(len(chunk), field.type)
    column = chunk[field.name]
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pa.array(column.array).cast(field.type)
    if pa.types.is_dictionary(field.type):
        return pa.array(column, pa.string(), from_pandas=True).dictionary_encode()
    return pa.array(column, field.type, from_pandas=True)
