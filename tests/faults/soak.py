"""A long soak: ``make soak MINUTES=60``. Two studies that share a journal, an endpoint that misbehaves, random kills.

Both ask it at the same time, each in a process of its own, until one of them is killed; again and again until both have
all their responses. Then the round's files are compared with those of a quiet endpoint, and requests are counted where
they arrive. Rounds follow each other, with other prompts, until the time is over.
"""

import argparse
import gzip
import json
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .conftest import spec, variants, vignettes
from .server import Endpoint, Fault
from .test_kill import command, environment, files

#: Requests of one job that may be under way, and so asked twice after a kill; the replies among them that drip.
CONCURRENCY, DRIPPING = 8, 4
#: Share of requests that fail.
FAILING = 0.2
BOMB = Fault(200, content=gzip.compress(bytes(8 * 2**20)), headers={"Content-Encoding": "gzip"})
HEADERS = Fault(200, content=b"{}", headers={f"X-{n}": "x" * 8000 for n in range(20)})
#: Failures of one request, which do not say anything of the next.
FAULTS = (
    *(Fault(500), Fault(503), Fault(502, content=b"<html>"), Fault(408, "timeout"), Fault(409)),
    Fault(429, "rate_limit_exceeded", headers={"Retry-After": "0.2"}),
    *(Fault(way=way) for way in ("drop", "reset")),
)
#: The same where there is a reply that nobody can read: a prompt has at most one, as the second is believed.
UNREADABLE = (BOMB, HEADERS, *(Fault(way=way) for way in ("truncate", "malformed", "nothing")))
#: These take their time: more of them, and at a kill they alone would be under way.
SLOW = (Fault(way="hang"), Fault(way="drip"))


class Moody:
    """Decides which request of the soak's endpoint fails, and how; a share of the failures is ``slow``."""

    def __init__(self, chance: random.Random, slow: float = 0.03) -> None:
        self._chance, self._slow, self._unread = chance, slow, set[str]()
        self.failed: Counter[str] = Counter()

    def __call__(self, number: int, body: dict[str, Any]) -> Fault | None:
        prompt = json.dumps(body["messages"])
        if self._chance.random() >= FAILING:
            return None
        self.failed[prompt] += 1
        if self._chance.random() < self._slow:
            return self._chance.choice(SLOW)
        unreadable = prompt not in self._unread and self._chance.random() < 0.3
        if unreadable:
            self._unread.add(prompt)
        return self._chance.choice(UNREADABLE if unreadable else FAULTS)


@dataclass
class Counts:
    """What came of a soak."""

    rounds: int = 0
    prompts: int = 0
    requests: int = 0
    failures: int = 0
    kills: int = 0
    answered_twice: int = 0
    most_allowed: int = 0
    differing: list[str] = field(default_factory=list)


def jobs(folder: Path, endpoint: Endpoint, n: int) -> list[list[str]]:
    """Return the commands of two studies that have a third of their flows in common."""
    of, commands = spec(endpoint), []
    for study, flows in (("one", vignettes(n)[: 2 * n // 3]), ("two", vignettes(n)[n // 3 :])):
        own = folder / "results" / study
        limits = {"concurrency": CONCURRENCY, "slow_replies": DRIPPING, "timeout": 120}
        given = files(own, of, flows, variants(), limits=limits)
        journal = str(folder / "results/.journal")
        commands.append(command(given, own, journal=journal, asker=[study, "main", "audited"]))
    return commands


def outputs(folder: Path) -> dict[str, bytes]:
    """Return the responses in a folder."""
    paths = sorted(folder.glob("results/*/responses/main/*/*.parquet"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def ask_until_done(
    commands: list[list[str]], endpoint: Endpoint, chance: random.Random, apart: tuple[int, int] | None
) -> int:
    """Run all commands at once, kill one every so many requests, and start it again; return the number of kills."""

    def start(command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)

    running, kills = [start(command) for command in commands], 0
    kill_at = endpoint.number + chance.randint(*apart) if apart else None
    while alive := [process for process in running if process.poll() != 0]:
        for at, process in enumerate(running):
            if process.poll() not in (None, 0):
                running[at] = start(commands[at])
        if kill_at is not None and apart and endpoint.number >= kill_at:
            victim = chance.choice(alive)
            victim.send_signal(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            kills += victim.wait() != 0
            kill_at = endpoint.number + chance.randint(*apart)
        time.sleep(0.05)
    return kills


def one_round(folder: Path, chance: random.Random, counts: Counts, n: int, apart: tuple[int, int]) -> None:
    """Ask with failures and kills, then without, and compare."""
    with Endpoint() as endpoint:
        endpoint.fault, endpoint.delay = (moody := Moody(random.Random(chance.random()))), 0.2
        kills = ask_until_done(jobs(folder / "soaked", endpoint, n), endpoint, chance, apart)
        asked, requests, answered = set(endpoint.asked), endpoint.number, sum(endpoint.answered.values())
        endpoint.fault, endpoint.delay = (lambda number, body: None), 0.0
        ask_until_done(jobs(folder / "quiet", endpoint, n), endpoint, chance, None)
        assert set(endpoint.asked) == asked, "a prompt was lost"
    assert not list(folder.glob("soaked/results/.journal/*/damaged/*")), (
        "a kill has spoilt a part of the journal"
    )
    soaked, quiet = outputs(folder / "soaked"), outputs(folder / "quiet")
    assert len(quiet) == 2
    counts.differing += [name for name in quiet if soaked.get(name) != quiet[name]]
    counts.rounds += 1
    counts.kills += kills
    counts.prompts += len(asked)
    counts.requests += requests
    counts.failures += sum(moody.failed.values())
    counts.answered_twice += answered - len(asked)
    counts.most_allowed += kills * (CONCURRENCY + DRIPPING)


def soak(minutes: float, n: int, apart: tuple[int, int], seed: int = 32) -> Counts:
    """Soak for so many minutes at least, with ``n`` flows in a round, and kills so many requests ``apart``."""
    counts, chance, end = Counts(), random.Random(seed), time.monotonic() + 60 * minutes
    while not counts.rounds or time.monotonic() < end:
        folder = Path(tempfile.mkdtemp(prefix="cinorms-soak-"))
        try:
            one_round(folder, chance, counts, n, apart)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(counts, flush=True)
    assert not counts.differing, counts
    assert counts.answered_twice <= counts.most_allowed, counts
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--flows", type=int, default=1500)
    given = parser.parse_args()
    counts = soak(given.minutes, given.flows, apart=(500, 2500))
    figures = {"minutes": round(given.minutes), **vars(counts), "differing": 0}
    found = {name.replace("_", " "): str(value) for name, value in figures.items()}
    path = Path("build/soak.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"tests/faults/soak.py::make soak": found}), encoding="utf-8")
