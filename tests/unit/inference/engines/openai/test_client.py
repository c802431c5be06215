"""What the client does with a reply before anything reads it, and which way its requests go."""

import asyncio
import socket
import ssl

import httpx2
import pytest
from openai import APIConnectionError

from cinorms.core.errors import ConfigError
from cinorms.inference.engines.openai import client
from cinorms.inference.engines.openai.client import UnreadableReply, judge_connection, make_client


class Pieces(httpx2.AsyncByteStream):
    def __init__(self, *pieces):
        self.pieces = pieces

    async def __aiter__(self):
        for piece in self.pieces:
            yield piece


@pytest.fixture
def receive(monkeypatch):
    """Return a function that returns what the client makes of a response."""
    monkeypatch.setattr(client, "LONGEST_REPLY", 8)

    def receive(found, timeout=5.0):
        class Pool:
            async def handle_async_request(self, request):
                return found

        async def send():
            made = make_client("http://h/v1", None, timeout)
            return await made._client.post("http://h/v1")

        monkeypatch.setattr("httpx2._client.AsyncHTTPTransport", lambda **settings: Pool())
        return asyncio.run(send())

    return receive


def test_a_reply_is_read_up_to_its_limits_in_bytes_and_seconds(receive):
    assert receive(httpx2.Response(200, stream=Pieces(b"1234", b"5678"))).content == b"12345678"
    with pytest.raises(UnreadableReply, match="a reply of more than 8 bytes"):
        receive(httpx2.Response(200, stream=Pieces(b"1234", b"5678", b"9")))
    with pytest.raises(httpx2.ReadTimeout, match="the reply takes too long"):
        receive(httpx2.Response(200, stream=Pieces(b"1")), timeout=-1.0)
    with pytest.raises(UnreadableReply, match="a reply that is packed"):
        receive(httpx2.Response(200, headers={"Content-Encoding": "zstd"}, stream=Pieces(b"1")))


@pytest.mark.parametrize(
    ("error", "cause", "found"),
    [
        (httpx2.RemoteProtocolError("Receive buffer too long"), None, ("unreadable", "down", True)),
        (httpx2.RemoteProtocolError("illegal status line"), None, ("lost", "down", True)),
        (httpx2.ReadTimeout("x"), None, ("lost", "down", True)),
        (httpx2.WriteError("x"), None, ("lost", "down", True)),
        (httpx2.ConnectTimeout("x"), None, ("lost", "down", False)),
        (httpx2.PoolTimeout("x"), None, ("lost", "down", False)),
        (httpx2.ProxyError("407 Proxy Authentication Required"), None, ("lost", "down", False)),
        (httpx2.ConnectError("x"), ConnectionRefusedError(), ("lost", "down", False)),
        (httpx2.ConnectError("x"), socket.gaierror(socket.EAI_AGAIN, "y"), ("lost", "down", False)),
        (httpx2.ConnectError("x"), socket.gaierror(socket.EAI_NONAME, "y"), ("nowhere", "name", False)),
        (httpx2.ConnectError("x"), ssl.SSLCertVerificationError(), ("stop", "certificate", False)),
        (httpx2.ConnectError("x"), ssl.SSLError("wrong version"), ("lost", "down", False)),
    ],
)
def test_what_it_means_that_no_reply_came(error, cause, found):
    raised = APIConnectionError(request=httpx2.Request("POST", "http://h"))
    raised.__cause__, error.__cause__ = error, cause
    failure = judge_connection(raised)
    assert (failure.kind, failure.advice, failure.billed) == found


@pytest.mark.parametrize("proxy", ["ftp://h:1", "http://user:sk-proxy-pass@h:x", "socks5://h:1"])
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ConfigError, match="HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used") as raised:
        make_client("http://h/v1", None, 5.0)
    assert "sk-proxy" not in str(raised.value)


def test_a_client_has_one_address_and_no_key_but_its_own(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    for key, used in ((None, "none"), ("sk-own", "sk-own")):
        made = make_client("http://h/v1", key, 5.0)
        assert (made.api_key, str(made.base_url)) == (used, "http://h/v1/")
        assert (made.max_retries, made._client.follow_redirects) == (0, False)
