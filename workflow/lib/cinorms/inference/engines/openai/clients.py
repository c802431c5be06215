"""The HTTP clients behind the openai package: they follow no redirect and read no endless reply."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx2
from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

from cinorms.inference.engines.openai.failures import TooLarge
from cinorms.inference.engines.openai.replies import LONGEST_REPLY

#: Bytes that the results of a batch may have together, unpacked; the API takes 200 MB of requests.
LONGEST_RESULTS = 256 * 2**20


class LiveClient(DefaultAsyncHttpxClient):
    """Sends prompts to the given address and to no other."""

    def __init__(self) -> None:
        super().__init__(follow_redirects=False)

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Send a request and read its reply; the timeout holds for both together, not for each piece."""
        body = _Body(LONGEST_REPLY)
        try:
            async with asyncio.timeout(_seconds(request)):
                response = await super().send(request, stream=True, **options)
                try:
                    async for piece in response.aiter_bytes():
                        body.add(piece)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise httpx2.ReadTimeout("the reply takes too long", request=request) from None
        return _whole(response, body, request)


class BatchClient(DefaultHttpxClient):
    """The same for files and batches."""

    def __init__(self) -> None:
        super().__init__(follow_redirects=False)

    def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Send a request and read its reply."""
        body, seconds = _Body(LONGEST_RESULTS), _seconds(request)
        started = time.monotonic()
        response = super().send(request, stream=True, **options)
        try:
            for piece in response.iter_bytes():
                body.add(piece)
                if seconds is not None and time.monotonic() - started > seconds:
                    raise httpx2.ReadTimeout("the reply takes too long", request=request)
        finally:
            response.close()
        return _whole(response, body, request)


class _Body:
    """The bytes of a reply as they come in."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self.content = bytearray()

    def add(self, piece: bytes) -> None:
        if len(self.content) + len(piece) > self._longest:
            raise TooLarge(f"a reply of more than {self._longest:,} bytes")
        self.content += piece


def _whole(response: httpx2.Response, body: _Body, request: httpx2.Request) -> httpx2.Response:
    """Return the response with its body read and unpacked."""
    left_out = ("content-encoding", "content-length", "content-type")
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in left_out]
    # JSON is UTF-8, whatever charset an endpoint invents.
    headers.append(("content-type", response.headers.get("content-type", "").split(";")[0]))
    return httpx2.Response(
        response.status_code,
        headers=headers,
        content=bytes(body.content),
        request=request,
        extensions=response.extensions,
    )


def _seconds(request: httpx2.Request) -> float | None:
    """Return the longest that a request may take."""
    seconds: float | None = request.extensions.get("timeout", {}).get("read")
    return seconds
