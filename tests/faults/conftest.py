"""What the fault tests share: an endpoint, a small study, and one way to ask it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.ask import write_shard
from cinorms.core import tables
from cinorms.inference.engines.openai.engine import make_openai
from cinorms.inference.engines.openai.live import LiveEngine
from cinorms.inference.journal import Journal
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.prompts.variants import list_variants

from ..specs import endpoint_tuning, make_flows, make_spec
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


def spec(endpoint: Endpoint | None, **changes: Any) -> Spec:
    """Return the spec of a shard that asks ``endpoint``."""
    stated = {
        "model": "audited",
        "source": "gpt-planted",
        "base_url": endpoint.url if endpoint else None,
        "seed": 7,
        "n_templates": 3,
        "wrap": "none",
    }
    return make_spec(**{**stated, **changes})


@dataclass
class Shard:
    """A shard that can be asked again and again, as after a restart."""

    folder: Path
    endpoint: Endpoint
    flows: pd.DataFrame = field(default_factory=lambda: vignettes(20))
    variants: pd.DataFrame = field(default_factory=variants)
    changes: dict[str, Any] = field(default_factory=dict)
    tuning: dict[str, Any] = field(default_factory=dict)
    key: str = KEY

    @property
    def spec(self) -> Spec:
        return spec(self.endpoint, **self.changes)

    @property
    def out(self) -> Path:
        return self.folder / "responses" / "main" / "audited" / f"{self.spec.shard}.parquet"

    @property
    def n(self) -> int:
        asked = self.variants[self.variants["template_no"] < self.spec.n_templates]
        return len(self.flows) * len(asked)

    def journal(self) -> Journal:
        return Journal.at(self.out.parent / ".journal", self.spec).begin()

    def engine(self, **pace: Any) -> Any:
        own = {"key_variable": "CINORMS_TEST_KEY", "job": f"main.audited.{self.spec.shard}"}
        own["spending"] = str(self.folder / "responses/.spending")
        tuning = endpoint_tuning(**{**own, **self.tuning})
        engine: Any = make_openai(self.spec, tuning, self.key)
        return LiveEngine(engine.endpoint, **{"backoff": 0.01, "chunk": 10, **pace})

    def ask(self, **pace: Any) -> pd.DataFrame:
        write_shard(self.spec, self.flows, self.variants, self.out, self.engine(**pace), self.journal())
        return tables.read(self.out, tables.RESPONSES)

    def raw(self) -> pd.DataFrame:
        """Return what the journal holds, with the flow that each prompt asks about."""
        questions = Questions.of(self.spec, self.flows, self.variants)
        flows = dict(zip(map(bytes, questions.prompts), questions.grid["flow"], strict=True))
        kept = self.journal().read().to_pandas()
        return kept.assign(flow=[flows[key] for key in kept["prompt"]])

    def parts(self) -> list[Path]:
        return sorted((self.journal().folder / "parts").glob("*.parquet"))

    def last_run(self) -> dict[str, Any]:
        return self.journal().runs()[-1]


@pytest.fixture
def shard(tmp_path: Path, endpoint: Endpoint) -> Shard:
    """Return a shard of 20 flows in 6 variants."""
    return Shard(tmp_path, endpoint)


def every_file(folder: Path) -> bytes:
    """Return the content of every file under ``folder``, names included."""
    return b"\n".join(str(p).encode() + p.read_bytes() for p in folder.rglob("*") if p.is_file())


def once(fault: Any) -> Callable[[int, dict[str, Any]], Any]:
    """Return a fault for the first time that each prompt is sent."""
    seen: set[str] = set()

    def decide(number: int, body: dict[str, Any]) -> Any:
        key = json.dumps(body["messages"])
        first = key not in seen
        seen.add(key)
        return fault if first else None

    return decide
