"""What the tests of figures share: a small dataset, answers and norms made from levels, and an entry."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.entries.entry import Entry, Selected
from cinorms.norms.assessment import assess
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.factors import DatasetFactors

from ..entries import make_entry
from ..scales import ACCEPTABILITY

SENDERS = ["a tracker", "a camera"]
TYPES = ["location", "audio", "video"]
RECIPIENTS = ["a doctor", "the police"]
PRINCIPLES = ["with consent", "in an emergency situation of the owner"]
FACTORS = ["subject", "sender", "information_type", "recipient", "transmission_principle"]
T_VALS, T_MAJS = (0, 2, 3), ("plurality", 0.5, 0.67)


@pytest.fixture(scope="session")
def small_vignettes() -> pd.DataFrame:
    """Return 24 flows: 2 senders x 3 types x 2 recipients x 2 principles, one subject."""
    levels = [["owner"], SENDERS, TYPES, RECIPIENTS, PRINCIPLES]
    grid = pd.MultiIndex.from_product(levels, names=FACTORS).to_frame(index=False)
    frame = pd.DataFrame(
        {f: pd.Categorical(grid[f], categories=of) for f, of in zip(FACTORS, levels, strict=True)}
    )
    texts = [f"vignette {i}" for i in range(len(frame))]
    return frame.assign(flow=np.arange(len(frame), dtype=np.int32), vignette=texts, expected=np.nan)


@pytest.fixture(scope="session")
def small_prompts() -> pd.DataFrame:
    """Return the prompts of 2 templates x 2 orders."""
    return list_variants("set", ["text"] * 2, 2, 2)


def make_answers(levels: Sequence[Sequence[int | None]]) -> pd.DataFrame:
    """Return the answers of flows 0, 1, ...: for each the levels in the variants 0_0, 0_1, 1_0, 1_1."""
    variants = ["0_0", "0_1", "1_0", "1_1"]
    rows = [(flow, variants[i], level) for flow, of in enumerate(levels) for i, level in enumerate(of)]
    frame = pd.DataFrame(rows, columns=["flow", "variant", "level"])
    missing = frame["level"].isna()
    return frame.assign(
        flow=frame["flow"].astype(np.int32),
        variant=pd.Categorical(frame["variant"], categories=variants),
        level=frame["level"].astype("Int8"),
        status=pd.Categorical(np.where(missing, "refusal", "ok")),
        order=pd.Categorical(np.where(frame["variant"].str.endswith("_0"), "01234", "43210")),
    )


@pytest.fixture(scope="session")
def answers_of() -> Callable[..., Selected]:
    """Return a function that makes the selected answers of a model from the levels of each flow."""

    def make(model: str, levels: Sequence[Sequence[int | None]], arm: str = "main") -> Selected:
        return Selected(arm, model, make_answers(levels))

    return make


@pytest.fixture(scope="session")
def norms_of() -> Callable[..., Selected]:
    """Return a function that makes the selected norms of a model from the levels of each flow."""

    def make(model: str, levels: Sequence[Sequence[int | None]], arm: str = "main") -> Selected:
        return Selected(arm, model, assess(make_answers(levels), "strict", ACCEPTABILITY))

    return make


@pytest.fixture(scope="session")
def figure_entry() -> Callable[..., Entry[Any]]:
    """Return a function that makes the entry of a figure of these models in the arms; its options by keyword."""

    def make(kind: str, models: Sequence[str], arms: Sequence[str] = ("main",), **options: Any) -> Entry[Any]:
        return make_entry(
            "figures",
            kind,
            options,
            [(arm, model) for arm in arms for model in models],
            name="fig",
            t_val=2,
            factors_of=dict.fromkeys(arms, DatasetFactors("small", tuple(FACTORS))),
            conditions={arm: {"temperature": i / 2} for i, arm in enumerate(arms)},
            t_vals=T_VALS,
            t_majs=T_MAJS,
        )

    return make


@pytest.fixture(scope="session")
def built() -> Callable[[Any], list[pd.DataFrame]]:
    """Return a function that draws a plot and returns the data that its layers are drawn from, in their order."""
    from matplotlib import pyplot as plt
    from plotnine.geoms.geom import geom

    def build(plot: Any) -> list[pd.DataFrame]:
        layers: list[pd.DataFrame] = []
        with pytest.MonkeyPatch.context() as patch:
            # Each layer hands it what it draws. A plot that is drawn twice has its texts twice.
            patch.setattr(geom, "draw_layer", lambda _, data, *where: layers.append(data))
            plt.close(deepcopy(plot).draw())
        return layers

    return build
