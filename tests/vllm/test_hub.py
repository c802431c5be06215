"""Checkpoints by name: a folder, and a hub on loopback that is up, down, gated, or does not know the name."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cinorms.inference.checkpoints import has_weights

from .conftest import ROOT

SHA = "0123456789abcdef0123456789abcdef01234567"
NEWER = "89abcdef0123456789abcdef0123456789abcdef"
TOKEN = "hf_plantedPLANTEDplanted"


class Hub(ThreadingHTTPServer):
    """As much of the Hugging Face hub as a download needs."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.sha = SHA
        self.asked: list[str] = []
        self.tokens: set[str | None] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Knows the repository ours/tiny; ours/gated wants a token, everything else is not there."""

    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        self.server.tokens.add(self.headers.get("Authorization"))
        path = self.path.partition("?")[0]
        if "ours/gated" in path:
            return self._send(403, b"{}", {"X-Error-Code": "GatedRepo"})
        if "ours/tiny" not in path:
            return self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        if "/resolve/" in path:
            _, _, name = path.partition("/resolve/")
            content = self.server.files.get(name.partition("/")[2])
            if content is None:
                return self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
            return self._send(
                200, content, {"ETag": f'"{hash(content) & 0xFFFFFFFF:x}"', "X-Repo-Commit": self.server.sha}
            )
        if "/revision/" in path and path.rpartition("/")[2] not in ("main", SHA, NEWER):
            return self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        if "/tree/" in path:
            listing = [
                {"type": "file", "path": n, "size": len(c), "oid": "0" * 40}
                for n, c in self.server.files.items()
            ]
            return self._send(200, json.dumps(listing).encode(), {})
        siblings = [{"rfilename": name, "size": len(content)} for name, content in self.server.files.items()]
        body = {
            "id": "ours/tiny",
            "modelId": "ours/tiny",
            "sha": self.server.sha,
            "siblings": siblings,
            "tags": [],
        }
        return self._send(200, json.dumps(body).encode(), {})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {
            **headers,
            "Content-Length": str(len(body)),
            "Content-Type": "application/json",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def hub(checkpoint: Path) -> Iterator[Hub]:
    """Return a hub that has the tiny model, among files that nobody needs."""
    files = {path.name: path.read_bytes() for path in checkpoint.iterdir()}
    server = Hub(
        {**files, "original/consolidated.00.pth": b"0" * 100, "README.md": b"text", "picture.png": b"0"}
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def fetch(
    tmp_path: Path, url: str, source: str, revision: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a fetch as a job; ``more`` are variables of its environment."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {
        "PYTHONPATH": str(ROOT / "workflow/lib"),
        "HF_ENDPOINT": url,
        "HF_HOME": str(tmp_path / "home"),
        "HF_TOKEN": TOKEN,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        **more,
    }
    given = {
        "model": "mine",
        "source": source,
        "revision": revision,
        "out": str(tmp_path / "checkpoints/mine.json"),
    }
    given["log"] = str(tmp_path / "log.txt")
    command = [
        sys.executable,
        "-m",
        "cinorms.inference.checkpoints",
        *(f"--{k}={v}" for k, v in given.items()),
    ]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_repository_is_fetched_once_and_its_commit_noted(tmp_path, hub):
    done = fetch(tmp_path, hub.url, "ours/tiny")
    assert done.returncode == 0, done.stderr + (tmp_path / "log.txt").read_text()
    record = json.loads((tmp_path / "checkpoints/mine.json").read_text())
    assert record == {"model": "mine", "source": "ours/tiny", "revision": SHA}
    (snapshot,) = (tmp_path / "home").rglob(f"snapshots/{SHA}")
    assert has_weights(snapshot)
    assert not list(snapshot.rglob("*.pth")) + list(snapshot.rglob("*.png"))
    assert f"Bearer {TOKEN}" in hub.tokens
    n_asked = len(hub.asked)
    assert fetch(tmp_path, hub.url, "ours/tiny", SHA).returncode == 0
    assert len(hub.asked) == n_asked  # what is there at a known commit is not looked up again
    for path in (tmp_path / "log.txt", tmp_path / "checkpoints/mine.json"):
        assert TOKEN not in path.read_text()


def test_a_study_stays_with_the_commit_that_it_found_first(tmp_path, hub):
    def revision() -> str:
        done = fetch(tmp_path, hub.url, "ours/tiny")
        assert done.returncode == 0, done.stderr
        record = json.loads((tmp_path / "checkpoints/mine.json").read_text())
        return str(record["revision"])

    assert revision() == SHA
    hub.sha = NEWER
    (tmp_path / "checkpoints/mine.json").unlink()  # as Snakemake does before it makes a file anew
    assert revision() == SHA
    (tmp_path / ".checkpoints/mine.json").unlink()
    assert revision() == NEWER


@pytest.mark.parametrize(
    ("source", "revision", "message"),
    [
        ("ours/gated", "", "it is gated; accept its licence on the page of ours/gated"),
        ("ours/nothing", "", "there is no such repository, or it is private or gated"),
        ("ours/tiny", "v9", "it has no such revision; copy the commit"),
    ],
)
def test_what_the_hub_refuses_is_one_message(tmp_path, hub, source, revision, message):
    done = fetch(tmp_path, hub.url, source, revision)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert TOKEN not in done.stderr
    assert not (tmp_path / "checkpoints/mine.json").exists()


def test_without_internet_it_says_what_to_do(tmp_path):
    done = fetch(tmp_path, "http://127.0.0.1:9", "ours/tiny")
    assert done.returncode == 1
    assert "the hub cannot be reached" in done.stderr
    assert "run `make fetch` once on a machine with internet that shares HF_HOME" in done.stderr


def test_offline_it_takes_what_was_fetched_and_nothing_else(tmp_path, hub):
    done = fetch(tmp_path, hub.url, "ours/tiny", SHA, HF_HUB_OFFLINE="1")
    assert done.returncode == 1
    assert "HF_HUB_OFFLINE forbids a download; run `make fetch` with this study first" in done.stderr
    assert not hub.asked
    assert fetch(tmp_path, hub.url, "ours/tiny", SHA).returncode == 0
    hub.asked.clear()
    done = fetch(tmp_path, hub.url, "ours/tiny", SHA, HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stderr
    assert not hub.asked


def test_a_token_of_the_hubs_own_log_in_is_in_no_log(tmp_path, hub):
    saved = "hf_savedSAVEDsaved"
    (tmp_path / "home").mkdir()
    (tmp_path / "home/token").write_text(f"{saved}\n")
    done = fetch(tmp_path, f"{hub.url}/{saved}", "ours/gated", HF_TOKEN="")
    assert f"Bearer {saved}" in hub.tokens
    assert done.returncode == 1
    assert saved not in done.stderr + (tmp_path / "log.txt").read_text()
