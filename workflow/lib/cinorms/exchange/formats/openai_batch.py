"""Files of the OpenAI Batch API: requests out; output and error files in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cinorms.core.files import replacing
from cinorms.exchange.received import Received, json_lines, lacking, named_by
from cinorms.exchange.registry import Format, insist_on_messages
from cinorms.exchange.way import Way
from cinorms.inference.engines.openai.batch import BYTES, REQUESTS
from cinorms.inference.engines.openai.endpoint import Endpoint
from cinorms.inference.engines.openai.replies import Failure, read_body


def read(path: Path) -> Iterator[Received]:
    """Yield the responses of an output or error file."""
    for line, found in json_lines(path):
        if "custom_id" not in found:
            raise lacking(path, line, "custom_id", "openai_batch", found)
        reply = _reply(found)
        yield Received(
            file=path.name,
            line=line,
            text=reply.get("text"),
            finish_reason=reply["finish_reason"],
            n_prompt_tokens=reply.get("n_prompt_tokens"),
            n_output_tokens=reply.get("n_output_tokens"),
            stated={"model": reply["answered_by"]} if reply.get("answered_by") else {},
            **named_by(found["custom_id"]),
        )


def _reply(line: dict[str, Any]) -> dict[str, Any]:
    """Return the reply in a line as the engine ``openai`` reads it; what is no reply is an ``error``."""
    response = line.get("response")
    if isinstance(response, dict) and response.get("status_code", 200) == 200:
        body = response.get("body")
        reply = read_body(body, json.dumps(body).encode())
        if not isinstance(reply, Failure):
            return reply
    return {"text": None, "finish_reason": "error"}


def write(ways: Sequence[Way], arm: str, folder: Path) -> None:
    """Write the requests of each model, in files as large as the API takes."""
    insist_on_messages(ways, arm, "openai_batch")
    for way in ways:
        for model, spec in way.specs.items():
            # A model is asked by its source, if it has one.
            identity = spec.with_identity(source=spec.identity.get("source", spec.model))
            _write_model(way, Endpoint(identity, {}, None), folder / model)


def _write_model(way: Way, endpoint: Endpoint, stem: Path) -> None:
    lines: list[bytes] = []
    size = number = 0
    for prompt in way.prompts():
        request = {
            "custom_id": prompt.id,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": endpoint.body(prompt.messages),
        }
        line = json.dumps(request, ensure_ascii=False).encode() + b"\n"
        if lines and (len(lines) == REQUESTS or size + len(line) > BYTES):
            number += 1
            _write_file(stem, number, lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    _write_file(stem, number + 1, lines)


def _write_file(stem: Path, number: int, lines: Sequence[bytes]) -> None:
    with replacing(stem.with_name(f"{stem.name}-{number}.jsonl")) as part:
        part.write_bytes(b"".join(lines))


FORMAT = Format(
    name="openai_batch",
    about="Output and error files of the OpenAI Batch API, or of a server's batch runner with the same format.",
    endings=(".jsonl",),
    read=read,
    write=write,
    command="upload each `{model}-*.jsonl` as a batch to `/v1/chat/completions`, and download its output",
)
