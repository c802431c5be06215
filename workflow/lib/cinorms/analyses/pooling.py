"""The regressions that an entry asks for: one of each model in each arm, or one of several models or arms.

A factor is one of the dataset, ``model``, ``arm``, or an attribute of these; a response also has ``template`` and
``position``. Naming the model, the arm or one of their attributes makes one regression of several models or arms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from cinorms.analyses.options import OTHER_FACTORS, RESPONSE_FACTORS, RegressionOptions
from cinorms.analyses.shared import (
    add_attributes,
    add_factors,
    check_same_scale,
    chosen_each,
    held,
    position_of_highest,
    templates_of,
    usual_factors,
)
from cinorms.core.labels import POOLED
from cinorms.entries.entry import Entry, Selected
from cinorms.norms.assessment import valid_levels
from cinorms.study.attributes import ARM_ATTRIBUTES, MODEL_ATTRIBUTES
from cinorms.vignettes.factors import other_flows

#: These make one regression of several models, or of several arms.
_POOLS_MODELS = frozenset({"model", *MODEL_ATTRIBUTES})
_POOLS_ARMS = frozenset({"arm", *ARM_ATTRIBUTES})
#: More flows than a dataset has.
_MOST_FLOWS = 10**9
_NOT_OF_DATASET = frozenset({*MODEL_ATTRIBUTES, *ARM_ATTRIBUTES, *OTHER_FACTORS, *RESPONSE_FACTORS})


@dataclass(frozen=True)
class Task:
    """One regression: whose it is, its rows (``value`` missing without an answer), its factors."""

    arm: str
    model: str
    frame: pd.DataFrame
    factors: list[str]

    @property
    def between(self) -> list[str]:
        """The factors that differ between the models or arms that it pools."""
        return [name for name in self.factors if name in _POOLS_MODELS | _POOLS_ARMS]


def norm_tasks(
    selected: Sequence[Selected], entry: Entry[RegressionOptions], vignettes: Mapping[str, pd.DataFrame]
) -> list[Task]:
    """Return the regressions of the norms held."""
    return _tasks(selected, entry, vignettes, (), lambda one: held(one.frame, entry, one.model))


def response_tasks(
    selected: Sequence[Selected],
    entry: Entry[RegressionOptions],
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
    further: Sequence[str],
) -> list[Task]:
    """Return the regressions of every answer; ``further`` factors count where the entry names none."""
    return _tasks(selected, entry, vignettes, further, lambda one: _responses(one, prompts[one.arm]))


def _responses(one: Selected, prompts: pd.DataFrame) -> pd.DataFrame:
    answers = one.frame
    template = templates_of(answers, prompts)
    (prompt_set,) = prompts["prompt_set"].unique()  # an arm has one
    wording = [f"{prompt_set}/{number}" for number in template.categories]
    own = [f"{one.arm}/{one.model}/{name}" for name in wording]
    return pd.DataFrame(
        {
            "flow": answers["flow"],
            "value": valid_levels(answers),
            "template": template,
            "position": position_of_highest(answers["order"]),
            # The same in all models and arms that were asked in it, and of this model in this arm alone.
            "wording": pd.Categorical.from_codes(template.codes, categories=pd.Index(wording)),
            "own_wording": pd.Categorical.from_codes(template.codes, categories=pd.Index(own)),
        }
    )


def _tasks(
    selected: Sequence[Selected],
    entry: Entry[RegressionOptions],
    vignettes: Mapping[str, pd.DataFrame],
    further: Sequence[str],
    rows_of: Callable[[Selected], pd.DataFrame],
) -> list[Task]:
    """Return the regressions of an entry, in the order of its arms and models."""
    groups: dict[tuple[str, str], list[pd.DataFrame]] = {}
    factors_of: dict[tuple[str, str], list[str]] = {}
    first = _first_flows(entry, vignettes)
    for one in chosen_each(selected, entry, vignettes):
        usual = usual_factors(vignettes[one.arm], entry.factors_of[one.arm])
        factors = list(entry.options.factors or [*usual, *further])
        arm = POOLED if _POOLS_ARMS & set(factors) else one.arm
        model = POOLED if _POOLS_MODELS & set(factors) else one.model
        frame = add_factors(
            rows_of(one), vignettes[one.arm], [f for f in factors if f not in _NOT_OF_DATASET]
        )
        if arm == POOLED:
            check_same_scale(entry, entry.arms)
            frame["flow"] = frame["flow"].astype("int64") + first[one.arm]
        groups.setdefault((arm, model), []).append(add_attributes(frame, factors, one.arm, one.model, entry))
        factors_of[arm, model] = factors
    return [
        Task(arm, model, _joined(frames), factors_of[arm, model]) for (arm, model), frames in groups.items()
    ]


def _first_flows(entry: Entry[RegressionOptions], vignettes: Mapping[str, pd.DataFrame]) -> dict[str, int]:
    """Return what to add to an arm's numbers of flows, so that those of other flows are no cluster together."""
    first: dict[str, int] = {}
    for arm in entry.arms:
        told = entry.factors_of[arm]
        same = (b for b in first if not other_flows(told, entry.factors_of[b], vignettes[arm], vignettes[b]))
        known = next(same, None)
        first[arm] = len(first) * _MOST_FLOWS if known is None else first[known]
    return first


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    if len(frames) == 1:
        return frames[0]
    whole = pd.concat([frame.astype({"value": "Float64"}) for frame in frames], ignore_index=True)
    for name in set(MODEL_ATTRIBUTES + ARM_ATTRIBUTES + OTHER_FACTORS) & set(whole.columns):
        whole[name] = pd.Categorical(
            whole[name], categories=pd.Index(sorted(whole[name].unique(), key=_natural))
        )
    return whole


def _natural(level: str) -> tuple[float, str]:
    """Sort numbers by size and before words."""
    try:
        return float(level), level
    except ValueError:
        return float("inf"), level
