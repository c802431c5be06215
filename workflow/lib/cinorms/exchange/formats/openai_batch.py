"""Files of the OpenAI Batch API: requests out; output and error files in."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cinorms.core.files import replacing
from cinorms.exchange.registry import Format, Received, json_lines
from cinorms.exchange.way import Way, read_id
from cinorms.inference.engines.openai.replies import Failure, body, path_of, read_reply
from cinorms.inference.request import Request

#: The API's limits for one file of requests.
REQUESTS = 50_000
BYTES = 200_000_000


def read(path: Path) -> Iterator[Received]:
    """Yield the responses of an output or error file, as the engine ``openai`` reads them."""
    for number, line in json_lines(path, "openai_batch", "custom_id"):
        reply: dict[str, Any] | Failure | None = None
        response = line.get("response")
        if isinstance(response, dict) and response.get("status_code", 200) == 200:
            reply = read_reply(json.dumps(response.get("body")).encode())
        if reply is None or isinstance(reply, Failure):
            reply = {"finish_reason": "error"}
        yield Received(
            file=path.name,
            line=number,
            text=reply.get("text"),
            finish_reason=reply["finish_reason"],
            n_prompt_tokens=reply.get("n_prompt_tokens"),
            n_output_tokens=reply.get("n_output_tokens"),
            stated={"model": reply["answered_by"]} if reply.get("answered_by") else {},
            **read_id(line["custom_id"]),
        )


def write(ways: Sequence[Way], folder: Path) -> None:
    """Write the requests of each model, in files as large as the API takes."""
    for way in ways:
        for model, request in way.requests.items():
            # A model is asked by its source, if it has one.
            named = request.with_settings(source=request.settings.get("source", request.model))
            for number, content in enumerate(_files(way, named), 1):
                with replacing(folder / f"{model}-{number}.jsonl") as part:
                    part.write_bytes(content)


def _files(way: Way, asked: Request) -> Iterator[bytes]:
    lines: list[bytes] = []
    size = 0
    for prompt in way.prompts():
        request = {
            "custom_id": prompt.id,
            "method": "POST",
            "url": f"/v1{path_of(asked)}",
            "body": body(asked, prompt.messages),
        }
        # As the engine's client writes a body.
        line = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if lines and (len(lines) == REQUESTS or size + len(line) > BYTES):
            yield b"".join(lines)
            lines, size = [], 0
        size += len(line)
        lines.append(line)
    yield b"".join(lines)


FORMAT = Format(
    name="openai_batch",
    endings=(".jsonl",),
    read=read,
    write=write,
    messages_only=True,
    command="upload each `{model}-*.jsonl` as a batch to `/v1/chat/completions`, and download its output; or "
    "`vllm run-batch -i {model}-1.jsonl -o output.jsonl --model MODEL`",
)
