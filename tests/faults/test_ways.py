"""Which way requests go: through the environment's proxy, the check's and the job's alike, or to nobody."""

import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cinorms.core.errors import EngineError
from cinorms.inference.engine_kind import Surroundings
from cinorms.inference.engines.openai.preflight import look_at_endpoints

from ..asking import make_model
from .conftest import KEY, vignettes
from .server import Endpoint

pytestmark = pytest.mark.usefixtures("impatient")


def look(url: str) -> list[str]:
    """Return what the check of an endpoint finds."""
    stated = {"engine": "openai", "source": "gpt-planted", "base_url": url, "key_variable": "A_KEY"}
    found = look_at_endpoints([make_model("audited", **stated)], Surroundings(Path(), {"A_KEY": KEY}))
    return [each.text for each in found or ()]


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a proxy that answers in place of every endpoint."""
    for name in ("http_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Endpoint() as running:
        running.models = ["gpt-planted"]
        monkeypatch.setenv("HTTP_PROXY", running.url.removesuffix("/v1"))
        monkeypatch.setenv("NO_PROXY", "direct.invalid")
        yield running


def test_the_check_and_the_job_go_through_the_proxy_alike(asked, proxy):
    asked.flows, asked.changes = vignettes(4), {"base_url": "http://behind.invalid/v1"}
    assert look("http://behind.invalid/v1") == []
    assert proxy.got == ["http://behind.invalid/v1/models"]
    assert asked.ask()["text"].notna().all()
    assert (proxy.number, asked.endpoint.number) == (24, 0)
    # What is on this machine goes the same way, unless NO_PROXY names it.
    asked.changes = {}
    assert asked.ask()["text"].notna().all()
    assert (proxy.number, asked.endpoint.number) == (48, 0)


def test_an_address_in_no_proxy_is_reached_directly_by_both(asked, proxy, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,direct.invalid")
    asked.flows, asked.endpoint.models = vignettes(4), ["gpt-planted"]
    assert look(asked.endpoint.url) == []
    asked.ask()
    assert asked.endpoint.number == 24
    asked.changes = {"base_url": "http://direct.invalid/v1"}
    with pytest.raises(EngineError, match="no machine has this name: correct base_url"):
        asked.ask()
    assert "no machine has this name" in look("http://direct.invalid/v1")[0]
    assert (proxy.number, proxy.got) == (0, [])


@pytest.fixture
def untrusted(tmp_path: Path, endpoint: Endpoint) -> Endpoint:
    """Return an endpoint whose certificate nobody knows."""
    pem = str(tmp_path / "own.pem")
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    alias = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*make, *alias, "-keyout", pem, "-out", f"{pem}.crt"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{pem}.crt", pem)
    endpoint.wrap(context)
    return endpoint


def test_a_certificate_that_nobody_knows_stops_the_job_at_once(asked, untrusted):
    asked.changes = {"base_url": untrusted.url.replace("http:", "https:")}
    with pytest.raises(EngineError, match=r"certificate.*is not trusted.*SSL_CERT_FILE"):
        asked.ask()
    assert "its certificate is not trusted" in look(asked.changes["base_url"])[0]
    assert not untrusted.number
