"""Requests, questions, entries and runtimes for tests and benchmarks: one of each, changed where a test says so."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.root import Root
from cinorms.inference import model_entry
from cinorms.inference.ask import Asking, Job
from cinorms.inference.engine_kind import Engine, Keep, RegistryLocation
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.questions import Questions, Rows
from cinorms.inference.request import PROTOCOL, Request
from cinorms.inference.responses import collect, of_frame
from cinorms.inference.store import Store
from cinorms.planted.respondents import answer
from cinorms.prompts.variants import list_variants

ROOT = Path(__file__).parents[1]
#: Wordings of `make_questions`.
TEMPLATES = ("0 {scenario} {options}", "1: {scenario} and {options}")


def make_request(engine: str = "openai", **changes: Any) -> Request:
    """Return the request of a small arm; ``changes`` replace or add keys, as plain data has them."""
    plain = {
        "protocol": PROTOCOL,
        "engine": engine,
        "model": "m",
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
        "sample": 1,
    }
    return Request.from_plain({**plain, **changes})


def make_flows(texts: int | Sequence[str], **columns: Any) -> pd.DataFrame:
    """Return a table of vignettes with these texts, or with ``flow 0``, ``flow 1``, ... up to a number of them."""
    texts = [f"flow {i}" for i in range(texts)] if isinstance(texts, int) else list(texts)
    flow = np.arange(len(texts), dtype=np.int32)
    return pd.DataFrame({"flow": flow, "vignette": texts, "expected": np.nan, **columns})


def make_questions(
    texts: int | Sequence[str] = 3, templates: Sequence[str] = TEMPLATES, orders: int = 2, **changes: Any
) -> Questions:
    """Return what a request with ``changes`` asks about such flows in these wordings."""
    request = make_request(**{"n_templates": len(templates), **changes})
    return Questions.of(
        request, make_flows(texts), list_variants("t", list(templates), len(templates), orders)
    )


def make_model(name: str, **stated: Any) -> ModelEntry:
    """Return the entry of a model in the registry, of which ``stated`` is what the file holds."""
    place = RegistryLocation("config/models.yaml", name, Root(ROOT))
    return model_entry.make_model({"family": "f", **stated}, place)


def make_runtime(**changes: Any) -> dict[str, Any]:
    """Return the runtime of a model behind an endpoint that wants no key; ``changes`` replace or add keys.

    ``limits`` and ``rates`` are as an entry of the registry states them.
    """
    stated = {name: changes.pop(name) for name in ("limits", "rates") if name in changes}
    model = make_model("m", engine="openai", source="s", **stated)
    job = {"study": "s", "model": "m", "shard": "1-of-1"}
    return {**job, **model.kind.runtime(model.settings), "key_variable": None, **changes}


def make_responses(
    texts: Sequence[str | None], finish: str | Sequence[str] = "stop", **columns: Any
) -> pd.DataFrame:
    """Return a table of responses to flows 0, 1, ... in variant 0_0 and the first order; ``columns`` replace or add."""
    n = len(texts)
    usual = {"flow": np.arange(n, dtype=np.int32), "variant": "0_0", "order": "01234"}
    frame = pd.DataFrame({**usual, "text": pd.Categorical(texts), "finish_reason": finish}, index=range(n))
    counts = {"n_prompt_tokens": pd.array([1] * n, "Int32"), "n_output_tokens": pd.array([1] * n, "Int32")}
    frame = frame.assign(**counts, p_options=None).assign(**columns)
    return frame.astype(dict.fromkeys(("variant", "order", "finish_reason"), "category"))


def ask(
    root: Path, *arms: Questions, engine: Engine | None = None, key: str | None = None, **runtime: Any
) -> dict[str, int]:
    """Ask what has no reply in the store below ``root`` yet, as a job does of these ``arms``."""
    given = make_runtime(**runtime)
    stores: dict[Path, Store] = {}
    askings = []
    for number, questions in enumerate(arms):
        store = Store(root, questions.request, given["study"])
        shard = questions.shard(given["shard"])
        askings.append(Asking(f"arm{number}", shard, stores.setdefault(store.folder, store)))
    return Job(given, key, engine).ask(askings)


def responses_in(root: Path, questions: Questions, study: str = "s") -> pd.DataFrame:
    """Return the responses to ``questions`` from the store below ``root``."""
    return collect(questions, Store(root, questions.request, study))[0]


class Echo:
    """An engine that answers with the prompt, and notes the prompts; it is interrupted after ``most`` replies."""

    def __init__(self, most: int = 10**9, **reply: Any) -> None:
        self.prompts: list[str] = []
        self._most, self._reply = most, reply

    def ask(self, questions: Questions, rows: Rows, keep: Keep) -> None:
        """Answer the rows."""
        for at in rows.tolist():
            if len(self.prompts) == self._most:
                raise InterruptedError("stopped")
            self.prompts.append(questions.chat(at)[-1]["content"])
            keep(at, {"text": self.prompts[-1], "finish_reason": "stop", **self._reply})

    def metadata(self) -> Mapping[str, Any]:
        """Return what a run record states."""
        return {"device": "here"}


def respond(request: Request, vignettes: pd.DataFrame, variants: pd.DataFrame) -> pd.DataFrame:
    """Return the responses of a planted respondent."""
    questions = Questions.of(request, vignettes, variants)
    return of_frame(questions, answer(request.plain(), questions.flows, questions.variants, questions.grid))
