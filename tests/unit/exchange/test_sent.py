"""What is exported is what would be sent, byte for byte: every entry of config/models.yaml, by its engine."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from cinorms.core.root import Root
from cinorms.exchange.exporting import export_prompts
from cinorms.exchange.registry import format_named
from cinorms.inference.engines.vllm.tokenise import Tokeniser
from cinorms.inference.model_entry import load_registry
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.inference.respondent_kinds import respondent_names
from cinorms.study.requests import request_of

from ...asking import ask
from ...exchange_runs import ROOT, SELECT, arm

REGISTRY = load_registry(Root(ROOT))
MODELS = [name for name, entry in REGISTRY.items() if not entry.people]
ANSWER = {"choices": [{"message": {"content": "neutral"}, "finish_reason": "stop"}], "usage": None}


class Recorder:
    """An endpoint that keeps the bytes of each request."""

    def __enter__(self) -> "Recorder":
        bodies: list[bytes] = []
        self.bodies = bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                data = json.dumps(ANSWER).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"


class Echo:
    """A tokenizer whose chat template writes the messages as JSON."""

    chat_template = "any"
    bos_token = None

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": []}

    def apply_chat_template(self, chat: list[dict[str, str]], **_: Any) -> str:
        return json.dumps(chat)


def requests(build_study: Any, wrap: str = "registry") -> dict[str, Request]:
    """Return what each model is asked in an arm with a system and a user message."""
    stated = {
        "dataset": "iot",
        "prompts": "chatgpt",
        "templates": 2,
        "orders": {"count": 2},
        "select": SELECT,
    }
    arms = {"main": {**stated, "layout": "instruction_in_system", "wrap": wrap}}
    empty: dict[str, Any] = {"analyses": {}, "figures": {}, "printed": {}}
    study = build_study({"study": "s", "models": MODELS, "arms": arms, **empty})
    return {model: request_of(study, "main", model) for model in MODELS}


def exported(name: str, request: Request, folder: Path) -> list[str]:
    """Return the lines that a format writes for a model."""
    _, vignettes, variants = arm()
    export_prompts(format_named(name), [request], vignettes, variants, "main", folder)
    (path,) = folder.glob("*.jsonl")
    return path.read_text(encoding="utf-8").splitlines()


def inputs(request: Request, folder: Path) -> list[Any]:
    return [json.loads(line)["input"] for line in exported("plain", request, folder)]


def test_every_engine_has_an_entry_here():
    assert {REGISTRY[model].engine for model in MODELS} == set(respondent_names()) - {"human"}


def _messages(body: dict[str, Any]) -> Any:
    """Return the messages of a request: the Responses API calls them its input."""
    return body["input"] if "input" in body else body["messages"]


def canonical(body: str | bytes) -> str:
    """Return a body with its fields in alphabetical order: OpenAI's package has one of its own."""
    return json.dumps(json.loads(body), sort_keys=True)


@pytest.mark.parametrize("model", [name for name in MODELS if REGISTRY[name].engine == "openai"])
def test_an_endpoint_receives_the_messages_and_the_bodies_that_are_exported(build_study, tmp_path, model):
    request = requests(build_study)[model]
    _, vignettes, variants = arm()
    with Recorder() as endpoint:
        here = request.with_settings(base_url=endpoint.url)
        ask(tmp_path / "store", Questions.of(here, vignettes, variants))
    lines = exported("openai_batch", request, tmp_path / "batch")
    assert len(endpoint.bodies) == len(lines) == 24
    exported_bodies = sorted(canonical(line.partition('"body":')[2][:-1]) for line in lines)
    assert exported_bodies == sorted(map(canonical, endpoint.bodies))
    chats = [_messages(json.loads(body)) for body in endpoint.bodies]
    assert [[message["role"] for message in chat] for chat in chats] == [["system", "user"]] * 24
    assert sorted(map(str, inputs(request, tmp_path / "plain"))) == sorted(map(str, chats))


@pytest.mark.parametrize("wrap", ["registry", "paper", "none", "llama2"])
def test_vllm_receives_the_messages_or_the_text_that_are_exported(build_study, tmp_path, wrap):
    for model, request in requests(build_study, wrap).items():
        if request.engine != "vllm":
            continue
        _, vignettes, variants = arm()
        questions = Questions.of(request, vignettes, variants)
        chats = [questions.chat(row) for row in range(len(questions.grid))]
        received = Tokeniser(Echo(), request.settings["wrap"], model).texts(chats)
        given = inputs(request, tmp_path / model)
        assert [text if isinstance(text, str) else json.dumps(text) for text in given] == received
        assert isinstance(given[0], list) == (request.settings["wrap"] == "chat_template")


def test_a_planted_respondent_is_asked_in_messages(build_study, tmp_path):
    for model, request in requests(build_study).items():
        if request.engine == "planted":
            (first, *_) = inputs(request, tmp_path / model)
            assert [message["role"] for message in first] == ["system", "user"]
