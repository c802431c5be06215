"""How answers come about: processes that nobody chose to suit a method, and what stays the same in each study."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Shape = int | tuple[int, ...]

#: Levels of the scale, and standard deviations of the flows, the wordings, both together, and single answers.
LEVELS = np.arange(-2, 3)
FLOW, WORDING, BOTH, ANSWER = 1.2, 0.3, 0.3, 0.6


def normal(rng: np.random.Generator, n: Shape) -> Floats:
    return rng.normal(0, 1, n)


def student(rng: np.random.Generator, n: Shape) -> Floats:
    """Return heavy tails: Student's t with 3 degrees of freedom, of variance 1."""
    return rng.standard_t(3, n) / np.sqrt(3)


def skewed(rng: np.random.Generator, n: Shape) -> Floats:
    """Return a gamma distribution of shape 1/2: most wordings do little, a few much, all in one direction."""
    return (rng.gamma(0.5, 1, n) - 0.5) / np.sqrt(0.5)


def rare(rng: np.random.Generator, n: Shape) -> Floats:
    """Return wordings of which a tenth moves all answers, the rest none."""
    return ((rng.random(n) < 0.1) - 0.1) / 0.3


def bimodal(rng: np.random.Generator, n: Shape) -> Floats:
    """Return wordings of two kinds, as many of each."""
    return rng.choice([-1.0, 1.0], n)


def alike(rng: np.random.Generator, n: Shape) -> Floats:
    """Return wordings in three groups; those of a group are nearly copies of each other."""
    *others, wordings = np.atleast_1d(n)
    group = np.arange(wordings) * 3 // wordings
    return 0.95 * rng.normal(0, 1, (*others, 3))[..., group] + math.sqrt(1 - 0.95**2) * rng.normal(0, 1, n)


#: What wordings add to an answer: mean 0, variance 1.
WORDINGS: dict[str, Callable[[np.random.Generator, Shape], Floats]] = {
    draw.__name__: draw for draw in (normal, student, skewed, rare, bimodal, alike)
}
#: What is missing: nothing, a tenth at random, some wordings more than others, or by flow and answer together.
MISSING = ("complete", "at random", "by wording", "by flow and answer")


#: How flows differ: as many as in a small study if no number is stated.
FLOWS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "normal flows": lambda rng: normal(rng, 60),
    "skewed flows": lambda rng: skewed(rng, 60),
    "crossed flows": lambda _: crossed(np.random.default_rng(1), (5, 4, 3)),
    "2,000 flows": lambda rng: normal(rng, 2000),
}


def crossed(rng: np.random.Generator, factors: tuple[int, ...]) -> Floats:
    """Return the flows of a full factorial design: the sum of what the level of each factor adds."""
    effects = [normal(rng, levels) for levels in factors]
    return sum(np.meshgrid(*effects), start=np.zeros(())).ravel() / math.sqrt(len(factors))


def latent(rng: np.random.Generator, flow: Floats, templates: int, orders: int, wording: str) -> Floats:
    """Return flows x templates x orders before rounding: every wording moves all flows, and each flow by its own."""
    draw, shape = WORDINGS[wording], (len(flow), templates, orders)
    effect = WORDING * draw(rng, templates)
    both = BOTH * draw(rng, shape[:2])
    return np.asarray(
        flow[:, None, None] + effect[None, :, None] + both[:, :, None] + rng.normal(0, ANSWER, shape)
    )


def levels_of(x: Floats) -> tuple[pd.DataFrame, pd.Series]:
    """Return flows x templates x orders as flows x variants, and the template of each variant."""
    names = [f"{t}_{o}" for t, o in np.ndindex(x.shape[1:])]
    table = pd.DataFrame(x.reshape(len(x), -1), columns=names)
    return table, pd.Series([t for t, _ in np.ndindex(x.shape[1:])], index=names)


def rounded(x: Floats) -> Floats:
    return np.clip(np.round(x), LEVELS[0], LEVELS[-1])


def asked(
    rng: np.random.Generator, flow: Floats, templates: int, orders: int, wording: str, missing: str
) -> Floats:
    """Return the answers of one study as levels, NaN where there is none."""
    x = rounded(latent(rng, flow, templates, orders, wording))
    if missing == "complete":
        return x
    share = np.full(x.shape, 0.1)
    if missing == "by wording":
        share = np.broadcast_to(rng.beta(0.5, 4.5, (1, templates, 1)), x.shape)
    elif missing == "by flow and answer":  # a model that refuses where it would reject, on half of the flows
        share = np.where((np.arange(len(flow)) % 2 == 0)[:, None, None] & (x < 0), 0.5, 0.02)
    return np.where(rng.random(x.shape) < share, np.nan, x)


def random_per_prompt(
    rng: np.random.Generator, flows: int, templates: int, orders: int, _: str = ""
) -> Floats:
    """Return answers that depend on the prompt's words alone, at random: the same in every order, on no flow."""
    return np.repeat(rng.choice(LEVELS, (flows, templates, 1)).astype(float), orders, axis=2)


def first_takers(rng: np.random.Generator, x: Floats, share: float) -> Floats:
    """Return answers of which a ``share`` is the option that is shown first; orders are rotations of the scale."""
    first = LEVELS[(2 * np.arange(x.shape[2])) % len(LEVELS)]
    return np.where(rng.random(x.shape) < share, first[None, None, :], x)


def reacting(
    rng: np.random.Generator,
    sizes: tuple[int, ...],
    flows: int,
    templates: int,
    sd: tuple[float, ...],
    of_flows: np.random.Generator | None = None,
) -> pd.DataFrame:
    """Return answers in three orders about ``flows`` of a full factorial; the first factor alone matters on average.

    ``sd`` has the standard deviation, in levels of the scale, of what a wording adds to each level of each factor.
    ``of_flows`` draws what a flow has of its own; default: ``rng``.
    """
    codes = np.stack(np.unravel_index(np.arange(flows) % math.prod(sizes), sizes))
    x = np.linspace(-0.8, 0.8, sizes[0])[codes[0], None]
    x = x + (of_flows or rng).normal(0, 0.5, (flows, 1))
    for code, size, one in zip(codes, sizes, sd, strict=True):
        x = x + rng.normal(0, one, (size, templates))[code]
    x = x + WORDING * rng.normal(0, 1, templates) + BOTH * rng.normal(0, 1, (flows, templates))
    levels = rounded(x[:, :, None] + rng.normal(0, ANSWER, (flows, templates, 3)))
    flow, template, _ = (index.ravel() for index in np.indices(levels.shape))
    factors = {
        name: pd.Categorical.from_codes(code[flow], [f"{name}{i}" for i in range(size)])
        for name, code, size in zip("abc", codes, sizes, strict=True)
    }
    return pd.DataFrame({"flow": flow, "template": template, "level": levels.ravel().astype(int), **factors})
