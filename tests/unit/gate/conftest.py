"""Results of a study, and sides of a gate, from arrays of planted levels: flows x templates x orders."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.arrays import Floats
from cinorms.gate.side import Address, Answers, Side
from cinorms.norms.thresholds import Thresholds
from cinorms.prompts.variants import list_variants
from cinorms.study.metadata import ArmMetadata, StudyMetadata
from cinorms.vignettes.factors import DatasetFactors

from ...scales import ACCEPTABILITY
from ...study_metadata import metadata

#: Writes a study, ``write(name, {arm: {model: levels}})``, and returns the folder of its results.
Write = Callable[..., Path]

SENDERS = ("a camera", "a lock")
RECIPIENTS = ("a doctor", "the police", "an advertiser")
TEMPLATES = tuple(f"How acceptable is it that {word} {{{{ scenario }}}}?" for word in "abcdefghijkl")


@pytest.fixture
def write_study(tmp_path: Path) -> Write:
    """Return a function that writes the results of a study."""
    return writer(tmp_path)


def writer(project: Path) -> Write:
    """Return the same for a project's folder."""

    def write(name: str, arms: Mapping[str, Mapping[str, Floats]]) -> Path:
        folder = project / "results" / name
        n_flows = len(next(iter(next(iter(arms.values())).values())))
        tables.write(flows(n_flows), folder / "vignettes/iot.parquet", tables.VIGNETTES)
        for arm, models in arms.items():
            for model, levels in models.items():
                tables.write(prompts(*levels.shape[1:]), folder / f"prompts/{arm}.parquet", tables.PROMPTS)
                write_answers(folder, arm, model, answers(levels))
        of_arms = {arm: metadata(ArmMetadata, models=list(models)) for arm, models in arms.items()}
        stated = metadata(StudyMetadata, name=name, arms=of_arms)
        (folder / "study.json").write_text(json.dumps(stated.plain()), encoding="utf-8")
        return folder

    return write


def write_answers(folder: Path, arm: str, model: str, frame: pd.DataFrame, **origin: str) -> None:
    """Write the answers of a model in an arm, as its own; ``origin`` is what else the file states."""
    facts = {**tables.origin(folder.name, arm, model), **origin}
    tables.write(frame, folder / f"answers/{arm}/{model}.parquet", tables.ANSWERS, facts)


def flows(n: int) -> pd.DataFrame:
    sender = [SENDERS[i % len(SENDERS)] for i in range(n)]
    recipient = [RECIPIENTS[i // len(SENDERS) % len(RECIPIENTS)] for i in range(n)]
    frame = pd.DataFrame({"flow": np.arange(n, dtype=np.int32), "sender": sender, "recipient": recipient})
    frame["vignette"] = frame["sender"] + " tells " + frame["recipient"] + [f" thing {i}" for i in range(n)]
    return frame.assign(expected=np.nan).astype({"sender": "category", "recipient": "category"})


def prompts(n_templates: int, n_orders: int) -> pd.DataFrame:
    return list_variants("set", TEMPLATES, n_templates, n_orders)


def answers(levels: Floats) -> pd.DataFrame:
    """Return an answers table; NaN is a refusal."""
    flow, template, order = (index.ravel() for index in np.indices(levels.shape))
    level = levels.ravel()
    frame = pd.DataFrame({"flow": flow.astype(np.int32)})
    frame["variant"] = [f"{t}_{o}" for t, o in zip(template, order, strict=True)]
    frame["order"] = np.where(order % 2, "43210", "01234")
    frame["level"] = pd.Series(level).astype("Int8")
    frame["status"] = np.where(np.isnan(level), "refusal", "ok")
    frame = frame.assign(rule="planted")
    return frame.astype(dict.fromkeys(("variant", "order", "status", "rule"), "category"))


def side(name: str, levels: Floats, templates: tuple[str, ...] = TEMPLATES, people: bool = False) -> Side:
    """Return what `read_side` reads of a study with these answers; NaN is a refusal."""
    refused, ok = (tables.ANSWER_STATUSES.index(status) for status in ("refusal", "ok"))
    given = Answers(
        levels,
        np.where(np.isnan(levels), refused, ok),
        np.indices(levels.shape)[2],
        templates[: levels.shape[1]] if not people else tuple(map(str, range(levels.shape[1]))),
    )
    return Side(
        Address(Path(name), "main", "m"),
        DatasetFactors("iot", ("sender", "recipient")),
        flows(len(levels)),
        given,
        ACCEPTABILITY.levels,
        ACCEPTABILITY.options,
        ACCEPTABILITY.middle,
        Thresholds(0, "plurality", "strict"),
        people,
        False,
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
