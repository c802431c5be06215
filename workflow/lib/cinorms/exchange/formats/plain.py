"""The project's own format: JSONL, Parquet or CSV with keys that any script can write."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from cinorms.core.csv_files import check_header
from cinorms.core.errors import DataError, listing
from cinorms.core.files import replacing
from cinorms.exchange.registry import (
    MOST_DIGITS,
    STATED,
    Format,
    Received,
    broken,
    chat_text,
    cleaned,
    json_lines,
    lacking,
    tokens,
)
from cinorms.exchange.way import Prompt, Way, prompt_hash, read_id

#: Keys of a response; each line has ``text`` and one of ``NAMING``, or ``flow``, ``template`` and ``order``.
NUMBERS = ("flow", "template", "order")
NAMING = ("id", "prompt_sha256", "input")


def read(path: Path) -> Iterator[Received]:
    """Yield the responses of a JSONL, Parquet or CSV file."""
    for line, row in _rows(path):
        if "text" not in row:
            raise lacking(path, line, "text", "plain", row)
        text = row["text"]
        if text is not None and not isinstance(text, str):
            raise broken(path, line, f"has {text!r:.40} as 'text', which is not a text")
        yield Received(
            file=path.name,
            line=line,
            text=text,
            finish_reason=str(row.get("finish_reason") or "unknown"),
            n_prompt_tokens=tokens(row.get("n_prompt_tokens")),
            n_output_tokens=tokens(row.get("n_output_tokens")),
            stated={name: row[name] for name in STATED if row.get(name) is not None},
            **_prompt_of(path, line, row),
        )


def _prompt_of(path: Path, line: int, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row states of its prompt: numbers, a hash, or both; and the prompt as it was recorded."""
    stated = {name: row[name] for name in (*NUMBERS, *NAMING) if row.get(name) is not None}
    fields: dict[str, Any] = {}
    if any(name in stated for name in NUMBERS):
        absent = [name for name in NUMBERS if name not in stated]
        if absent:
            raise broken(path, line, f"has no '{absent[0]}'; flow, template and order belong together")
        fields = {name: _whole(path, line, name, stated[name]) for name in NUMBERS}
    if "id" in stated:
        fields = {**read_id(stated["id"]), **fields}
    if "prompt_sha256" in stated:
        fields["sha256"] = str(stated["prompt_sha256"]).lower()
    if "input" not in stated and not fields:
        raise lacking(path, line, "id", "plain", row)
    if "input" in stated:
        recorded = chat_text(stated["input"])
        if recorded is None:
            raise broken(
                path, line, f"has {stated['input']!r:.40} as 'input', which is neither a text nor messages"
            )
        fields = {"recorded": recorded, **(fields or {"sha256": prompt_hash(recorded)})}
    return fields


def _whole(path: Path, line: int, name: str, value: Any) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) <= MOST_DIGITS:
        return int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and 0 <= value < 10**MOST_DIGITS and value == int(value):
        return int(value)
    raise broken(
        path,
        line,
        f"has {value!r:.40} as '{name}', which is not a whole number from 0 of at most {MOST_DIGITS} digits",
    )


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the values of each row; missing values are None."""
    if path.suffix == ".jsonl":
        yield from json_lines(path)
        return
    if path.suffix == ".parquet":
        try:
            with pq.ParquetFile(path) as file:
                rows = (cleaned(row) for batch in file.iter_batches() for row in batch.to_pylist())
                yield from enumerate(rows, 1)
        except Exception as error:  # a damaged file can make its reader fail in any way
            raise DataError(f"{path}: is not a readable Parquet file ({error})") from None
    elif path.suffix == ".csv":
        check_header(path)
        try:
            frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: is not a readable CSV file ({error})") from None
        # An empty text is a text; elsewhere an empty cell is a missing value.
        for number, values in enumerate(frame.itertuples(index=False, name=None), 2):
            row = zip(frame.columns, values, strict=True)
            yield number, {name: value if value or name == "text" else None for name, value in row}
    else:
        raise DataError(
            f"{path}: cannot be read as the format 'plain': {listing(path.suffix, FORMAT.endings)}"
        )


def write(ways: Sequence[Way], folder: Path) -> None:
    """Write one JSONL file per way: a prompt per line, to be completed with ``text``."""
    for way in ways:
        with replacing(folder / f"{way.name}.jsonl") as part, part.open("w", encoding="utf-8") as lines:
            for prompt in way.prompts():
                lines.write(json.dumps(_line(prompt, way.wrapper), ensure_ascii=False) + "\n")


def _line(prompt: Prompt, wrapper: str | None) -> dict[str, Any]:
    # Inspect reads `id` and `input` by these names.
    return {
        "id": prompt.id,
        "input": prompt.text if wrapper else prompt.messages,
        "flow": prompt.flow,
        "template": prompt.template,
        "order": prompt.order,
        "prompt_sha256": prompt.sha256,
    }


FORMAT = Format(
    name="plain",
    endings=(".jsonl", ".parquet", ".csv"),
    read=read,
    write=write,
    command="add `text` to each line with a script of your own, and keep `id`; or ask them with Inspect or "
    "lm-evaluation-harness (docs/exchange.md)",
)
