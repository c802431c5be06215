"""A whole study behind an API: through Snakemake, with its provenance, and without asking twice."""

import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ..snakemake_runs import add_model, copy_project, snakemake, write_yaml
from .server import Endpoint

KEY = "sk-planted-study-5555"
RATES = {"usd_per_million_input": 1.0, "usd_per_million_output": 10.0}


class Study:
    """A copy of the project whose one model stands behind the planted endpoint."""

    def __init__(self, folder: Path, endpoint: Endpoint) -> None:
        self.folder = copy_project(folder)
        self.endpoint = endpoint
        self.entry: dict[str, Any] = {
            "engine": "openai",
            "source": "gpt-planted",
            "family": "planted-api",
            "base_url": endpoint.url,
            "key_variable": "PLANTED_KEY",
            "rates": RATES,
            "stand_in": "planted-gpt-4o-mini",
        }
        self.study: dict[str, Any] = {
            "study": "api",
            "models": ["behind-an-api"],
            "arms": {
                "main": {
                    "dataset": "iot",
                    "prompts": "chatgpt",
                    "select": {"sender": ["a fitness tracker"], "recipient": ["its manufacturer"]},
                    "templates": 2,
                    "orders": {"count": 1},
                }
            },
            "analyses": {},
            "figures": {},
        }

    def write(self) -> None:
        add_model(self.folder, **{"behind-an-api": self.entry})
        write_yaml(self.folder / "api.yaml", self.study)

    def run(
        self,
        *arguments: str,
        code: int = 0,
        targets: Sequence[str] = ("results/api/provenance.json",),
    ) -> str:
        self.write()
        return self.run_as_it_is(*arguments, code=code, targets=targets)

    def run_as_it_is(self, *arguments: str, code: int = 0, targets: Sequence[str], **environment: str) -> str:
        """Run with the files that are there, and with more of the ``environment``."""
        given = ("--configfile", "api.yaml", *arguments, "--", *targets)
        known = {**os.environ, "PLANTED_KEY": KEY, **environment}
        return snakemake(self.folder, *given, code=code, environment=known)

    def provenance(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "results/api/provenance.json").read_text())
        return found


@pytest.mark.slow
def test_a_study_behind_an_api(tmp_path, endpoint):
    study = Study(tmp_path / "it's a project", endpoint)
    printed = study.run()
    n = 9 * 12 * 2
    assert sum(endpoint.asked.values()) == len(endpoint.asked) == n

    # Provenance.
    found = study.provenance()
    (model,) = found["asked"]
    assert model["responses"] == model["replies"] == n
    assert model["finish_reasons"] == {"stop": n}
    assert model["fingerprints"] == {"fp_planted": n}
    assert model["answered_by"] == {"gpt-planted-2024-07-18": n}
    assert model["input_tokens"] == 80 * n
    assert found["usd"] == model["usd"] == pytest.approx(n * 120e-6)
    assert model["first_reply"] == "2027-01-15T08:00:00Z"
    (run,) = model["runs"]
    assert run["status"] == "done"
    assert run["started"] <= run["ended"]
    assert "openai" in run["versions"]
    assert "host" not in run
    assert json.loads(model["example_prompt"])[0]["role"] == "user"
    whole = study.folder / "results/api/responses/main/behind-an-api.parquet"
    assert model["sha256"] == hashlib.sha256(whole.read_bytes()).hexdigest()

    # The key is nowhere: not in logs, results, Snakemake's notes or what was printed.
    content = b"".join(p.read_bytes() for p in study.folder.rglob("*") if p.is_file())
    assert KEY.encode() not in content
    assert KEY not in printed

    # What changes no response asks nothing, and does not even start a job.
    study.entry["limits"] = {"concurrency": 3, "requests_per_minute": 1000}
    study.study["max_cost_usd"] = 5
    assert "Nothing to be done" in study.run("-n")

    # Other shards start jobs, which ask nothing; more orders ask only those.
    study.entry["shards"] = 2
    study.run()
    assert endpoint.number == n
    study.study["arms"]["main"]["orders"]["count"] = 2
    study.run()
    assert endpoint.number == 2 * n

    # A clock that jumped leaves files from the future: no job starts, and jobs that are made to start ask nothing.
    tomorrow = time.time() + 86_400
    for path in (study.folder / "results/api").rglob("*.parquet"):
        if "responses" not in path.parts:
            os.utime(path, (tomorrow, tomorrow))
    assert "Nothing to be done" in study.run()
    study.run("--forceall")
    assert endpoint.number == 2 * n
    assert set(endpoint.asked.values()) == {1}
