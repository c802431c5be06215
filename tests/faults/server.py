"""A loopback endpoint that speaks the OpenAI API, counts what it is asked, and fails as it is told to.

The answer to a prompt is a pure function of the prompt, so that two runs can be compared byte by byte.
"""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

OPTIONS = (
    "strongly unacceptable",
    "somewhat unacceptable",
    "neutral",
    "somewhat acceptable",
    "strongly acceptable",
)


@dataclass
class Fault:
    """What to do instead of answering: a status with an error object, or something worse."""

    status: int = 500
    code: str = "server_error"
    message: str = "planted fault"
    param: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    #: status, drop (the connection), hang, truncate, malformed, filtered (withheld), nothing (no choices), reset
    #: (the connection, in the middle of the body), drip (the body byte by byte)
    way: str = "status"
    #: Sent with ``status`` in place of the error object.
    content: bytes | None = None


def about(flow: int, fault: Fault) -> Callable[[int, dict[str, Any]], Fault | None]:
    """Return a decision to answer the prompts about one flow with a fault."""
    return lambda number, body: fault if f"picture {flow} " in body["messages"][0]["content"] else None


def answer_to(chat: list[dict[str, str]]) -> str:
    """Return the option that the endpoint answers a chat with."""
    number = int.from_bytes(hashlib.sha256(json.dumps(chat).encode()).digest()[:4], "big")
    return OPTIONS[number % 5]


def completion(
    body: dict[str, Any], answer: Callable[[list[dict[str, str]]], str] = answer_to
) -> dict[str, Any]:
    """Return the chat completion that answers a request."""
    text = answer(body["messages"])
    mark = hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()[:12]
    return {
        "id": f"chatcmpl-{mark}",
        "object": "chat.completion",
        "created": 1_800_000_000,
        "model": f"{body['model']}-2024-07-18",
        "system_fingerprint": "fp_planted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 80, "completion_tokens": 4, "total_tokens": 84},
    }


class Endpoint:
    """The server, as a context manager. ``fault(number, body)`` may return a ``Fault`` for a request."""

    def __init__(self) -> None:
        self.fault: Callable[[int, dict[str, Any]], Fault | None] = lambda number, body: None
        #: The same for a line of a batch, with the number of times that it was in a batch before.
        self.line_fault: Callable[[int, dict[str, Any]], Fault | None] = lambda times, body: None
        #: Called with (number of the batch, its requests); returns the status in which it ends.
        self.batch_end: Callable[[int, list[dict[str, Any]]], str] = lambda number, requests: "completed"
        #: Called with the path of every request that posts something; may return what to do in place of it.
        self.every: Callable[[str], Fault | None] = lambda path: None
        #: What the endpoint says to a chat; a pure function of it.
        self.answer: Callable[[list[dict[str, str]]], str] = answer_to
        #: What becomes of a live reply, given the request.
        self.reply: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]] = lambda asked, reply: reply
        #: What becomes of the body of a line that is answered.
        self.line_body: Callable[[dict[str, Any]], Any] = lambda body: body
        #: What becomes of a batch, or of the id of a file, that is shown.
        self.shown: Callable[[dict[str, Any]], Any] = lambda found: found
        #: What it says when it is asked for its models; None where it lists none.
        self.models: list[str] | None = None
        #: What it does instead, and the paths that were asked for.
        self.get_fault: Fault | None = None
        self.got: list[str] = []
        self.delay = 0.0
        #: Requests from this number on are answered only after ``released`` is set.
        self.hold_from: int | None = None
        self.released = threading.Event()
        self.batch_polls = 1
        self.headers: dict[str, str] = {}
        self.most_lines: int | None = None
        self.lock = threading.Lock()
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.billed: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.times: list[float] = []
        self.number = 0
        self.under_way = 0
        self.most_under_way = 0
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.downloads = 0
        self.spoil_download: Callable[[int, bytes], bytes] = lambda number, data: data
        self.lose_create = 0

    def __enter__(self) -> Endpoint:
        endpoint = self

        class Handler(_Handler):
            server_endpoint = endpoint

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Say nothing: killed clients are what these tests are about."""

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    # --- Batches

    def create_batch(self, given: dict[str, Any]) -> dict[str, Any]:
        """Create a batch; it ends after ``batch_polls`` looks at it."""
        number = len(self.batches)
        batch = {
            "id": f"batch_{number}",
            "object": "batch",
            "endpoint": given["endpoint"],
            "completion_window": given["completion_window"],
            "input_file_id": given["input_file_id"],
            "created_at": int(time.time()),
            "metadata": given.get("metadata"),
            "status": "in_progress",
            "polls": 0,
            "number": number,
        }
        self.batches[batch["id"]] = batch
        return batch

    def look_at_batch(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Move a batch on and return what the API shows of it."""
        batch["polls"] += 1
        if batch["status"] == "in_progress" and batch["polls"] > self.batch_polls:
            self._end(batch)
        return {name: value for name, value in batch.items() if name not in ("polls", "number")}

    def _end(self, batch: dict[str, Any]) -> None:
        requests = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        batch["status"] = status = self.batch_end(batch["number"], requests)
        if status.startswith("failed:"):
            code = status.split(":")[1]
            batch["status"] = "failed"
            error = {"code": code, "message": "planted", "line": None, "param": None}
            batch["errors"] = {"object": "list", "data": [error]}
            return
        done: list[str] = []
        failed: list[str] = []
        for place, request in enumerate(requests):
            key = json.dumps(request["body"]["messages"])
            times = self.asked[key]
            self.asked[key] += 1
            fault = self.line_fault(times, request["body"])
            line: dict[str, Any] = {
                "id": f"batch_req_{place}",
                "custom_id": request["custom_id"],
                "error": None,
            }
            if status in ("expired", "cancelled") and place >= len(requests) // 2:
                error = {"code": f"batch_{status}", "message": "This request could not be executed in time."}
                failed.append(json.dumps(line | {"response": None, "error": error}))
            elif fault:
                body = {"error": {"code": fault.code, "message": fault.message, "param": fault.param}}
                failed.append(json.dumps(line | {"response": {"status_code": fault.status, "body": body}}))
            else:
                self.billed[key] += 1
                self.answered[key] += 1
                body = self.line_body(completion(request["body"], self.answer))
                done.append(json.dumps(line | {"response": {"status_code": 200, "body": body}}))
        for name, lines in (("output_file_id", done), ("error_file_id", failed)):
            if lines:
                batch[name] = f"file-{batch['id']}-{name}"
                self.files[batch[name]] = ("\n".join(lines) + "\n").encode()
        batch["request_counts"] = {"total": len(requests), "completed": len(done), "failed": len(failed)}


class _Handler(BaseHTTPRequestHandler):
    server_endpoint: Endpoint
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        endpoint = self.server_endpoint
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        endpoint.keys.add(self.headers.get("Authorization", ""))
        if (fault := endpoint.every(self.path)) is not None:
            self._fail(fault, {})
        elif self.path.endswith("/chat/completions"):
            self._chat(endpoint, json.loads(data))
        elif self.path.endswith("/files"):
            start = data.index(b"\r\n\r\n", data.index(b'name="file"')) + 4
            content = data[start : data.index(b"\r\n--", start)]
            with endpoint.lock:
                file_id = f"file-in-{len(endpoint.files)}"
                endpoint.files[file_id] = content
            file = {"id": file_id, "object": "file", "bytes": len(content), "purpose": "batch"}
            self._send(200, endpoint.shown(file))
        elif self.path.endswith("/batches"):
            with endpoint.lock:
                batch = endpoint.create_batch(json.loads(data))
            if endpoint.lose_create:
                endpoint.lose_create -= 1
                self._drop()
            else:
                self._send(200, endpoint.shown(batch))
        else:
            self._send(404, {"error": {"code": "not_found", "message": self.path}})

    def do_GET(self) -> None:
        endpoint = self.server_endpoint
        path = self.path.split("?")[0]
        last = path.rsplit("/", 1)[1]
        endpoint.got.append(path)
        if endpoint.get_fault:
            endpoint.keys.add(self.headers.get("Authorization", ""))
            self._fail(endpoint.get_fault, {})
        elif endpoint.models is not None and "/models" in path:
            self._models(endpoint.models, path.partition("/models")[2])
        elif path.endswith("/batches"):
            newest_first = [endpoint.shown(batch) for batch in reversed(endpoint.batches.values())]
            after = parse_qs(urlsplit(self.path).query).get("after", [None])[0]
            start = [batch.get("id") for batch in newest_first].index(after) + 1 if after else 0
            page = newest_first[start : start + 100]
            more = start + 100 < len(newest_first)
            self._send(200, {"object": "list", "data": page, "has_more": more})
        elif "/batches/" in path and last not in endpoint.batches:
            self._send(404, {"error": {"code": "not_found", "message": f"No batch {last}"}})
        elif "/batches/" in path:
            with endpoint.lock:
                shown = endpoint.look_at_batch(endpoint.batches[last])
            self._send(200, endpoint.shown(shown))
        elif path.split("/")[-2] not in endpoint.files:
            self._send(404, {"error": {"code": "not_found", "message": "No such file"}})
        else:
            endpoint.downloads += 1
            content = endpoint.spoil_download(endpoint.downloads, endpoint.files[path.split("/")[-2]])
            self._send(200, content)

    def _models(self, models: list[str], one: str) -> None:
        if one and unquote(one[1:]) not in models:
            self._send(404, {"error": {"code": "model_not_found", "message": "No such model"}})
            return
        listed = [{"id": model, "object": "model"} for model in models]
        self._send(200, listed[0] if one else {"object": "list", "data": listed})

    def _chat(self, endpoint: Endpoint, body: dict[str, Any]) -> None:
        key = json.dumps(body["messages"])
        with endpoint.lock:
            number = endpoint.number
            endpoint.number += 1
            endpoint.asked[key] += 1
            endpoint.bodies.append(body)
            endpoint.times.append(time.monotonic())
            endpoint.under_way += 1
            endpoint.most_under_way = max(endpoint.most_under_way, endpoint.under_way)
            fault = endpoint.fault(number, body)
        try:
            if endpoint.delay:
                time.sleep(endpoint.delay)
            if endpoint.hold_from is not None and number >= endpoint.hold_from:
                endpoint.released.wait()
            if fault is not None:
                self._fail(fault, body)
                return
            reply = endpoint.reply(body, completion(body, endpoint.answer))
        finally:
            with endpoint.lock:
                endpoint.under_way -= 1
        with endpoint.lock:
            endpoint.answered[key] += 1
        self._send(200, reply, endpoint.headers)

    def _fail(self, fault: Fault, body: dict[str, Any]) -> None:
        if fault.way == "drop":
            self._drop()
        elif fault.way == "hang":
            time.sleep(3)
            self._drop()
        elif fault.way in ("truncate", "malformed"):
            data = json.dumps(completion(body)).encode()
            cut = data[: len(data) // 2]
            length = len(data) if fault.way == "truncate" else len(cut)
            self._send(200, cut, {"Content-Length": str(length)})
            if fault.way == "truncate":
                self._drop()
        elif fault.way == "filtered":
            reply = completion(body)
            reply["choices"][0] |= {"finish_reason": "content_filter"}
            reply["choices"][0]["message"]["content"] = None
            self._send(200, reply)
        elif fault.way == "nothing":
            self._send(200, {"id": "x", "choices": []})
        elif fault.way in ("reset", "drip"):
            if fault.way == "drip":  # slow, but an answer, and paid for
                with self.server_endpoint.lock:
                    self.server_endpoint.answered[json.dumps(body["messages"])] += 1
            self._begin(json.dumps(completion(body)).encode(), fault.way)
        elif fault.content is not None:
            self._send(fault.status, fault.content, fault.headers)
        else:
            error = {"code": fault.code, "type": fault.code, "message": fault.message, "param": fault.param}
            self._send(fault.status, {"error": error}, fault.headers)

    def _begin(self, data: bytes, way: str) -> None:
        """Send a part of a body and reset the connection, or send all of it very slowly."""
        self._send(200, data[:20], {"Content-Length": str(len(data))})
        self.close_connection = True
        if way == "reset":
            now = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
            self.connection.close()
            return
        for byte in data[20:]:
            time.sleep(0.05)
            self.wfile.write(bytes([byte]))

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
