"""What the tests of analyses share: flows, answers and norms made here, and the table that a kind makes of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.labels import PLANTED_MARK
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.files import call
from cinorms.entries.kind import kinds
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cinorms.prompts.variants import list_variants
from cinorms.stats.again import predict
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry
from ...scales import ACCEPTABILITY

LEVELS = {
    "sender": ["watch", "doll", "robot"],
    "place": ["school", "home"],
    "inference": ["religion", "income"],
    "recipient": ["maker", "police"],
}
MODELS = {"small": 7, "large": 13, "large-q": 13}
EFFECT = {"watch": 0.0, "doll": 0.8, "robot": -0.8, "maker": 0.0, "police": -1.2, "school": 0.0, "home": 0.5}


def make_vignettes() -> pd.DataFrame:
    """Return the flows of a design in which place and inference are linked, and senders come four times."""
    rows = [
        (sender, place, inference, recipient)
        for _ in range(4)
        for sender in LEVELS["sender"]
        for place, inference in zip(LEVELS["place"], LEVELS["inference"], strict=True)
        for recipient in LEVELS["recipient"]
    ]
    frame = pd.DataFrame(rows, columns=list(LEVELS)).astype("category")
    return frame.assign(flow=np.arange(len(frame), dtype=np.int32), vignette="text", expected=0.0)


VIGNETTES = make_vignettes()
PROMPTS = list_variants("chatgpt", ["text"] * 4, 4, 2)
VARIANTS = list(PROMPTS["variant"])
PLANTED_LEVEL = np.searchsorted(
    [-1.5, -0.5, 0.5, 1.5],
    sum(VIGNETTES[f].astype(str).map(EFFECT).astype(float) for f in ("sender", "place", "recipient"))
    + np.random.default_rng(1).logistic(size=len(VIGNETTES)),
)


def make_answers(seed: int, shift: float = 0.0, valid: float = 0.9) -> pd.DataFrame:
    """Return answers about every flow in every variant: the planted level, moved by ``shift`` and noise."""
    rng = np.random.default_rng(seed)
    flow = np.repeat(VIGNETTES["flow"].to_numpy(), len(VARIANTS))
    noisy = np.repeat(PLANTED_LEVEL, len(VARIANTS)) + shift + rng.normal(0, 0.5, len(flow))
    level = np.clip(np.rint(noisy), 0, 4).astype(np.int8) - 2
    ok = rng.random(len(flow)) < valid
    return pd.DataFrame(
        {
            "flow": flow,
            "variant": pd.Categorical(np.tile(VARIANTS, len(VIGNETTES))),
            "order": pd.Categorical(rng.choice(["01234", "43210", "34012"], len(flow))),
            "level": pd.arrays.IntegerArray(level, ~ok),
            "status": pd.Categorical(np.where(ok, "ok", "refusal")),
            "rule": pd.Categorical(["exact"] * len(flow)),
            "p_options": None,
            "n_trace_tokens": pd.array(
                np.random.default_rng(seed).integers(0, 900, len(flow)), dtype="Int32"
            ),
        }
    )


ANSWERS = {"small": make_answers(2), "large": make_answers(3, 0.6), "large-q": make_answers(4, 0.4)}
SMALL = {"small": ANSWERS["small"]}
REFUSED = {model: make_answers(5, valid=0.0) for model in MODELS}
#: Options that a kind cannot do without: people are those of the first model here.
NEEDED = {
    "model_among_people": {"people": "main", "by": "sender"},
    "people_groups": {"people": ("first", "second")},
}
#: The thresholds of every entry made here.
USUAL = Thresholds(3, 0.5, "strict")


def entry_for(kind: str, models: list[str], **options: Any) -> Entry[Any]:
    """Return an entry of ``kind`` with ``options``, of these models in the arm main."""
    attributes = {
        m: {"family": "f", "capacity": MODELS[m], "alignment": "none"}
        | {"quantisation": "awq" if "-q" in m else "none"}
        for m in models
    }
    conditions = {"dataset": "d", "paraphraser": "chatgpt", "temperature": 0, "sample": 1}
    conditions |= {
        "order": "balanced",
        "readout": "text",
        "wrapper": "registry",
        "layout": "single",
        "system": "none",
    }
    conditions["reasoning"] = "registry"
    pairs = [("main", m) for m in models]
    return make_entry(
        "analyses",
        kind,
        options,
        pairs,
        t_val=3,
        seed=7,
        respondents=tuple(pairs),
        factors_of={"main": DatasetFactors("d", tuple(LEVELS), (("place", "inference"),))},
        conditions={"main": conditions},
        attributes=attributes,
        t_vals=(3,),
        t_majs=("plurality", 0.5),
        mark=PLANTED_MARK,
    )


def in_two_arms(entry: Entry[Any], other: str = "other", **facts: Any) -> Entry[Any]:
    """Return the entry made from a second arm too, which is like the first but for the ``facts`` about it."""

    def both(name: str) -> dict[str, Any]:
        first = getattr(entry, name)["main"]
        return {"main": first, other: facts.get(name, first)}

    arms = entry.options.model_copy(update={"arms": ("main", other)})
    return replace(
        entry, options=arms, **{name: both(name) for name in ("conditions", "scales", "factors_of")}
    )


#: What was made of answers, by their id, with the answers: each has it made once.
NORMS: dict[int, tuple[pd.DataFrame, pd.DataFrame]] = {}
AGAIN: dict[tuple[int, bool], tuple[pd.DataFrame, pd.DataFrame]] = {}


def norms_of(answers: pd.DataFrame) -> pd.DataFrame:
    if id(answers) not in NORMS:
        NORMS[id(answers)] = answers, assessment.assess(answers, "strict", ACCEPTABILITY)
    return NORMS[id(answers)][1].copy()


def again_of(answers: pd.DataFrame, *, people: bool = False) -> pd.DataFrame:
    """Return which of a model's norms fresh wordings are expected to give again."""
    key = id(answers), people
    if key not in AGAIN:
        found = predict(answers, norms_of(answers), PROMPTS, ACCEPTABILITY, USUAL, people=people)
        AGAIN[key] = answers, found
    return AGAIN[key][1].copy()


def run(kind: str, answers: dict[str, pd.DataFrame] = ANSWERS, **options: Any) -> pd.DataFrame:
    """Return the table of a kind, as make_table.py makes it."""
    models = list(answers)
    declared = kinds("analyses")[kind]
    stages = {
        "answers": [Selected("main", m, frame) for m, frame in answers.items()],
        "norms": [Selected("main", m, norms_of(frame)) for m, frame in answers.items()],
    }
    if "again" in (declared.reads, *declared.also):
        stages["again"] = [Selected("main", m, again_of(frame)) for m, frame in answers.items()]
    levels = [(factor, level) for factor, known in LEVELS.items() for level in known]
    rows = [{"factor": f, "level": level, "coefficient": EFFECT.get(level, 0.0)} for f, level in levels]
    planted = pd.DataFrame({"flow": VIGNETTES["flow"], "level": pd.array(PLANTED_LEVEL - 2, dtype="Int8")})
    further: dict[str, Any] = {
        **stages,
        "vignettes": {"main": VIGNETTES},
        "prompts": {"main": PROMPTS},
        "planted": {("main", m): planted for m in models},
        "coefficients": {("main", m): {"coefficients": rows} for m in models},
        "expected": Path(options["expected"]) if "expected" in options else None,
    }
    entry = entry_for(kind, models, **{**NEEDED.get(kind, {}), **options})
    table = call(entry, stages[declared.reads], further)
    assert isinstance(table, pd.DataFrame)
    return table
