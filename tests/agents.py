"""Agents for tests: a small file of flows with what an agent saw, and the authors' files where they are here."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.vignettes.designs import Dataset, load_dataset
from cinorms.vignettes.reading import read_vignettes

from .snakemake_runs import write_yaml

FOLDER = Path(__file__).parents[1].parent / "shared" / "agents"
needs_agents = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the agents' files are not here (../shared/agents)"
)

ITEMS = ["Ann Lee has diabetes.", "Her salary is 3200 euros a month."]
NEEDED = ["The meeting is on Monday at 10."]


def record(number: int, **trajectory: Any) -> dict[str, Any]:
    """Return a flow in the layout of PrivacyLens; ``trajectory`` replaces or adds keys of what was seen."""
    keys = ("data_type", "data_subject", "data_sender", "data_recipient", "transmission_principle")
    seen = "".join(
        f'Action: ReadNote\nAction Input: {{"page": {page}}}\nObservation: page {page} of {number}\n\n'
        for page in range(4)
    )
    return {
        "name": f"own{number}",
        "seed": {key: f"{key} {number}" for key in keys} | {"source": "own" if number % 2 else "law"},
        "vignette": {"story": f"Story {number}"},
        "trajectory": {
            "user_name": "Ann",
            "user_instruction": f"Write to Bob about plan {number}.",
            "toolkits": ["Mail"],
            "executable_trajectory": seen,
            "final_action": "SendMail",
            "sensitive_info_items": ITEMS,
            "needed_info_items": NEEDED,
            **trajectory,
        },
    }


def dataset_of(folder: Path, records: Any, form: str = "trajectory", **keys: Any) -> Dataset:
    """Return a dataset of these records, which are written to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "flows.json").write_text(json.dumps(records), encoding="utf-8")
    stated = {
        "title": "Own flows",
        "context": "an office",
        "scale": "acceptability",
        "source": "privacylens",
        "origin": {"citation": "own", "licence": "CC0-1.0"},
        "files": {"vignettes": {"url": "flows.json"}},
        "columns": {
            "vignette": form,
            "factors": {"sender": "seed.data_sender", "norm_source": "seed.source"},
        },
        **keys,
    }
    write_yaml(folder / f"own_{form}.yaml", stated)
    return load_dataset(folder / f"own_{form}.yaml")


def flows(folder: Path, n: int = 3, form: str = "trajectory", **keys: Any) -> pd.DataFrame:
    """Return the vignettes of ``n`` flows."""
    return read_vignettes(dataset_of(folder, [record(i) for i in range(n)], form, **keys), folder)
