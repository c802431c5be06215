"""Parts of a journal: their columns, and how a finished chunk becomes one."""

from __future__ import annotations

import hashlib

import pandas as pd
import pyarrow as pa

from cinorms.inference.questions import KEY_BYTES, Keys, as_column

_WORD = pa.dictionary(pa.int32(), pa.string())
#: A part: the prompt's key, the response, then the raw facts of the reply. Every column but the first may be missing.
PART = pa.schema(
    [
        pa.field("prompt", pa.binary(KEY_BYTES), nullable=False),
        ("text", _WORD),
        ("finish_reason", _WORD),
        ("n_prompt_tokens", pa.int32()),
        ("n_output_tokens", pa.int32()),
        ("p_options", pa.list_(pa.float32())),
        ("error", _WORD),  # why there is no text
        ("reply_id", pa.string()),
        ("created", pa.int64()),  # seconds since 1970, by the endpoint's clock
        ("answered_by", _WORD),  # the model that the endpoint says answered
        ("fingerprint", _WORD),
        ("usd", pa.float64()),
        ("n_trace_tokens", pa.int32()),
        # none: there is no trace; whole: the model ended it; cut: the budget, or the limit of the request, cut it
        # short; unclosed: the model ended its turn in it. Missing where the engine does not say.
        ("trace_status", _WORD),
    ]
)
#: Raised for a value that does not have the type of its column.
_NOT_STORABLE = (pa.ArrowException, ValueError, TypeError, OverflowError)


def part_of(chunk: pd.DataFrame, keys: Keys) -> pa.Table:
    """Return a finished chunk (see ``engine_kind.Keep``) of the prompts ``keys`` as a part.

    A reply that the journal cannot hold becomes an error; the other replies of its chunk are kept.
    """
    try:
        return _strict_part(chunk, keys)
    except _NOT_STORABLE:
        rows = []
        for number in range(len(chunk)):
            row, key = chunk.iloc[[number]], keys[[number]]
            try:
                rows.append(_strict_part(row, key))
            except _NOT_STORABLE:
                digest = hashlib.sha256(repr(row.to_dict("records")).encode("utf-8", "backslashreplace"))
                error = f"a reply that the journal cannot hold (sha256 {digest.hexdigest()})"
                rows.append(_strict_part(pd.DataFrame({"finish_reason": ["error"], "error": error}), key))
        return pa.concat_tables(rows).unify_dictionaries()


def _strict_part(chunk: pd.DataFrame, keys: Keys) -> pa.Table:
    columns = [as_column(keys)]
    for field in list(PART)[1:]:
        if field.name not in chunk:
            columns.append(pa.nulls(len(chunk), field.type))  # the engine reports nothing
        elif isinstance((column := chunk[field.name]).dtype, pd.CategoricalDtype):
            columns.append(pa.array(column.array).cast(field.type))
        elif pa.types.is_dictionary(field.type):
            columns.append(pa.array(column, pa.string(), from_pandas=True).dictionary_encode())
        else:
            columns.append(pa.array(column, field.type, from_pandas=True))
    return pa.Table.from_arrays(columns, schema=PART)
