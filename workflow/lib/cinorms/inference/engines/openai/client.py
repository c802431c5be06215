"""The client of an endpoint: that of the openai package, on connections that follow no redirect and read no bomb."""

import asyncio
from collections.abc import AsyncIterator
from itertools import cycle

import httpx2
from openai import AsyncOpenAI, OpenAIError

from cinorms.inference import job_state
from cinorms.inference.engines.openai.replies import QUOTA

#: Bytes that a reply may have; one of 100,000 tokens has half a million.
LONGEST_REPLY = 4 * 2**20
#: Pools of connections: one alone looks at every connection for every request, which takes a fifth of the time.
POOLS = 8
#: Times that the client sends a request again by itself: it waits half a second, then twice as long each time up to
#: eight, or as long as the endpoint asks for, up to two minutes.
RETRIES = 9


class UnreadableReply(OpenAIError):
    """There is a reply, and nobody can read it. The client does not send such a request again."""


def make_client(url: str, key: str | None, timeout: float) -> AsyncOpenAI:
    """Return a client that sends requests to ``url`` and to no other address."""
    http = httpx2.AsyncClient(transport=_Transport(timeout), follow_redirects=False, timeout=timeout)
    # A server of one's own may need no key, and must not receive OpenAI's. Packed replies could be bombs.
    return AsyncOpenAI(
        api_key=key or "none",
        base_url=url,
        max_retries=RETRIES,
        timeout=timeout,
        http_client=http,
        default_headers={"Accept-Encoding": "identity"},
    )


class _Transport(httpx2.AsyncBaseTransport):
    """Reads replies that have no end in sight up to their limits, in bytes and seconds."""

    def __init__(self, timeout: float) -> None:
        context = httpx2.create_ssl_context()
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        self._pools = [httpx2.AsyncHTTPTransport(verify=context, limits=limits) for _ in range(POOLS)]
        self._next, self._timeout = cycle(self._pools), timeout

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await next(self._next).handle_async_request(request)
        except httpx2.TransportError as error:
            if "Receive buffer too long" in str(error):  # as h11 calls headers without end
                raise UnreadableReply("a reply whose headers are too long") from error
            job_state.current().trouble(f"no connection ({error})")
            raise
        if response.status_code >= 400:
            job_state.current().trouble(f"status {response.status_code}")
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise UnreadableReply("a reply that is packed, although that was not asked for")
        # That of JSON, whatever a reply says: it may name one that nothing can read.
        response.encoding = "utf-8"
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, request, self._timeout)
        if response.status_code == 429:
            content = await response.aread()
            if any(f'"{code}"'.encode() in content for code in QUOTA):  # for ever: nothing more is paid for
                response.headers["x-should-retry"] = "false"  # the client obeys
        return response

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()


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
