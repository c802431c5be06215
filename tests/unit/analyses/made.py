"""What the tests of analyses share: flows, answers and norms made here, and the table that a kind makes of them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.labels import PLANTED_MARK
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.files import call
from cinorms.entries.kind import kinds
from cinorms.norms.assessment import assess
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
DATASET = DatasetFactors("d", tuple(LEVELS), (("place", "inference"),))
ATTRIBUTES = {
    model: {"family": "f", "capacity": capacity, "alignment": "none", "quantisation": quantisation}
    for model, capacity, quantisation in (("small", 7, "none"), ("large", 13, "none"), ("large-q", 13, "awq"))
}
CONDITIONS = {"dataset": "d", "paraphraser": "chatgpt", "temperature": 0, "sample": 1, "order": "balanced"}
CONDITIONS |= {"readout": "text", "wrapper": "registry", "layout": "single", "system": "none"}
CONDITIONS |= {"reasoning": "registry"}
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
        }
    )


ANSWERS = {"small": make_answers(2), "large": make_answers(3, 0.6), "large-q": make_answers(4, 0.4)}
SMALL = {"small": ANSWERS["small"]}
REFUSED = {model: make_answers(5, valid=0.0) for model in ATTRIBUTES}
#: Options that a kind cannot do without: people are those of the first model here.
NEEDED = {
    "model_among_people": {"people": "main", "by": "sender"},
    "people_groups": {"people": ("first", "second")},
}
#: The thresholds of every entry made here.
USUAL = Thresholds(3, 0.5, "strict")


def entry_for(kind: str, models: list[str], **options: Any) -> Entry[Any]:
    """Return an entry of ``kind`` with ``options``, of these models in the arm main."""
    pairs = [("main", model) for model in models]
    return make_entry(
        "analyses",
        kind,
        options,
        pairs,
        t_val=3,
        seed=7,
        respondents=tuple(pairs),
        factors_of={"main": DATASET},
        conditions={"main": CONDITIONS},
        attributes={model: ATTRIBUTES[model] for model in models},
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


#: What was made of answers, by the ids of these: each is made once. The answers stay, so that no others get the ids.
MADE: dict[Any, tuple[Any, pd.DataFrame]] = {}


def once(answers: Any, key: Any, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    if key not in MADE:
        MADE[key] = answers, make()
    return MADE[key][1].copy()


def norms_of(answers: pd.DataFrame) -> pd.DataFrame:
    return once(answers, id(answers), lambda: assess(answers, "strict", ACCEPTABILITY))


def again_of(answers: pd.DataFrame) -> pd.DataFrame:
    """Return which of a model's norms fresh wordings are expected to give again."""
    given = norms_of(answers), PROMPTS, ACCEPTABILITY, USUAL
    return once(answers, ("again", id(answers)), lambda: predict(answers, *given, people=False))


def run(kind: str, answers: dict[str, pd.DataFrame] = ANSWERS, **options: Any) -> pd.DataFrame:
    """Return the table of a kind, as make_table.py makes it."""
    key = kind, repr(options), *((model, id(frame)) for model, frame in answers.items())
    return once(answers, key, lambda: make_table(kind, answers, {**NEEDED.get(kind, {}), **options}))


def make_table(kind: str, answers: dict[str, pd.DataFrame], options: dict[str, Any]) -> pd.DataFrame:
    declared, pairs = kinds("analyses")[kind], [("main", model) for model in answers]
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
        "planted": dict.fromkeys(pairs, planted),
        "coefficients": {pair: {"coefficients": rows} for pair in pairs},
        "expected": Path(options["expected"]) if "expected" in options else None,
    }
    table = call(entry_for(kind, list(answers), **options), stages[declared.reads], further)
    assert isinstance(table, pd.DataFrame)
    return table
