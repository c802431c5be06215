"""A folder of results as a study leaves it, from arrays of planted levels."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.arrays import Floats
from cinorms.prompts.variants import list_variants
from cinorms.study.facts import ArmFacts, StudyFacts

from ...study_facts import facts

#: Writes a study: ``write(name, {arm: {model: flows x templates x orders}}, ...)``; returns the folder of its results.
Write = Callable[..., Path]

SENDERS = ("a camera", "a lock")
RECIPIENTS = ("a doctor", "the police", "an advertiser")
TEMPLATES = tuple(f"How acceptable is it that {word} {{{{ scenario }}}}?" for word in "abcdefghijkl")


@pytest.fixture
def write_study(tmp_path: Path) -> Write:
    """Return a function that writes the results of a study below a folder of results."""
    return writer(tmp_path)


def writer(project: Path) -> Write:
    """Return the same for a project's folder."""

    def write(
        name: str,
        arms: Mapping[str, Mapping[str, Floats]],
        templates: tuple[str, ...] = TEMPLATES,
        people: tuple[str, ...] = (),
        **changes: Any,
    ) -> Path:
        folder = project / "results" / name
        n_flows = len(next(iter(next(iter(arms.values())).values())))
        tables.write(flows(n_flows), folder / "vignettes/iot.parquet", tables.VIGNETTES)
        for arm, models in arms.items():
            for model, levels in models.items():
                n_templates, n_orders = levels.shape[1:]
                if arm not in people:
                    frame = prompts(templates[:n_templates], n_orders)
                    tables.write(frame, folder / f"prompts/{arm}.parquet", tables.PROMPTS)
                tables.write(answers(levels), folder / f"answers/{arm}/{model}.parquet", tables.ANSWERS)
        stated = facts(
            StudyFacts,
            name=name,
            t_val={model: 0 for models in arms.values() for model in models},
            arms={
                arm: facts(ArmFacts, source="human" if arm in people else "model", models=list(models))
                for arm, models in arms.items()
            },
        )
        (folder / "study.json").write_text(json.dumps(stated.plain() | changes), encoding="utf-8")
        return folder

    return write


def flows(n: int) -> pd.DataFrame:
    sender = [SENDERS[i % len(SENDERS)] for i in range(n)]
    recipient = [RECIPIENTS[i // len(SENDERS) % len(RECIPIENTS)] for i in range(n)]
    frame = pd.DataFrame({"flow": np.arange(n, dtype=np.int32), "sender": sender, "recipient": recipient})
    frame["vignette"] = frame["sender"] + " tells " + frame["recipient"] + [f" thing {i}" for i in range(n)]
    return frame.assign(expected=np.nan).astype({"sender": "category", "recipient": "category"})


def prompts(templates: tuple[str, ...], n_orders: int) -> pd.DataFrame:
    return list_variants("set", templates, len(templates), n_orders)


def answers(levels: Floats) -> pd.DataFrame:
    """Return an answers table of flows x templates x orders; NaN is a refusal."""
    flow, template, order = (index.ravel() for index in np.indices(levels.shape))
    level = levels.ravel()
    frame = pd.DataFrame({"flow": flow.astype(np.int32)})
    frame["variant"] = [f"{t}_{o}" for t, o in zip(template, order, strict=True)]
    frame["order"] = ["01234" if o % 2 == 0 else "43210" for o in order]
    frame["level"] = pd.Series(level).astype("Int8")
    frame["status"] = np.where(np.isnan(level), "refusal", "ok")
    frame["rule"] = "planted"
    frame["p_options"] = None
    return frame.astype(
        {"variant": "category", "order": "category", "status": "category", "rule": "category"}
    )


def planted(
    seed: int = 1,
    n_flows: int = 60,
    n_templates: int = 11,
    n_orders: int = 3,
    shift: float = 0.0,
    noise: float = 0.5,
) -> Floats:
    """Return levels of a respondent whose norms are the same for every seed, moved by ``shift``."""
    lean = np.random.default_rng(0).normal(0, 1.2, n_flows)
    chance = np.random.default_rng(seed).normal(0, noise, (n_flows, n_templates, n_orders))
    return np.clip(np.round(lean[:, None, None] + shift + chance), -2, 2)
