"""Entries for tests: a kind's options, and of the study only what a test says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cinorms.entries.entry import Entry
from cinorms.entries.registry import kinds
from cinorms.vignettes.factors import DatasetFactors


def make_entry(
    section: str,
    kind: str,
    options: Mapping[str, Any],
    selected: Sequence[tuple[str, str]] = (),
    *,
    name: str = "it",
    t_val: int | Mapping[str, int] = 1,
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
        "scales": dict.fromkeys(arms, "acceptability"),
        "factors_of": dict.fromkeys(arms, DatasetFactors("iot", ())),
        "conditions": {arm: {} for arm in arms},
        "attributes": {model: {} for model in models},
        "t_val": t_val if isinstance(t_val, Mapping) else dict.fromkeys(models, t_val),
        "t_maj": 0.5,
    }
    made = kinds(section)[kind].options(**options)
    return Entry(section, name, kind, made, selected=tuple(selected), **(usual | facts))
