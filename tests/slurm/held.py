"""Models behind endpoints that hold their answers back, so that jobs can be ended in the middle of a shard."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from ..faults.server import Endpoint
from .project import N_PROMPTS, Project, Run

CONCURRENCY = 16
#: So many requests are answered, and then none until a test says so.
HOLD_FROM = 750
RESULTS = ("responses", "answers", "norms", "tables")


@contextmanager
def endpoints(models: Sequence[str]) -> Iterator[dict[str, Endpoint]]:
    """Start one endpoint for each model; let go of every request at the end."""
    with ExitStack() as stack:
        running = {model: stack.enter_context(Endpoint()) for model in models}
        for endpoint in running.values():
            endpoint.hold_from = HOLD_FROM
        try:
            yield running
        finally:
            release(running)


def release(running: dict[str, Endpoint]) -> None:
    for endpoint in running.values():
        endpoint.released.set()


def entries(running: dict[str, Endpoint]) -> dict[str, Any]:
    """Return the registry's entries of models behind endpoints."""
    limits = {"concurrency": CONCURRENCY, "timeout": 3000}
    entry = {"engine": "openai", "source": "gpt-planted", "family": "planted-api", "limits": limits}
    return {model: {**entry, "base_url": endpoint.url} for model, endpoint in running.items()}


def wait_until_held(run: Run, running: dict[str, Endpoint]) -> None:
    """Wait until every job has asked what it gets an answer to, and is stuck."""
    for model, endpoint in running.items():
        run.wait_for(f"{model} is held", lambda e=endpoint: e.number >= HOLD_FROM + CONCURRENCY // 4)


def process_of(project: Project, model: str) -> int:
    """Return the process that asks a model now."""
    state = project.folder / "results/trial/.progress" / f"{model}.1-of-1.json"
    return int(json.loads(state.read_bytes())["process"])


def check_results(project: Project, running: dict[str, Endpoint], here: Project) -> None:
    """Check that each prompt was answered once but for those under way, and the results against a quiet run."""
    for model, endpoint in running.items():
        assert len(endpoint.asked) == N_PROMPTS, model
        twice = sum(endpoint.asked.values()) - N_PROMPTS
        assert twice <= CONCURRENCY, f"{model}: {twice} prompts were asked again"
    here.run(local=True)
    for folder in RESULTS:
        found = project.content(folder)
        assert found
        assert found == here.content(folder)
