"""What the fault tests share: an endpoint, a small study, and one way to ask it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.inference.engines.openai import live
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.inference.store import Store
from cinorms.prompts.variants import list_variants

from ..asking import ask, make_flows, make_request, responses_in
from .server import Endpoint

KEY = "sk-planted-0123456789abcdef"
#: A reply costs 0.008 + 0.004 dollars.
RATES = {"usd_per_million_input": 100.0, "usd_per_million_output": 1000.0}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """Return a running endpoint."""
    with Endpoint() as running:
        yield running


def vignettes(n: int) -> pd.DataFrame:
    """Return ``n`` flows."""
    return make_flows([f"A doorbell sends picture {i} to the police" for i in range(n)])


def variants(templates: int = 3, orders: int = 2) -> pd.DataFrame:
    """Return the variants of a small prompt set."""
    texts = [
        f"Wording {t}: how acceptable is this? {{scenario}} Options: {{options}}" for t in range(templates)
    ]
    return list_variants("test", texts, templates, orders)


def request_to(endpoint: Endpoint, **changes: Any) -> Request:
    """Return the request to a model behind ``endpoint``."""
    stated = {
        "model": "audited",
        "source": "gpt-planted",
        "base_url": endpoint.url,
        "seed": 7,
        "n_templates": 3,
        "wrap": "none",
    }
    return make_request(**{**stated, **changes})


@dataclass
class Asked:
    """Questions that can be asked again and again, as after a restart."""

    folder: Path
    endpoint: Endpoint
    flows: pd.DataFrame = field(default_factory=lambda: vignettes(20))
    variants: pd.DataFrame = field(default_factory=variants)
    changes: dict[str, Any] = field(default_factory=dict)
    runtime: dict[str, Any] = field(default_factory=dict)
    key: str = KEY

    @property
    def questions(self) -> Questions:
        return Questions.of(request_to(self.endpoint, **self.changes), self.flows, self.variants)

    @property
    def root(self) -> Path:
        return self.folder / "replies"

    @property
    def store(self) -> Store:
        return Store(self.root, self.questions.request, "s")

    @property
    def n(self) -> int:
        return len(self.questions.grid)

    def ask(self) -> pd.DataFrame:
        runtime = {"key_variable": "CINORMS_TEST_KEY", **self.runtime}
        ask(self.root, self.questions, key=self.key, **runtime)
        return responses_in(self.root, self.questions)

    def raw(self) -> pd.DataFrame:
        """Return what the store holds, with the flow that each prompt asks about."""
        flows, found = self.questions.grid["flow"], self.store.read(self.questions.keys)
        return pd.DataFrame([{"flow": flows[at], **json.loads(reply)} for at, reply in found.items()])

    @property
    def billed(self) -> float:
        """The dollars that the endpoint bills."""
        tokens = self.endpoint.billed
        return sum(
            tokens[name] * rate / 1e6
            for name, rate in zip(("prompt_tokens", "completion_tokens"), RATES.values(), strict=True)
        )

    def last_run(self) -> dict[str, Any]:
        return self.store.runs()[-1]


@pytest.fixture
def asked(tmp_path: Path, endpoint: Endpoint) -> Asked:
    """Return 20 flows in 6 variants."""
    return Asked(tmp_path, endpoint)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests be sent again almost at once."""
    hurry(monkeypatch.setattr)


def hurry(change: Callable[[Any, str, float], None] = setattr) -> None:
    """Shorten every pause between attempts."""
    for name in ("FIRST_PAUSE", "LONGEST_PAUSE"):
        change(live, name, 0.01)


def every_file(folder: Path) -> bytes:
    """Return the content of every file under ``folder``, names included."""
    return b"\n".join(str(p).encode() + p.read_bytes() for p in folder.rglob("*") if p.is_file())
