"""The HTTP client of an endpoint: it follows no redirect and reads no endless reply."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from cinorms.inference.engines.openai.replies import LONGEST_REPLY, TooLarge

#: Seconds from a reply's first byte to its last after which it comes slowly: the answer exists, the network has it.
SLOW = 1.0


class Answer(NamedTuple):
    """What came back: the status, the headers by their names in lower case, and the body, unpacked."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class LiveClient:
    """Sends prompts to the given address and to no other.

    The openai package gives address and headers; its typed calls and its one pool of connections would take three
    quarters of a request's CPU time (the pool looks at every connection for every request). So each connection is an
    HTTP client of its own.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._seconds = float(settings["timeout"])
        self._context = httpx2.create_ssl_context()
        self._headers: dict[str, str] = {}
        first = self._connect()
        package = AsyncOpenAI(**settings, http_client=first)
        known = {**package.default_headers, **package.auth_headers}
        self._headers = {name: value for name, value in known.items() if isinstance(value, str)}
        first.headers.update(self._headers)
        self._url = httpx2.URL(f"{package.base_url}chat/completions")
        self._all, self._free = [first], [first]

    async def __aenter__(self) -> Self:
        """Return the client; leaving closes its connections."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close the connections."""
        for client in self._all:
            await client.aclose()

    async def post(self, body: bytes, slow: Callable[[], None]) -> Answer:
        """Send a request and read what comes back; the timeout holds for both together, not for each piece.

        ``slow`` is called where the reply comes slowly.
        """
        if not self._free:
            self._free.append(self._connect())
            self._all.append(self._free[0])
        client, read = self._free.pop(), _Body(LONGEST_REPLY)
        request = client.build_request("POST", self._url, content=body)
        begun: asyncio.TimerHandle | None = None
        try:
            async with asyncio.timeout(self._seconds):
                response = await client.send(request, stream=True)
                try:
                    async for piece in response.aiter_bytes():
                        read.add(piece)
                        # Blanks keep a connection alive until the answer exists.
                        if not begun and not piece.isspace():
                            begun = asyncio.get_running_loop().call_later(SLOW, slow)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise httpx2.ReadTimeout("the reply takes too long", request=request) from None
        finally:
            self._free.append(client)
            if begun:
                begun.cancel()
        return Answer(response.status_code, dict(response.headers), bytes(read.content))

    def _connect(self) -> httpx2.AsyncClient:
        return DefaultAsyncHttpxClient(
            verify=self._context, headers=self._headers, timeout=self._seconds, follow_redirects=False
        )


class _Body:
    """The bytes of a reply as they come in."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self.content = bytearray()

    def add(self, piece: bytes) -> None:
        if len(self.content) + len(piece) > self._longest:
            raise TooLarge(f"a reply of more than {self._longest:,} bytes")
        self.content += piece
