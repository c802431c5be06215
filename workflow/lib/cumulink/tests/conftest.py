"""The data of the reference fits by R, and ratings under two conditions that are alike."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cumulink import ClmResult

REFERENCE = Path(__file__).parent / "reference"


@pytest.fixture(scope="session")
def data() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "clm_data.csv")


@pytest.fixture(scope="session")
def separated(data: pd.DataFrame) -> pd.DataFrame:
    """Return the data with the lowest level in all rows of one sender."""
    return data.assign(level=data["level"].where(data["sender"] != "meter", -2))


def two_conditions(
    rng: np.random.Generator, items: int, by_item: float, shift: float = 0.0, by_subject: float = 0.3
) -> pd.DataFrame:
    """Return ratings of 72 subjects on ``items`` items, three times each, under two conditions.

    On the latent scale, whose noise is logistic with scale 0.6, each condition has effects of its own (standard
    deviations) of an item and of a subject. ``shift`` is how much higher the second one is rated.
    """
    subject, item, _ = (index.ravel() for index in np.indices((72, items, 3)))
    of_subject, parts = rng.normal(0, 1, 72), []
    for condition in range(2):
        latent = (of_subject + rng.normal(0, by_subject, 72))[subject] + rng.normal(0, by_item, items)[item]
        latent = latent + shift * condition + rng.logistic(0, 0.6, len(subject))
        level = np.clip(np.round(latent), -2, 2).astype(int)
        columns = {"subject": subject, "item": item, "level": level, "condition": str(condition)}
        parts.append(pd.DataFrame(columns))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(
        kind=(frame["subject"] % 3).astype(str), own=frame["condition"] + "/" + frame["item"].astype(str)
    )


def names_of_r(fit: ClmResult) -> list[str]:
    """Return the names of the parameters as the reference files have them: ``senderlock``."""
    return [re.sub(r"\[T\.(.*)\]", r"\1", name) for name in fit.params.index]


def p_of_condition(fit: ClmResult) -> float:
    """Return the p-value of the difference between the conditions."""
    return float(fit.pvalues["condition[T.1]"])
