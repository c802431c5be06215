"""What the client does with a reply before anything reads it."""

import asyncio

import httpx2
import pytest

from cinorms.inference import job_state
from cinorms.inference.engines.openai import client
from cinorms.inference.engines.openai.client import UnreadableReply, make_client


class Pieces(httpx2.AsyncByteStream):
    def __init__(self, *pieces):
        self.pieces = pieces

    async def __aiter__(self):
        for piece in self.pieces:
            yield piece


@pytest.fixture
def receive(monkeypatch):
    """Return a function that returns what the client makes of a response or an error, and the job's trouble."""
    monkeypatch.setattr(client, "LONGEST_REPLY", 8)

    def receive(found, timeout=5.0):
        class Pool:
            async def handle_async_request(self, request):
                if isinstance(found, Exception):
                    raise found
                return found

        async def send():
            response = await client._Transport(timeout).handle_async_request(
                httpx2.Request("POST", "http://h")
            )
            await response.aread()
            return response

        monkeypatch.setattr(client.httpx2, "AsyncHTTPTransport", lambda **settings: Pool())
        monkeypatch.setattr(job_state, "_current", job_state.JobState())
        return asyncio.run(send())

    return receive


def test_a_reply_is_read_up_to_its_limits_in_bytes_and_seconds(receive):
    assert receive(httpx2.Response(200, stream=Pieces(b"1234", b"5678"))).content == b"12345678"
    assert not job_state.current().state.trouble
    with pytest.raises(UnreadableReply, match="a reply of more than 8 bytes"):
        receive(httpx2.Response(200, stream=Pieces(b"1234", b"5678", b"9")))
    with pytest.raises(httpx2.ReadTimeout, match="the reply takes too long"):
        receive(httpx2.Response(200, stream=Pieces(b"1")), timeout=-1.0)
    with pytest.raises(UnreadableReply, match="a reply that is packed"):
        receive(httpx2.Response(200, headers={"Content-Encoding": "zstd"}, stream=Pieces(b"1")))


def test_what_is_no_reply_is_trouble(receive):
    with pytest.raises(UnreadableReply, match="a reply whose headers are too long"):
        receive(httpx2.RemoteProtocolError("Receive buffer too long"))
    with pytest.raises(httpx2.ConnectError):
        receive(httpx2.ConnectError("refused"))
    assert job_state.current().state.trouble == "no connection (refused)"


@pytest.mark.parametrize(
    ("status", "content", "retries"),
    [(429, b'"busy"', None), (429, b'"insufficient_quota"', "false"), (400, b'"insufficient_quota"', None)],
)
def test_an_account_without_money_is_not_asked_again(receive, monkeypatch, status, content, retries):
    monkeypatch.setattr(client, "LONGEST_REPLY", 99)
    response = receive(httpx2.Response(status, stream=Pieces(content)))
    assert response.headers.get("x-should-retry") == retries
    assert job_state.current().state.trouble == f"status {status}"


def test_a_client_has_one_address_and_no_key_but_its_own(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    for key, used in ((None, "none"), ("sk-own", "sk-own")):
        made = make_client("http://h/v1", key, 5.0)
        assert (made.api_key, str(made.base_url), made._client.follow_redirects) == (
            used,
            "http://h/v1/",
            False,
        )
