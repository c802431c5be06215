"""Entries for tests: a kind's options, and of the study only what a test says."""

from collections.abc import Mapping, Sequence
from typing import Any

from cinorms.entries.entry import Entry
from cinorms.entries.kind import kinds
from cinorms.norms.thresholds import Thresholds
from cinorms.vignettes.factors import DatasetFactors
from rewordings import Consensus, Majority

from .scales import ACCEPTABILITY


def make_entry(
    section: str,
    kind: str,
    options: Mapping[str, Any],
    selected: Sequence[tuple[str, str]] = (),
    *,
    name: str = "it",
    t_val: int | Mapping[str, int] = 1,
    t_maj: Majority = 0.5,
    consensus: Consensus = "strict",
    t_vals: Sequence[int] = (),
    t_majs: Sequence[Majority] = (),
    **facts: Any,
) -> Entry[Any]:
    """Return an entry made from ``selected`` (arm, model) pairs; ``facts`` are further fields of `Entry`.

    The arms are those of the pairs, the scale is acceptability, and the dataset is "iot" with the factors of
    ``factors_of``, where nothing else is given.
    """
    arms = list(dict.fromkeys(arm for arm, _ in selected))
    models = list(dict.fromkeys(model for _, model in selected))
    if selected and "arms" not in options:
        options = {"arms": arms, **options}
    usual: dict[str, Any] = {
        "seed": 1,
        "scales": dict.fromkeys(arms, ACCEPTABILITY),
        "factors_of": dict.fromkeys(arms, DatasetFactors("iot", ())),
        "conditions": {arm: {} for arm in arms},
        "attributes": {model: {} for model in models},
        "thresholds": {
            model: Thresholds(t_val[model] if isinstance(t_val, Mapping) else t_val, t_maj, consensus)
            for model in models
        },
        "grid": tuple(Thresholds(v, m, consensus) for v in t_vals for m in t_majs),
    }
    made = kinds(section)[kind].options(kind=kind, **options)
    return Entry(section, name, made, selected=tuple(selected), **(usual | facts))
