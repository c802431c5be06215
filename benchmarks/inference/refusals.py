"""How fast an OpenAI-compatible endpoint is asked when it refuses some requests, and what a request costs the client.

    python benchmarks/inference/refusals.py [--prompts 4000] [--rounds 2] [--ways ...] [--than CHECKOUT/workflow/lib]

A loopback endpoint in a process of its own answers after 0.2 s and refuses at once: nothing, 1% or 5% of the
requests with 503, or all of them with 429 for 2 s in every 10. Or it sends 20% of its replies one byte at a time, in
about 14 s. Each job is a process that asks the same prompts through the whole path (store, state file, responses),
at most 256 at once (``--at-once``). Prints requests per second relative
to the same version without refusals, and CPU time per prompt; with ``--than``, both for another version of the
library, in turn. In a storm a fifth of the time is lost whatever the client does. On a machine with other work the
CPU time says more than the rate. Every process ends by itself, at the latest after ten minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parents[2]
#: Seconds after which the endpoint answers, and after which any process of this benchmark ends itself.
DELAY, LONGEST = 0.2, 600.0
AT_ONCE = 256
#: Each way to fail: the share of 503, whether there are storms of 429, and the share of replies byte by byte.
WAYS = {
    "nothing": (0.0, False, 0.0),
    "1% of 503": (0.01, False, 0.0),
    "5% of 503": (0.05, False, 0.0),
    "storms": (0.0, True, 0.0),
    "20% drip": (0.0, False, 0.2),
}
#: Seconds between two bytes of a reply that drips.
DRIP = 0.05
#: A storm lasts so many seconds in every so many; the first begins when the endpoint is asked for so long.
STORM, EVERY, CALM = 2.0, 10.0, 3.0


class Endpoint(asyncio.Protocol):
    """One connection to the endpoint; what all of them count is in the class."""

    share, storms, drips = 0.0, False, 0.0
    first = 0.0
    answered: ClassVar[Counter[bytes]] = Counter()
    refused = 0
    draws = random.Random(7)

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        self.transport, self.data = transport, b""

    def data_received(self, data: bytes) -> None:
        """Take a request, when all of it has come."""
        self.data += data
        head, gap, body = self.data.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        if not gap or len(body) < int(length or 0):
            return
        self.data = b""
        now = time.monotonic()
        Endpoint.first = Endpoint.first or now
        stormy = self.storms and (now - self.first - CALM) % EVERY < STORM and now - self.first > CALM
        if stormy or self.draws.random() < self.share:
            Endpoint.refused += 1
            self.send(429 if stormy else 503, b'{"error": {"code": "busy", "message": "later"}}')
            return
        key = hashlib.md5(body).digest()
        self.answered[key] += 1
        reply = {
            "id": f"chatcmpl-{key.hex()}",
            "object": "chat.completion",
            "created": 1_800_000_000,
            "model": "gpt-bench",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "neutral"},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 80, "completion_tokens": 4, "total_tokens": 84},
        }
        way = self.drip if self.draws.random() < self.drips else self.send
        asyncio.get_running_loop().call_later(DELAY, way, 200, json.dumps(reply).encode())

    def drip(self, status: int, content: bytes) -> None:
        """Send an answer byte by byte."""
        later = asyncio.get_running_loop().call_later
        self.send(status, b"", len(content))
        for place in range(len(content)):
            later(place * DRIP, self.transport.write, content[place : place + 1])

    def send(self, status: int, content: bytes, length: int | None = None) -> None:
        """Send an answer, or the first bytes of one of a greater ``length``."""
        length = length or len(content)
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        self.transport.write(head.encode() + content)


async def serve() -> None:
    """Answer until standard input closes, then print what was counted."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Endpoint, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(loop.run_in_executor(None, sys.stdin.read), LONGEST)
    twice = sum(count - 1 for count in Endpoint.answered.values())
    print(json.dumps({"answered": len(Endpoint.answered), "refused": Endpoint.refused, "twice": twice}))


def ask(port: int, n: int, at_once: int) -> None:
    """Ask ``n`` prompts with the library of this process; print the seconds, and those of the processor."""
    sys.path.append(str(ROOT / "tests"))
    import openai  # noqa: F401
    from asking import ask as ask_job
    from asking import make_request, responses_in

    from cinorms.inference import job_state
    from cinorms.inference.questions import Questions
    from cinorms.prompts.prompt_sets import load_prompt_set
    from cinorms.prompts.variants import list_variants
    from cinorms.vignettes.designs import expand, load_dataset

    flows = expand(load_dataset(ROOT / "resources/vignettes/iot.yaml")).head(-(-n // 4))
    templates = load_prompt_set(ROOT / "resources/prompts/chatgpt.yaml").templates
    variants = list_variants("chatgpt", templates, 4, 1)
    endpoint = {"source": "gpt-bench", "base_url": f"http://127.0.0.1:{port}/v1", "wrap": "none"}
    questions = Questions.of(make_request(n_templates=4, **endpoint), flows, variants)
    with tempfile.TemporaryDirectory() as folder:
        started, cpu = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(io.StringIO()), job_state.followed(Path(folder), "m", "1-of-1"):
            ask_job(Path(folder), questions, limits={"concurrency": at_once})
            n_asked = len(responses_in(Path(folder), questions))
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    print(json.dumps({"asked": n_asked, "seconds": seconds, "cpu": cpu}))


def run(library: Path, way: str, n: int, at_once: int) -> dict[str, float]:
    """Ask an endpoint that refuses in this ``way`` with a version of the library; return what both counted."""
    own = [sys.executable, __file__]
    environment = {**os.environ, "PYTHONPATH": str(library)}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*own, "--serve", way], **pipes) as server:
        assert server.stdin
        assert server.stdout
        port = server.stdout.readline().strip()
        asked = subprocess.run(
            [*own, "--ask", port, "--prompts", str(n), "--at-once", str(at_once)],
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
            timeout=LONGEST,
        )
        server.stdin.close()
        counted = json.loads(server.stdout.read())
    return {**counted, **json.loads(asked.stdout)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--prompts", type=int, default=4_000)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--than", type=Path)
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--serve")
    parser.add_argument("--ask", type=int)
    given = parser.parse_args()
    ends = threading.Timer(LONGEST, os._exit, [1])
    ends.daemon = True
    if given.serve or given.ask:
        ends.start()
    if given.serve:
        Endpoint.share, Endpoint.storms, Endpoint.drips = WAYS[given.serve]
        asyncio.run(serve())
        return
    if given.ask:
        ask(given.ask, given.prompts, given.at_once)
        return
    libraries = {"this version": ROOT / "workflow" / "lib"} | (
        {"the other": given.than} if given.than else {}
    )
    print(
        f"{given.prompts:,} prompts, at most {given.at_once} at once: {given.at_once / DELAY:,.0f}/s possible"
    )
    for number in range(given.rounds):
        clean: dict[str, float] = {}
        for way in given.ways:
            for name, library in libraries.items():
                found = run(library, way, given.prompts, given.at_once)
                rate = found["asked"] / found["seconds"]
                clean.setdefault(name, rate)
                print(
                    f"round {number + 1}, {name:12} refusing {way:10} {rate:5.0f}/s, {rate / clean[name]:4.2f} of its "
                    f"rate without refusals; {1000 * found['cpu'] / found['asked']:.2f} ms of CPU a prompt, "
                    f"{found['cpu'] / found['seconds']:.2f} of a core; {found['refused']:,.0f} refusals, "
                    f"{found['twice']:.0f} prompts answered twice",
                    flush=True,
                )


if __name__ == "__main__":
    main()
