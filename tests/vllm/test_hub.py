"""Checkpoints by name: a hub on loopback that is up, down, gated, or does not know the name."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from cinorms.inference.checkpoints import has_weights

from .conftest import ROOT

SHA = "0123456789abcdef0123456789abcdef01234567"
NEWER = "89abcdef0123456789abcdef0123456789abcdef"
TOKEN = "hf_plantedPLANTEDplanted"
NOWHERE = "http://127.0.0.1:9"


class Hub(ThreadingHTTPServer):
    """As much of the Hugging Face hub as a download needs."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.sha = files, SHA
        self.asked: list[str] = []
        self.tokens: set[str | None] = set()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Knows the repository ours/tiny; ours/gated wants a token, everything else is not there."""

    server: Hub

    def do_GET(self) -> None:
        hub, path = self.server, self.path.partition("?")[0]
        hub.asked.append(f"{self.command} {self.path}")
        hub.tokens.add(self.headers.get("Authorization"))
        file = path.partition("/resolve/")[2].partition("/")[2]
        if "ours/gated" in path:
            self.answer(403, {}, **{"X-Error-Code": "GatedRepo"})
        elif "ours/tiny" not in path:
            self.answer(404, {}, **{"X-Error-Code": "RepoNotFound"})
        elif file in hub.files:
            tag = f'"{hash(hub.files[file]) & 0xFFFFFFFF:x}"'
            self.answer(200, hub.files[file], **{"ETag": tag, "X-Repo-Commit": hub.sha})
        elif file:
            self.answer(404, {}, **{"X-Error-Code": "EntryNotFound"})
        elif "/revision/" in path and path.rpartition("/")[2] not in ("main", SHA, NEWER):
            self.answer(404, {}, **{"X-Error-Code": "RevisionNotFound"})
        elif "/tree/" in path:
            about = {"type": "file", "oid": "0" * 40}
            self.answer(200, [{**about, "path": name, "size": len(hub.files[name])} for name in hub.files])
        else:
            siblings = [{"rfilename": name} for name in hub.files]
            self.answer(200, {"id": "ours/tiny", "sha": hub.sha, "siblings": siblings, "tags": []})

    do_HEAD = do_GET

    def answer(self, status: int, content: Any, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": len(body),
            **headers,
        }.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub(checkpoint):
    """Return a hub that has the tiny model, among files that nobody needs."""
    files = {path.name: path.read_bytes() for path in checkpoint.iterdir()}
    server = Hub({**files, "original/consolidated.00.pth": b"0", "README.md": b"text", "picture.png": b"0"})
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def fetch(tmp_path):
    """Return a function that runs a fetch as a job, ``more`` in its environment, and one that reads its record."""

    def run(url: str, source: str, revision: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        environment = {
            name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
        }
        environment |= {"PYTHONPATH": str(ROOT / "workflow/lib"), "HF_ENDPOINT": url, "HF_TOKEN": TOKEN}
        environment |= {
            "HF_HOME": str(tmp_path / "home"),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        given = {"model": "mine", "source": source, "revision": revision, "log": tmp_path / "log.txt"}
        given["out"] = tmp_path / "checkpoints/mine.json"
        command = [sys.executable, "-m", "cinorms.inference.checkpoints"]
        command += [f"--{name}={value}" for name, value in given.items()]
        return subprocess.run(command, env=environment | more, capture_output=True, text=True, check=False)

    return run


def test_a_repository_is_fetched_once_and_a_study_stays_with_its_commit(tmp_path, hub, fetch):
    out, lock = tmp_path / "checkpoints/mine.json", tmp_path / ".checkpoints/mine.json"

    def revision(*given: str, **more: str) -> str:
        done = fetch(hub.url, "ours/tiny", *given, **more)
        assert done.returncode == 0, done.stderr + (tmp_path / "log.txt").read_text()
        return str(json.loads(out.read_text())["revision"])

    assert revision() == SHA
    assert json.loads(out.read_text()) == {"model": "mine", "source": "ours/tiny", "revision": SHA}
    (snapshot,) = (tmp_path / "home").rglob(f"snapshots/{SHA}")
    assert has_weights(snapshot)
    assert not [*snapshot.rglob("*.pth"), *snapshot.rglob("*.png")]
    assert f"Bearer {TOKEN}" in hub.tokens
    assert TOKEN not in (tmp_path / "log.txt").read_text() + out.read_text()
    n_asked = len(hub.asked)
    assert revision(SHA) == revision(SHA, HF_HUB_OFFLINE="1") == SHA
    assert len(hub.asked) == n_asked, "what is there at a known commit is not looked up again"
    hub.sha = NEWER
    out.unlink()  # as Snakemake does before it makes a file anew
    assert revision() == SHA
    lock.unlink()
    assert revision() == NEWER


@pytest.mark.parametrize(
    ("source", "revision", "environment", "message"),
    [
        ("ours/gated", "", {}, "it is gated; accept its licence on the page of ours/gated"),
        ("ours/nothing", "", {}, "there is no such repository, or it is private or gated"),
        ("ours/tiny", "v9", {}, "it has no such revision; copy the commit"),
        ("ours/tiny", "", {"HF_ENDPOINT": NOWHERE}, "once on a machine with internet that shares HF_HOME"),
        (
            "ours/tiny",
            SHA,
            {"HF_HUB_OFFLINE": "1"},
            "HF_HUB_OFFLINE forbids a download; run `make fetch` with",
        ),
    ],
)
def test_what_cannot_be_fetched_is_one_message(tmp_path, hub, fetch, source, revision, environment, message):
    done = fetch(hub.url, source, revision, **environment)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert TOKEN not in done.stderr
    assert not (tmp_path / "checkpoints/mine.json").exists()
    assert not (environment and hub.asked)


def test_a_token_of_the_hubs_own_log_in_is_in_no_log(tmp_path, hub, fetch):
    saved = "hf_savedSAVEDsaved"
    (tmp_path / "home").mkdir()
    (tmp_path / "home/token").write_text(f"{saved}\n")
    done = fetch(f"{hub.url}/{saved}", "ours/gated", HF_TOKEN="")
    assert f"Bearer {saved}" in hub.tokens
    assert done.returncode == 1
    assert saved not in done.stderr + (tmp_path / "log.txt").read_text()
