"""Every Eval Ever: its instance-level records in. The format has no place for prompts that wait to be asked."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cinorms.exchange.registry import Format, Received, broken, json_lines, named_by, tokens


def read(path: Path) -> Iterator[Received]:
    """Yield the responses of a file of instance-level records: those of one turn, each output as one."""
    for line, record in json_lines(path, "every_eval_ever", "sample_id", "interaction_type", "input"):
        if record["interaction_type"] != "single_turn":
            raise broken(path, line, f"is a record of {record['interaction_type']!r}, not of a single turn")
        asked, output = _mapping(record["input"]), _mapping(record.get("output"))
        # What a tool was given, which for Inspect is the user's message; and what the model received, if stated.
        recorded = [text for name in ("raw", "formatted") if isinstance(text := asked.get(name), str)]
        usage = _mapping(record.get("token_usage"))
        texts = output.get("raw")
        for text in texts if isinstance(texts, list) and texts else [None]:
            if text is not None and not isinstance(text, str):
                raise broken(path, line, "has an output that is not a text")
            yield Received(
                file=path.name,
                line=line,
                text=text,
                finish_reason="unknown" if record.get("error") is None else "error",
                n_prompt_tokens=tokens(usage.get("input_tokens")),
                n_output_tokens=tokens(usage.get("output_tokens")),
                stated={"model": record["model_id"]} if record.get("model_id") else {},
                in_part=True,
                **(named_by(record["sample_id"], *recorded[:1]) | {"recorded": tuple(recorded)}),
            )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


FORMAT = Format(
    name="every_eval_ever",
    about="Instance-level records of Every Eval Ever (JSONL, schema 0.2 or 0.3), of a single turn.",
    endings=(".jsonl",),
    read=read,
)
