"""Specs, model entries and tunings for tests and benchmarks: one of each, changed where a test says so."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.ask import ask_questions, response_facts
from cinorms.core.root import Root
from cinorms.inference import model_entry
from cinorms.inference.collected_replies import CollectedReplies
from cinorms.inference.engine_kind import Engine, Job, RegistryPlace, make_engine
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.questions import Questions
from cinorms.inference.spec import PROTOCOL, Spec

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


def make_flows(texts: int | Sequence[str], **columns: Any) -> pd.DataFrame:
    """Return a table of vignettes with these texts, or with ``flow 0``, ``flow 1``, ... up to a number of them."""
    texts = [f"flow {i}" for i in range(texts)] if isinstance(texts, int) else list(texts)
    flow = np.arange(len(texts), dtype=np.int32)
    return pd.DataFrame({"flow": flow, "vignette": texts, "expected": np.nan, **columns})


def make_model(name: str, **stated: Any) -> ModelEntry:
    """Return the entry of a model in the registry, of which ``stated`` is what the file holds."""
    place = RegistryPlace("config/models.yaml", name, Root(ROOT))
    return model_entry.make_model({"family": "f", **stated}, place)


def endpoint_tuning(**changes: Any) -> dict[str, Any]:
    """Return the tuning of a model behind an endpoint that wants no key; ``changes`` replace or add keys.

    ``limits`` and ``rates`` are as an entry of the registry states them.
    """
    stated = {name: changes.pop(name) for name in ("limits", "rates") if name in changes}
    model = make_model("m", engine="openai", source="s", **stated)
    job = Job(max_cost_usd=None, spending=".", name="job")
    return {**model.kind.tuning(model.settings, job), "key_variable": None, **changes}


def ask_shard(
    spec: Spec, vignettes: pd.DataFrame, variants: pd.DataFrame, engine: Engine | None = None
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the responses to the shard that ``spec`` describes, without a journal, and the facts of its file."""
    questions = Questions.of(spec, vignettes, variants)
    engine = engine or make_engine(spec, {}, None)
    return ask_questions(engine, CollectedReplies(questions)), response_facts(questions)
