"""A loopback endpoint that speaks the OpenAI API, counts what it is asked, and fails as it is told to.

The answer to a prompt is a pure function of the prompt, so that two runs can be compared byte by byte.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

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
    #: Tokens of a reply that is billed although nobody gets it.
    billed: int = 0


def about(flow: int, fault: Fault) -> Callable[[int, dict[str, Any]], Fault | None]:
    """Return a decision to answer the prompts about one flow with a fault."""
    return lambda number, body: fault if f"picture {flow} " in body["messages"][0]["content"] else None


#: Share of requests that fail.
FAILING = 0.2
BOMB = Fault(200, content=gzip.compress(bytes(8 * 2**20)), headers={"Content-Encoding": "gzip"})
HEADERS = Fault(200, content=b"{}", headers={f"X-{n}": "x" * 8000 for n in range(20)})
#: Failures of one request, which do not say anything of the next.
FAULTS = (
    *(Fault(500), Fault(503), Fault(502, content=b"<html>"), Fault(408, "timeout"), Fault(409)),
    Fault(429, "rate_limit_exceeded", headers={"Retry-After": "0.2"}),
    *(Fault(way=way) for way in ("drop", "reset")),
)
#: The same where there is a reply that nobody can read: a prompt has at most one, as the second is believed.
UNREADABLE = (BOMB, HEADERS, *(Fault(way=way) for way in ("truncate", "malformed", "nothing")))
#: These take their time: more of them, and at a kill they alone would be under way.
SLOW = (Fault(way="hang"), Fault(way="drip"))


class Moody:
    """Decides which request fails, and how; a share of the failures is ``slow``."""

    def __init__(self, chance: random.Random, slow: float) -> None:
        self._chance, self._slow, self._unread = chance, slow, set[str]()
        self.failed: Counter[str] = Counter()

    def __call__(self, number: int, body: dict[str, Any]) -> Fault | None:
        prompt = json.dumps(body["messages"])
        if self._chance.random() >= FAILING:
            return None
        self.failed[prompt] += 1
        if self._chance.random() < self._slow:
            return self._chance.choice(SLOW)
        unreadable = prompt not in self._unread and self._chance.random() < 0.3
        if unreadable:
            self._unread.add(prompt)
        return self._chance.choice(UNREADABLE if unreadable else FAULTS)


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


def as_response(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion as OpenAI's other API answers, half of its tokens spent on reasoning."""
    (choice,), usage = reply["choices"], reply["usage"]
    text = {"type": "output_text", "text": choice["message"]["content"], "annotations": []}
    n = usage["completion_tokens"]
    return {
        "id": reply["id"],
        "object": "response",
        "created_at": reply["created"],
        "model": reply["model"],
        "status": "completed",
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [text]},
        ],
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": n,
            "output_tokens_details": {"reasoning_tokens": n // 2},
        },
    }


class Endpoint:
    """The server, as a context manager. ``fault(number, body)`` may return a ``Fault`` for a request."""

    def __init__(self) -> None:
        self.fault: Callable[[int, dict[str, Any]], Fault | None] = lambda number, body: None
        #: Called with the path of every request that posts something; may return what to do in place of it.
        self.every: Callable[[str], Fault | None] = lambda path: None
        #: What the endpoint says to a chat; a pure function of it.
        self.answer: Callable[[list[dict[str, str]]], str] = answer_to
        #: What becomes of a reply, given the request.
        self.reply: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]] = lambda asked, reply: reply
        #: What it says when it is asked for its models; None where it lists none.
        self.models: list[str] | None = None
        #: What it does instead, and the paths that were asked for.
        self.get_fault: Fault | None = None
        self.got: list[str] = []
        self.delay = 0.0
        #: Requests from this number on are answered only after ``released`` is set.
        self.hold_from: int | None = None
        self.released = threading.Event()
        self.headers: dict[str, str] = {}
        self.lock = threading.Lock()
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        #: Tokens in and out that a provider would bill.
        self.billed: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.number = 0

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

    def wrap(self, context: ssl.SSLContext) -> None:
        """Speak TLS from now on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def bill(self, usage: dict[str, int]) -> None:
        with self.lock:
            self.billed.update({name: usage[name] for name in ("prompt_tokens", "completion_tokens")})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"


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
        elif self.path.endswith("/responses"):
            body = json.loads(data)
            self._chat(endpoint, {**body, "messages": body.pop("input")}, as_response)
        else:
            self._send(404, {"error": {"code": "not_found", "message": self.path}})

    def do_GET(self) -> None:
        endpoint = self.server_endpoint
        path = self.path.split("?")[0]
        endpoint.got.append(path)
        if endpoint.get_fault:
            endpoint.keys.add(self.headers.get("Authorization", ""))
            self._fail(endpoint.get_fault, {})
        elif endpoint.models is not None and "/models" in path:
            self._models(endpoint.models, path.partition("/models")[2])
        else:
            self._send(404, {"error": {"code": "not_found", "message": path}})

    def _models(self, models: list[str], one: str) -> None:
        if one and unquote(one[1:]) not in models:
            self._send(404, {"error": {"code": "model_not_found", "message": "No such model"}})
            return
        listed = [{"id": model, "object": "model"} for model in models]
        self._send(200, listed[0] if one else {"object": "list", "data": listed})

    def _chat(
        self,
        endpoint: Endpoint,
        body: dict[str, Any],
        shaped: Callable[[dict[str, Any]], dict[str, Any]] = lambda reply: reply,
    ) -> None:
        key = json.dumps(body["messages"])
        with endpoint.lock:
            number = endpoint.number
            endpoint.number += 1
            endpoint.asked[key] += 1
            endpoint.bodies.append(body)
            fault = endpoint.fault(number, body)
        if endpoint.delay:
            time.sleep(endpoint.delay)
        if endpoint.hold_from is not None and number >= endpoint.hold_from:
            endpoint.released.wait()
        if fault is not None:
            if fault.billed:
                endpoint.bill({"prompt_tokens": 80, "completion_tokens": fault.billed})
            self._fail(fault, body)
            return
        reply = endpoint.reply(body, completion(body, endpoint.answer))
        with endpoint.lock:
            endpoint.answered[key] += 1
        endpoint.bill(reply["usage"])
        self._send(200, shaped(reply), endpoint.headers)

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
