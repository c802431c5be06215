"""What the control model learns: flows in many wordings and orders, with each answer's probability."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.draws import draw_uniform
from cinorms.core.scales import Scale
from cinorms.planted.respondents import Respondent, plant
from cinorms.prompts.orders import options_shown
from cinorms.prompts.variants import fill

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Share of the flows that training never shows.
HELD_OUT = 0.2
#: Scale of the logistic distribution of a flow's answers, in logits. At the distance of 0.5 from a
#: threshold, the least there is, a flow's norm then has 0.88 on its side of it.
SPREAD = 0.25


@dataclass(frozen=True)
class Corpus:
    """The flows with what is planted in them, and the wordings in which they are asked."""

    vignettes: tuple[str, ...]
    templates: tuple[str, ...]
    #: Per flow: the planted level as the index of its option, the probability of each option, whether it is
    #: held out.
    option: Ints
    probabilities: Floats
    held_out: npt.NDArray[np.bool_]
    scale: Scale

    def draw(self, rng: np.random.Generator, n: int, held_out: bool) -> tuple[Ints, list[str]]:
        """Return ``n`` random flows, and each in a random template and answer order."""
        flows = rng.choice(np.flatnonzero(self.held_out == held_out), n)
        shown = options_shown(self.scale)
        templates, orders = rng.integers(len(self.templates), size=n), rng.integers(len(shown), size=n)
        texts = [
            fill(self.templates[t], self.vignettes[f], shown[o])
            for f, t, o in zip(flows, templates, orders, strict=True)
        ]
        return flows, texts


def make_corpus(
    vignettes: pd.DataFrame,
    factors: Sequence[str],
    templates: Sequence[str],
    norms: Mapping[str, Any],
    scale: Scale,
    seed: int,
) -> Corpus:
    """Return the corpus that teaches ``norms`` (a file of resources/planted) over ``vignettes``."""
    planted = plant_exactly(vignettes, factors, norms, scale, seed)
    return Corpus(
        vignettes=tuple(vignettes["vignette"]),
        templates=tuple(templates),
        option=scale.places(planted["level"].to_numpy(dtype=np.int64)),
        probabilities=probabilities(planted["linear"].to_numpy(), norms["thresholds"]),
        held_out=is_held_out(planted["flow"].to_numpy(), seed),
        scale=scale,
    )


def plant_exactly(
    vignettes: pd.DataFrame, factors: Sequence[str], norms: Mapping[str, Any], scale: Scale, seed: int
) -> pd.DataFrame:
    """Return the planted table of ``norms`` with no residual: a flow's level follows from its factors alone.

    A residual is one random number per flow: for a flow that was never shown, it cannot be known.
    """
    respondent = Respondent(
        name="control",
        thresholds=tuple(norms["thresholds"]),
        coefficients=norms["coefficients"],
        other_levels_sd=norms.get("other_levels_sd", 1.0),
    )
    planted = plant(respondent, vignettes, factors, scale, seed)
    level = np.array(scale.levels)[np.searchsorted(norms["thresholds"], planted["linear"])]
    return planted.assign(level=pd.array(level.astype(np.int8), dtype="Int8"), residual=0.0)


def probabilities(linear: Floats, thresholds: Sequence[float], spread: float = SPREAD) -> Floats:
    """Return the probability of each option: a logistic variable round ``linear``, cut at the thresholds."""
    cuts = (np.asarray(thresholds)[None, :] - np.asarray(linear)[:, None]) / spread
    below = 1 / (1 + np.exp(-np.clip(cuts, -60, 60)))
    ends = np.zeros((len(below), 1)), np.ones((len(below), 1))
    return np.diff(np.hstack([ends[0], below, ends[1]]), axis=1)


def is_held_out(flows: npt.ArrayLike, seed: int) -> npt.NDArray[np.bool_]:
    """Tell which flows training never shows: a pure function of the seed and the flow."""
    return np.asarray(draw_uniform("held_out", seed, flows) < HELD_OUT)
