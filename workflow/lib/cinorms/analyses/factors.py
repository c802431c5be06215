"""Factors of an analysis as columns: of the dataset (linked ones joined), of the registry, of the arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.errors import DataError
from cinorms.entries.entry import Entry
from cinorms.stats.wordings import look_up, template_numbers
from cinorms.vignettes.factors import JOINT, DatasetFactors, default_factors, text


def usual_factors(vignettes: pd.DataFrame, dataset: DatasetFactors) -> list[str]:
    """Return the factors that an analysis takes where it names none: those of the dataset that vary."""
    factors = default_factors(dataset)
    varied = [name for name in factors if len(vignettes[name.split(JOINT)].drop_duplicates()) > 1]
    return varied or factors


def add_factors(frame: pd.DataFrame, vignettes: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Return ``frame`` with a categorical column for each of the dataset's ``factors``, found by flow.

    Raises ``DataError`` for a flow that the vignettes do not have.
    """
    at = pd.Index(vignettes["flow"]).get_indexer(pd.Index(frame["flow"]))
    if (at < 0).any():
        raise DataError(
            f"flow {frame['flow'].iloc[int((at < 0).argmax())]} is not in the vignettes; delete both tables and rerun"
        )
    return frame.assign(**{name: _column(vignettes, name).take(at) for name in factors})


def add_attributes(
    frame: pd.DataFrame, factors: Sequence[str], arm: str, model: str, entry: Entry[Any]
) -> pd.DataFrame:
    """Return ``frame`` with a column for each factor that is the model, the arm or their attribute."""
    known = {**entry.conditions[arm], **entry.attributes[model], "model": model, "arm": arm}
    return frame.assign(**{name: text(known[name]) for name in factors if name in known})


UNKNOWN = "not recorded"


def position_of_highest(order: pd.Series[Any]) -> pd.Categorical[Any]:
    """Return at which position (1 first) the highest option was shown.

    "not recorded" for a missing order, and on a number line.
    """
    shown = pd.Categorical(order)
    orders = [str(name) for name in shown.categories]
    # The highest option has the highest digit (`orders.DIGITS`).
    known = [str(order.index(max(order)) + 1) if len(order) > 1 else UNKNOWN for order in orders]
    places = [*known, UNKNOWN]
    names = pd.Index(sorted(set(places), key=lambda place: (len(place), place)))
    return pd.Categorical.from_codes(names.get_indexer(pd.Index(places))[shown.codes], categories=names)


def templates_of(answers: pd.DataFrame, prompts: pd.DataFrame) -> pd.Categorical[Any]:
    """Return the template number of each answer, in the order of the numbers."""
    variant = pd.Categorical(answers["variant"].astype("category"))
    order, codes = np.unique(look_up(variant.categories, template_numbers(prompts)), return_inverse=True)
    return pd.Categorical.from_codes(codes[variant.codes], categories=pd.Index([str(int(n)) for n in order]))


def _column(vignettes: pd.DataFrame, name: str) -> pd.Categorical[Any]:
    if name in vignettes:
        return pd.Categorical(vignettes[name].astype("category"))
    joint = vignettes[name.split(JOINT)].astype(str).agg(JOINT.join, axis=1)
    return pd.Categorical(joint, categories=pd.Index(joint.unique()))
