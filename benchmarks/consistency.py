"""Whether consistency over wordings is unbiased, and how often its interval holds, in processes with a known truth.

Run: ``python benchmarks/consistency.py [STUDIES] [--write]``; three minutes on one core for 800 studies of each cell.
--write puts the table into docs/method/stats/consistency.md. The draws depend on nothing but the seeds below. The truth
is the number of the same flows in `MANY` wordings whose effects are spread evenly over their distribution.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from tests.scales import ACCEPTABILITY

from rewordings import consistency

ROOT = Path(__file__).resolve().parents[1]
Floats = npt.NDArray[np.float64]

FLOWS, ORDERS, MANY, WORDINGS = 120, 3, 3000, (3, 6, 11, 30)
FLOW = np.arange(FLOWS)
#: What flows, recipients and principles add: the same in every study.
EFFECT, RECIPIENT, PRINCIPLE = np.random.default_rng(7).normal(0, 1.2, FLOWS), FLOW % 4, FLOW // 4 % 10


class Draw:
    """The random numbers of a study: effects of wordings are a sample, or, for the truth, spread evenly."""

    def __init__(self, wordings: int, seed: int, evenly: bool = False) -> None:
        self.rng, self.n, self.evenly = np.random.default_rng(seed), wordings, evenly

    def uniform(self) -> Floats:
        """Return a number for each wording."""
        if self.evenly:
            return self.rng.permutation((np.arange(self.n) + 0.5) / self.n)
        return self.rng.random(self.n)

    def normal(self, *shape: int) -> Floats:
        """Return an effect of each wording, or (with a ``shape``) of each of several in each wording."""
        return self.rng.normal(size=(*shape, self.n)) if shape else scipy.special.ndtri(self.uniform())

    def noise(self, sd: float) -> Floats:
        """Return what differs between flows x wordings x orders."""
        return self.rng.normal(0, sd, (FLOWS, self.n, ORDERS))


def levels(latent: Floats) -> Floats:
    """Return answers of five levels, flows x wordings x orders."""
    return np.clip(np.rint(latent), -2, 2)


def usual(draw: Draw, both: float = 0.5) -> Floats:
    """Return latent answers: of flow, wording, flow and wording, and single answers."""
    return (
        EFFECT[:, None, None] + (0.4 * draw.normal() + both * draw.normal(FLOWS))[..., None] + draw.noise(0.6)
    )


def normal(draw: Draw) -> Floats:
    return levels(usual(draw))


def no_but_few(draw: Draw) -> Floats:
    return levels(usual(draw) - 1.5 + 3 * (FLOW % 12 == 0)[:, None, None])


def random_per_prompt(draw: Draw) -> Floats:
    return np.repeat(levels(2 * draw.normal(FLOWS))[..., None], ORDERS, axis=2)


def half_random(draw: Draw) -> Floats:
    fixed = np.broadcast_to(np.sign(EFFECT)[:, None, None], (FLOWS, draw.n, ORDERS))
    return np.where((FLOW % 2)[:, None, None] == 0, fixed, random_per_prompt(draw))


def reacts(draw: Draw) -> Floats:
    of_factors = 0.6 * draw.normal(4)[RECIPIENT] + 0.6 * draw.normal(10)[PRINCIPLE]
    return levels(usual(draw, both=0.2) + of_factors[..., None])


def position(draw: Draw) -> Floats:
    first = draw.rng.integers(-2, 3, (FLOWS, draw.n, ORDERS))
    takes = draw.rng.random(first.shape) < np.linspace(0, 0.6, FLOWS)[:, None, None]
    return np.where(takes, first, normal(draw))


def declines(draw: Draw) -> Floats:
    x = normal(draw)
    share = np.linspace(0.1, 0.9, FLOWS)[:, None, None] * np.where(x < 0, 1.0, 0.4)
    return np.where(draw.rng.random(x.shape) < share, np.nan, x)


def by_wording(draw: Draw) -> Floats:
    gone = draw.rng.random((FLOWS, draw.n, ORDERS)) < 0.8 * draw.uniform()[:, None]
    return np.where(gone, np.nan, normal(draw))


def one_turns(draw: Draw) -> Floats:
    return np.where(draw.uniform()[:, None] < 0.1, -1, 1) * levels(
        1.5 * EFFECT[:, None, None] + draw.noise(0.3)
    )


def two_camps(draw: Draw) -> Floats:
    camp = np.where(draw.uniform() < 0.5, -1.0, 1.0)[:, None]
    return levels(0.6 * EFFECT[:, None, None] + 1.5 * camp + draw.noise(0.4))


def families(draw: Draw, number: int = 5) -> Floats:
    """Return answers of wordings of which each belongs to one of few families of near-copies."""
    family = np.minimum((draw.uniform() * number).astype(int), number - 1)
    own = np.random.default_rng(8).normal(size=(FLOWS, number))
    return levels(EFFECT[:, None, None] + own[:, family][..., None] + draw.noise(0.2))


#: The processes; below them those in which few wordings cannot show what others would do.
PROCESSES: dict[str, Callable[[Draw], Floats]] = {
    "normal wordings": normal,
    "no but for few flows": no_but_few,
    "random per prompt, alike in all orders": random_per_prompt,
    "half of the flows fixed, half random": half_random,
    "wordings react to recipient and principle": reacts,
    "takes the first option, by flow": position,
    "declines by flow and answer": declines,
    "missing by wording": by_wording,
    "**one wording in ten turns everything round**": one_turns,
    "**two camps of wordings**": two_camps,
    "**five families of near-copies**": families,
}


def counts_of(answers: Floats) -> Floats:
    """Return how often each level was answered: levels x flows x wordings."""
    return np.stack([(answers == level).sum(axis=2) for level in ACCEPTABILITY.levels]).astype(float)


def tried(
    process: Callable[[Draw], Floats], wordings: int, studies: int, truth: float
) -> tuple[float, float, float]:
    """Return bias, share of intervals that hold the truth, and their mean width."""
    of = partial(consistency, sides=ACCEPTABILITY.sides)
    found = [of(counts_of(process(Draw(wordings, seed)))) for seed in range(studies)]
    same, low, high = (
        np.array([getattr(one, name) for one in found]) for name in ("same_side", "low", "high")
    )
    held = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    return float(same.mean() - truth), float(held.mean()), float((high - low).mean())


def table(studies: int) -> str:
    """Return the table: a row per process, bias, intervals that hold and their width for each number of wordings."""
    numbers = " | ".join(str(n) for n in WORDINGS)
    rows = [f"| process | truth | {numbers} |", "|---" * (2 + len(WORDINGS)) + "|"]
    for name, process in PROCESSES.items():
        truth = consistency(counts_of(process(Draw(MANY, 12345, evenly=True))), ACCEPTABILITY.sides).same_side
        cells = [f"| {name} | {100 * truth:.1f}%"]
        for n in WORDINGS:
            bias, held, width = tried(process, n, studies, truth)
            cells.append(f"{100 * bias:+.1f}, {held:.0%}, {100 * width:.0f}")
        rows.append(" | ".join(cells) + " |")
        print(rows[-1], flush=True)
    return "\n".join(rows)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    made = table(*numbers or [800])
    if "--write" in sys.argv:
        page = ROOT / "docs/method/stats/consistency.md"
        text = page.read_text(encoding="utf-8")
        page.write_text(
            re.sub(r"(?s)(<!-- processes -->\n).*?(<!-- end -->)", rf"\g<1>{made}\n\g<2>", text),
            encoding="utf-8",
        )
