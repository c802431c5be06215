"""Ratings by people, for tests. They may not be shipped: they are beside the checkout, or the tests are left out."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.published import frames
from cinorms.stats.samples import Sample
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.reading import read_vignettes

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


@pytest.fixture(scope="session")
def confaide_models(tmp_path_factory, folder, mirror) -> dict[str, tuple[np.ndarray, Sample]]:
    """Return, per published model, the flows it was asked about and its answers in points (flows x templates)."""
    frame = frames.read_frame(mirror / "responses" / "pivot_prompt_df_confaide.pkl.lzma")
    dataset = load_dataset(folder / "resources/vignettes/confaide_2a.yaml")
    vignettes = read_vignettes(dataset, tmp_path_factory.mktemp("cache"), mirror)
    return {model: _of_model(frames.to_answers(frame, model, vignettes)) for model in frames.models(frame)}


def _of_model(answers: pd.DataFrame) -> tuple[np.ndarray, Sample]:
    answers = answers.assign(template=answers["variant"].astype(str).str.partition("_")[0])
    points = answers["level"].astype("Float64") * 50
    cells = answers.assign(points=points).groupby(["flow", "template"])["points"]
    means, counts = cells.mean().unstack(), cells.count().unstack(fill_value=0)  # noqa: PD010 (keys are unique)
    return means.index.to_numpy(), Sample(
        means.to_numpy(dtype=float, na_value=np.nan), counts.to_numpy(dtype=float)
    )
