"""The client of an endpoint: that of the openai package, which sends once, follows no redirect and reads no bomb."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from functools import cache, partial

import httpx2
from openai import APIConnectionError, AsyncOpenAI, OpenAIError

from cinorms.core.errors import ConfigError
from cinorms.inference.engines.openai.replies import Failure

#: Bytes that a reply may have; one of 100,000 tokens has half a million.
LONGEST_REPLY = 4 * 2**20
#: What goes wrong before anything of a request is sent.
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


class UnreadableReply(OpenAIError):
    """There is a reply, and nobody can read it."""


def make_client(url: str, key: str | None, timeout: float) -> AsyncOpenAI:
    """Return a client that sends requests to ``url`` and to no other address, by the environment's proxy if any."""
    try:
        http = httpx2.AsyncClient(
            verify=_certificates(),
            follow_redirects=False,
            timeout=timeout,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
            event_hooks={"response": [partial(_bound, timeout)]},
        )
    except (ImportError, ValueError, httpx2.InvalidURL):  # the error may show the proxy's password
        raise ConfigError(
            "the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used; allowed: http://HOST:PORT and "
            "https://HOST:PORT. Correct it, or unset it"
        ) from None
    # A server of one's own may need no key, and must not receive OpenAI's. Packed replies could be bombs.
    return AsyncOpenAI(
        api_key=key or "none",
        base_url=url,
        max_retries=0,  # each attempt may be billed: who pays decides about the next
        timeout=timeout,
        http_client=http,
        default_headers={"Accept-Encoding": "identity"},
    )


@cache
def _certificates() -> ssl.SSLContext:
    """Return what certificates are checked with, which takes long to load."""
    return httpx2.create_ssl_context()


def judge_connection(error: APIConnectionError) -> Failure:
    """Return what it means that no reply came."""
    first, *further = _causes(error)
    text = reason_of(error)
    if "Receive buffer too long" in text:  # as h11 calls headers without end
        return Failure("unreadable", "a reply whose headers are too long", billed=True)
    if not isinstance(first, _UNSENT):
        return Failure("lost", f"no reply ({text})", billed=True)
    for cause in further:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Failure("stop", f"no connection ({text})", "certificate")
        if isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN:
            return Failure("nowhere", f"no connection ({text})", "name")
    return Failure("lost", f"no connection ({text})")


def reason_of(error: APIConnectionError) -> str:
    """Return why no reply came: what the system says, where it says anything."""
    first, *further = _causes(error)
    reason = next((cause for cause in further if isinstance(cause, OSError) and cause.errno), first)
    return f"{type(reason).__name__}: {reason}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield what led to an error, the last first."""
    cause = error.__cause__ or error.__context__
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


async def _bound(timeout: float, response: httpx2.Response) -> None:
    """Let a reply that has no end in sight be read up to its limits, in bytes and seconds."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise UnreadableReply("a reply that is packed, although that was not asked for")
    # That of JSON, whatever a reply says: it may name one that nothing can read.
    response.encoding = "utf-8"
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Bounded(response.stream, response.request, timeout)


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of a reply as they come in."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request, timeout: float) -> None:
        self._stream, self._request, self._timeout = stream, request, timeout

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, clock = 0, asyncio.get_running_loop().time
        end = clock() + self._timeout
        async for piece in self._stream:
            size += len(piece)
            if size > LONGEST_REPLY:
                raise UnreadableReply(f"a reply of more than {LONGEST_REPLY:,} bytes")
            if clock() > end:
                raise httpx2.ReadTimeout("the reply takes too long", request=self._request)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
