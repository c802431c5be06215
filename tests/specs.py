"""Specs and model entries for tests and benchmarks: one declaration of each, changed where a test says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cinorms.inference.engine_kind import RegistryPlace
from cinorms.inference.model_entry import ModelEntry, make_entry
from cinorms.inference.spec import PROTOCOL, Spec
from cinorms.study.root import Root

ROOT = Path(__file__).parents[1]


def make_spec(engine: str = "openai", **changes: Any) -> Spec:
    """Return the spec of the whole of a small arm; ``changes`` replace or add keys, as plain data has them."""
    plain = {
        "protocol": PROTOCOL,
        "engine": engine,
        "model": "m",
        "shard": "1-of-1",
        "seed": 3,
        "scale": "acceptability",
        "factors": [],
        "select": {},
        "n_templates": 2,
        "order_method": "balanced",
        "temperature": 0,
        "max_tokens": 100,
        "readout": "text",
        "layout": "single",
        "system": None,
    }
    return Spec.from_plain({**plain, **changes})


def make_model(name: str, **stated: Any) -> ModelEntry:
    """Return the entry of a model in the registry, of which ``stated`` is what the file holds."""
    return make_entry({"family": "f", **stated}, RegistryPlace("config/models.yaml", name, Root(ROOT)))
