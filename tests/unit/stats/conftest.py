"""Ratings by people, for tests. They may not be shipped: they are beside the checkout, or the tests are left out."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from cinorms.published import frames
from cinorms.stats.samples import Sample

RATINGS = Path(__file__).parents[4] / "shared" / "human"


def ratings(name: str) -> pd.DataFrame:
    if not (RATINGS / name).is_file():
        pytest.skip(f"{name} is not beside this checkout")
    return pd.read_csv(RATINGS / name)


@pytest.fixture(scope="session")
def published_frame(mirror: Path) -> pd.DataFrame:
    return frames.read_frame(mirror / "responses" / "pivot_prompt_df_without_NA_regular_run.pkl.lzma")


@pytest.fixture(scope="session")
def iot(mirror: Path) -> pd.DataFrame:
    table = pd.read_csv(mirror / "vignettes" / "iot.csv", index_col=0, dtype=str)
    return table.reset_index(drop=True).rename_axis("flow").reset_index()


@pytest.fixture(scope="session")
def published(published_frame: pd.DataFrame, iot: pd.DataFrame) -> Callable[[str], pd.DataFrame]:
    """Return a function from a published model to its answers about the flows of `iot`."""
    return cache(lambda model: frames.to_answers(published_frame, model, iot))


@pytest.fixture(scope="session")
def confaide_people() -> dict[str, Sample]:
    """Return people's ratings of ConfAIde's 98 flows, -100 to 100, by tier: 2a (5 each) and 2b (20 each)."""
    return {
        str(tier): Sample(part.pivot_table("people", "flow", "rater").to_numpy(dtype=float))
        for tier, part in ratings("confaide_ratings.csv").groupby("tier")
    }
