"""Responses: what the store, or a respondent, replied to the questions of an arm, in order, as a table.

Also what is complete: whether a file of responses has every question, and what a job would still ask.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from cinorms.core import tables
from cinorms.core.errors import CinormsError, DataError, EngineError
from cinorms.core.tables import RESPONSES
from cinorms.core.version import version
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request, reasons
from cinorms.inference.store import Store

#: The digest of its questions (``Questions.digest``) in the metadata of a file of responses.
QUESTIONS = "questions_sha256"
#: A reply: what is a column of the responses, and what else the reply says. Every one may be missing.
REPLY = pa.schema(
    [
        ("text", pa.string()),
        ("finish_reason", pa.string()),
        ("n_prompt_tokens", pa.int32()),
        ("n_output_tokens", pa.int32()),
        ("p_options", pa.list_(pa.float32())),
        # Of models that reason. trace_status none: there is no trace; whole: the model ended it; cut: the budget, or
        # the limit of the request, cut it short; unclosed: the model ended its turn in it.
        ("n_trace_tokens", pa.int32()),
        ("trace_status", pa.string()),
        ("error", pa.string()),  # why there is no text
        ("failed", pa.bool_()),  # whether another try may have one: the next run asks again
        ("created", pa.int64()),  # seconds since 1970, by the endpoint's clock
        ("answered_by", pa.string()),  # the model that the endpoint says answered
        ("fingerprint", pa.string()),
    ]
)
#: The columns of a reply that are columns of the responses, and those of models that reason.
COLUMNS = ("text", "finish_reason", "n_prompt_tokens", "n_output_tokens", "p_options")
TRACE_COLUMNS = ("n_trace_tokens", "trace_status")
#: No reply is of this second since 1970, or has so many tokens.
_LATEST = 2**33
#: Bytes of replies that are parsed at once, or one reply where that has more.
_BLOCK = 2**24


def collect(questions: Questions, store: Store) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the responses, and what their replies say of themselves: tokens, times, who answered, errors.

    Raises ``EngineError`` where a question has no reply.
    """
    replies = store.read(questions.keys)
    n, n_missing = len(questions.grid), len(questions.grid) - len(replies)
    if n_missing:
        raise EngineError(
            f"{n_missing:,} of {n:,} questions to model {questions.request.model!r} have no reply in "
            f"{store.folder}; run again with `--forcerun ask_{questions.request.engine}` to ask them"
        )
    table = _checked([replies[row] for row in range(n)], store)
    return as_responses(questions, table), reply_metadata(table)


def _checked(replies: Sequence[bytes], store: Store) -> pa.Table:
    """Return the replies as a table; raise ``StoreError`` with file and line where one is none that an engine gave."""
    if (table := _valid(replies)) is None:
        store.refuse(next(reply for reply in replies if _valid([reply]) is None))
    return table


def _valid(replies: Sequence[bytes]) -> pa.Table | None:
    """Return the table of replies; None where one has values that no reply can have."""
    try:
        table = _parsed(replies)
        table.validate(full=True)
    except pa.ArrowInvalid:
        return None
    counts = ("created", "n_prompt_tokens", "n_output_tokens", "n_trace_tokens")
    ranges = [pc.min_max(table[name]).as_py() for name in counts]
    in_range = all((each["min"] or 0) >= 0 and (each["max"] or 0) < _LATEST for each in ranges)
    shares = pc.all(pc.is_finite(pc.list_flatten(table["p_options"])), skip_nulls=False, min_count=0).as_py()
    return table if len(table) == len(replies) and in_range and shares else None


def _parsed(replies: Sequence[bytes]) -> pa.Table:
    if not replies:
        return REPLY.empty_table()
    return pj.read_json(
        pa.BufferReader(b"\n".join(replies)),
        pj.ReadOptions(use_threads=False, block_size=max(_BLOCK, max(map(len, replies)) + 1)),
        pj.ParseOptions(explicit_schema=REPLY, unexpected_field_behavior="ignore"),
    )


def of_frame(questions: Questions, replies: pd.DataFrame) -> pd.DataFrame:
    """Return the responses that ``replies``, a row for each question with some columns of `REPLY`, are."""
    given = replies.reindex(columns=REPLY.names)
    return as_responses(questions, pa.Table.from_pandas(given.astype(object), REPLY, preserve_index=False))


def as_responses(questions: Questions, replies: pa.Table) -> pd.DataFrame:
    """Return the table of responses; ``replies`` has a row for each question."""
    traced = reasons(questions.request)
    frame = questions.named()
    for name in (*COLUMNS, *(TRACE_COLUMNS if traced else ())):
        column = replies[name]
        if pa.types.is_string(column.type):
            # Encoded here, so that the order in which replies came leaves no trace.
            words = column.combine_chunks().dictionary_encode()
            codes = words.indices.fill_null(-1).to_numpy()
            frame[name] = pd.Categorical.from_codes(
                codes, pd.Index(words.dictionary.to_pylist(), dtype="str")
            )
        elif pa.types.is_int32(column.type):
            frame[name] = column.to_pandas(types_mapper={pa.int32(): pd.Int32Dtype()}.get)
        else:
            frame[name] = column.to_pandas()
    return frame


def reply_metadata(replies: pa.Table) -> dict[str, Any]:
    """Return what replies in use say of themselves, as plain data."""

    def count(name: str) -> dict[str, int]:
        return dict(sorted(Counter(replies[name].drop_null().to_pylist()).items()))

    times = pc.min_max(replies["created"]).as_py()
    return {
        "replies": len(replies),
        "input_tokens": pc.sum(replies["n_prompt_tokens"]).as_py(),
        "output_tokens": pc.sum(replies["n_output_tokens"]).as_py(),
        "first_reply": times["min"],
        "last_reply": times["max"],
        "errors": count("error"),
        "failed": pc.sum(replies["failed"]).as_py() or 0,
        "answered_by": count("answered_by"),
        "fingerprints": count("fingerprint"),
    }


def response_metadata(questions: Questions) -> dict[str, str]:
    """Return what is kept in the file of responses: request, questions, version, the first prompt with its hash.

    Nothing in it differs between two runs: the file is the same even if a job was killed in between.
    """
    request = questions.request
    metadata = {"request": json.dumps(request.plain(), sort_keys=True)}
    metadata |= {QUESTIONS: questions.digest, "cinorms": version(), "engine": request.engine}
    if len(questions.grid):
        example = json.dumps(questions.chat(0), ensure_ascii=False)
        metadata |= {
            "example_prompt": example,
            "example_prompt_sha256": hashlib.sha256(example.encode()).hexdigest(),
        }
    return metadata


def request_in(path: str | Path) -> Request:
    """Return the request that a file of responses states; raise ``DataError`` where it states none."""
    try:
        return Request.from_plain(json.loads(tables.metadata(path)["request"]))
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path}: does not state how its responses were asked; {RESPONSES.remedy}") from None


def check_complete(
    path: str | Path,
    responses: pd.DataFrame,
    request: Mapping[str, Any],
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
) -> None:
    """Raise ``DataError`` unless the ``responses`` in ``path`` are those to its questions, row for row.

    ``request`` is the model's in the arm, as plain data.
    """
    questions = Questions.of(Request.from_plain(request), vignettes, variants)
    expected = questions.named().astype({"variant": object, "order": object})
    received = pd.DataFrame({name: responses[name].to_numpy() for name in expected})
    if len(received) == len(expected) and all((received[name] == expected[name]).all() for name in expected):
        return
    rows = pd.MultiIndex.from_frame(expected)
    missing = rows[~rows.isin(pd.MultiIndex.from_frame(received))]
    what = "rows are missing, doubled or in another order"
    if len(missing):
        flow, variant, _ = missing[0]
        what = f"{len(missing):,} of {len(expected):,} questions are missing, e.g. flow {flow} with variant {variant}"
    raise DataError(
        f"{path}: has {len(received):,} responses that are not those asked ({what}); {RESPONSES.remedy}"
    )


def is_current(path: Path, questions: Questions) -> bool:
    """Tell whether the responses in ``path`` answer ``questions`` as they are now."""
    try:
        request, digest = request_in(path), tables.metadata(path).get(QUESTIONS)
    except (CinormsError, OSError):
        return False
    # Which checkpoint and adapter these are is not known before they are fetched; a scale of one's own has tuples.
    unknown = {"revision": None, "lora_revision": None}
    plain = (each.with_settings(**unknown).plain() for each in (request, questions.request))
    before, now = (json.dumps(each, sort_keys=True) for each in plain)
    return before == now and digest == questions.digest


def n_failed_in(path: Path) -> int:
    """Return how many of the responses in ``path`` are failures that were to be asked again when it was made."""
    try:
        return int(json.loads(path.with_suffix(".json").read_bytes())["failed"])
    except (OSError, KeyError, TypeError, ValueError):
        return 0


def count_left(questions: Questions, store: Store) -> int:
    """Return how many of the questions have no answer in ``store``: a job would ask them."""
    if store.is_empty:
        return len(questions.grid)
    return int((~store.answered(questions.keys)).sum())
